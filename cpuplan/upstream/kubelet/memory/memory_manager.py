"""The memory manager of a running kubelet (pkg/kubelet/cm/memorymanager/memory_manager.go)."""

from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.machine import Machine
from cpuplan.upstream.kubelet.manager import Manager
from cpuplan.upstream.kubelet.memory import state
from cpuplan.upstream.kubelet.memory.pod_allocation import allocate_pod
from cpuplan.upstream.kubelet.memory.policy_static import StaticPolicy
from cpuplan.upstream.kubelet.memory.reserved import system_reserved_memory
from cpuplan.upstream.kubelet.memory.state import MemoryState
from cpuplan.upstream.kubelet.pods.pod import Container, Pod
from cpuplan.upstream.kubelet.quantity import Quantity
from cpuplan.upstream.kubelet.releases.features import Gates
from cpuplan.upstream.kubelet.topology.hints import TopologyHint


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
    given: dict[int, dict[str, Quantity]] = {}
    for entry in config.get("reservedMemory") or ():
        given.setdefault(entry.get("numaNode", 0), {}).update(entry.get("limits") or {})
    reserved = system_reserved_memory(machine.memory, given, reservation)
    return StaticPolicy(machine.memory, reserved, gates)
