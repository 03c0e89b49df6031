"""The memory manager of a running kubelet (pkg/kubelet/cm/memorymanager/memory_manager.go).

Upstream: kubernetes/kubernetes pkg/kubelet/cm/memorymanager/memory_manager.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Iterable, Mapping
from typing import Any

from cpuplan.upstream.kubelet.machine import Machine, NodeMemory
from cpuplan.upstream.kubelet.manager import Manager
from cpuplan.upstream.kubelet.memorymanager import state
from cpuplan.upstream.kubelet.memorymanager.policy_static import StaticPolicy, allocate_pod
from cpuplan.upstream.kubelet.memorymanager.state import MemoryState
from cpuplan.upstream.kubelet.topologymanager.policy import TopologyHint
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Container, Pod, is_memory, sum_of
from cpuplan.upstream.kubernetes.quantity import ZERO, Quantity
from cpuplan.upstream.kubernetes.strconv import quote


def check_total(
    given: Mapping[int, Mapping[str, Quantity]], reservation: Mapping[str, Quantity]
) -> None:
    """KubeletError unless memory and huge pages of all NUMA nodes add up to the reservations."""
    total = sum_of(given.values())
    wanted = {kind: amount for kind, amount in reservation.items() if is_memory(kind)}
    for kind in sorted({**total, **wanted}):
        amount, expected = total.get(kind, ZERO), wanted.get(kind, ZERO)
        if amount.nano != expected.nano:
            what = f"the total amount {quote(str(amount))} of type {quote(kind)}"
            value = f"value {quote(str(expected))} determined by Node Allocatable feature"
            raise KubeletError(f"{what} is not equal to the {value}")


def by_node(config: Mapping[str, Any]) -> dict[int, dict[str, Quantity]]:
    """What reservedMemory of a configuration gives each NUMA node; a later entry replaces."""
    given: dict[int, dict[str, Quantity]] = {}
    for entry in config.get("reservedMemory") or ():
        given.setdefault(entry.get("numaNode", 0), {}).update(entry.get("limits") or {})
    return given


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
    check_total(given, reservation)
    reserved = {}
    for node, limits in given.items():
        reserved[node] = {kind: amount.value for kind, amount in limits.items()}
    return reserved


class MemoryManager(Manager[StaticPolicy, MemoryState]):
    """Which container has memory of which NUMA nodes."""

    name, static_name, none_name = "memory", "Static", "None"

    def _load(self, content: str | None, folder: str) -> MemoryState:
        return state.load(content, self.policy_name, self.gates, folder)

    def dump(self) -> str:
        """The state file."""
        return state.dump(self.state, self.policy_name, self.gates)

    def _allocate_pod(self, policy: StaticPolicy, pod: Pod, affinity: TopologyHint) -> None:
        allocate_pod(policy, self.state, pod, affinity)

    def add_container(self, pod: Pod, container: Container) -> None:
        """A container was created: memory of the plain init containers before it is released."""
        if not self.policy:
            return
        for earlier in pod.init_containers:
            if earlier.name == container.name:
                break
            if not earlier.is_restartable:
                self.policy.remove_container(self.state, pod.uid, earlier.name)

    def nodes_of(self, pod: str, container: str) -> set[int]:
        """The NUMA nodes of a container's memory (GetMemoryNUMANodes)."""
        blocks = self.state.blocks_of(pod, container) or ()
        return {node for block in blocks for node in block.numa_affinity}


def new_policy(
    config: Mapping[str, Any],
    machine: Machine,
    reservation: Mapping[str, Quantity],
    gates: Gates,
) -> StaticPolicy | None:
    """NewManager: the policy Static, None for the policy None; `config` has its defaults."""
    name = config["memoryManagerPolicy"]
    if name == "None":
        return None
    if name != "Static":
        raise KubeletError(f'unknown policy: "{name}"')
    reserved = system_reserved_memory(machine.memory, by_node(config), reservation)
    return StaticPolicy(machine.memory, reserved, gates)
