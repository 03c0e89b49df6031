"""reservedMemory of the configuration (memory_manager.go, getSystemReservedMemory)."""

from collections.abc import Iterable, Mapping

from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.text import quote
from cpuplan.upstream.kubelet.machine import NodeMemory
from cpuplan.upstream.kubelet.pods.pod import is_memory, sum_of
from cpuplan.upstream.kubelet.quantity import ZERO, Quantity


def system_reserved_memory(
    nodes: Iterable[NodeMemory],
    given: Mapping[int, Mapping[str, Quantity]],
    reservation: Mapping[str, Quantity],
) -> dict[int, dict[str, int]]:
    """Reserved bytes by node; KubeletError unless they add up to the reservations of the node.

    Huge pages cannot be in these: an entry for them passes validation, and the kubelet never starts
    (kubelet bug).
    """
    known = {node.id for node in nodes}
    for node in given:
        if node not in known:
            where = f"a NUMA node {node} that does not exist on this machine"
            raise KubeletError(f"the reserved memory configuration references {where}")
    total = sum_of(given.values())
    wanted = {kind: amount for kind, amount in reservation.items() if is_memory(kind)}
    for kind in sorted({**total, **wanted}):
        amount, expected = total.get(kind, ZERO), wanted.get(kind, ZERO)
        if amount.nano != expected.nano:
            what = f"the total amount {quote(str(amount))} of type {quote(kind)}"
            value = f"value {quote(str(expected))} determined by Node Allocatable feature"
            raise KubeletError(f"{what} is not equal to the {value}")
    reserved = {}
    for node, limits in given.items():
        reserved[node] = {kind: amount.value for kind, amount in limits.items()}
    return reserved
