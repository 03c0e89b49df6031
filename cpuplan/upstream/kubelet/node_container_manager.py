"""What a node has, reserves and offers (pkg/kubelet/cm, cmd/kubelet/app).

Upstream: kubernetes/kubernetes pkg/kubelet/cm/node_container_manager_linux.go
  cmd/kubelet/app/server.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.upstream.kubelet.eviction import MEMORY_AVAILABLE, SIGNALS, parse_threshold
from cpuplan.upstream.kubelet.machine import NodeMemory, hugepage_name
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import CPU, HUGEPAGES, MEMORY
from cpuplan.upstream.kubernetes.quantity import BINARY, ZERO, Quantity
from cpuplan.upstream.kubernetes.strconv import quote

Resources = dict[str, Quantity]

#: What systemReserved and kubeReserved can name.
RESERVABLE = (CPU, MEMORY, "ephemeral-storage", "pid")
#: maxPods where the configuration has none.
MAX_PODS = 110


class Reservations(NamedTuple):
    """systemReserved, kubeReserved, and the memory that hard eviction keeps free."""

    system: Resources
    kube: Resources
    eviction: Resources

    def total(self, capacity: Mapping[str, Quantity]) -> Resources:
        """What pods cannot have of each resource of the node (GetNodeAllocatableReservation)."""
        total = {}
        for name in capacity:
            parts = (reserved.get(name, ZERO) for reserved in self)
            amount = ZERO
            for part in parts:
                amount = amount.plus(part)
            if amount.nano:
                total[name] = amount
        return total


def node_capacity(
    cpus: int, nodes: tuple[NodeMemory, ...], memory: int | None = None, pods: int = MAX_PODS
) -> Resources:
    """CPUs, memory (of all NUMA nodes, unless given), huge pages, pods."""
    total = sum(node.memory for node in nodes) if memory is None else memory
    capacity = {
        CPU: quantity.of(cpus),
        MEMORY: quantity.of(total, BINARY),
        "pods": quantity.of(pods),
    }
    for node in nodes:
        for size, count in node.hugepages:
            amount = quantity.of(size * count * 1024, BINARY)
            name = hugepage_name(size)
            capacity[name] = capacity[name].plus(amount) if name in capacity else amount
    return capacity


def node_allocatable(
    capacity: Mapping[str, Quantity], reserved: Mapping[str, Quantity]
) -> Resources:
    """What the node's status offers: all huge pages come out of the memory."""
    allocatable = {
        name: amount.minus(reserved[name]) if name in reserved else amount
        for name, amount in capacity.items()
    }
    for name, amount in capacity.items():
        if name.startswith(HUGEPAGES):
            allocatable[MEMORY] = allocatable[MEMORY].minus(amount)
    return {
        name: Quantity(max(amount.nano, 0), amount.format) for name, amount in allocatable.items()
    }


def parse_reserved(given: Mapping[str, str]) -> Resources:
    """systemReserved or kubeReserved; KubeletError for what cannot be reserved."""
    return {name: parse_reservation(name, text) for name, text in sorted(given.items())}


def parse_reservation(name: str, text: str) -> Quantity:
    """One amount of systemReserved or kubeReserved; KubeletError where it cannot be reserved."""
    if name not in RESERVABLE:
        raise KubeletError(f"cannot reserve {quote(name)} resource")
    try:
        amount = quantity.parse(text)
    except KubeletError as error:
        what = f"quantity {quote(text)} for {quote(name)} resource"
        raise KubeletError(f"failed to parse {what}: {error}") from None
    if amount.nano < 0:
        raise KubeletError(f"resource quantity for {quote(name)} cannot be negative: {text}")
    return amount


def parse_eviction(given: Mapping[str, str], capacity: Mapping[str, Quantity]) -> Resources:
    """The memory that evictionHard keeps free."""
    kept: Resources = {}
    for signal, text in sorted(given.items()):
        if signal not in SIGNALS:
            raise KubeletError(f"unsupported eviction signal {signal}")
        amount = parse_threshold(signal, text, capacity.get(MEMORY, ZERO))
        if signal == MEMORY_AVAILABLE and amount:
            kept[MEMORY] = amount
    return kept


def reserve_cpus(text: str, online: int, system: dict[str, str], kube: dict[str, str]) -> int:
    """The set of reservedSystemCPUs, which replaces the CPUs in `system` and `kube`.

    KubeletError for CPUs that are not online.
    """
    cpus = parse_cpus(text)
    if cpus & ~online:
        raise KubeletError(
            f"reserved-cpus: {to_text(cpus)} is not a subset of online-cpus: {to_text(online)}"
        )
    if cpus:
        kube.pop(CPU, None)
        system[CPU] = str(cpus.bit_count())
    return cpus
