"""The CPU, memory and device managers of a running kubelet: a policy, its state, and what became stale in it."""

from collections.abc import Callable, Iterable, Mapping

from cpuplan.simulate import cpumanager, cpustate, memorymanager, memorystate, podcpus, podmemoryallocation
from cpuplan.simulate.cpustate import CPUState
from cpuplan.simulate.errors import KubeletError
from cpuplan.simulate.features import Gates
from cpuplan.simulate.hints import ProviderHints, TopologyHint
from cpuplan.simulate.memorystate import MemoryState
from cpuplan.simulate.pod import Container, Pod

#: The pods whose containers keep what they have; None as long as the kubelet does not know all of its pods.
ActivePods = Callable[[], Iterable[Pod] | None]


def _stale(entries: Mapping[str, Mapping[str, object]], active: Iterable[Pod]) -> list[tuple[str, str]]:
    known = {(pod.uid, container.name) for pod in active for container in pod.all_containers}
    return [(pod, name) for pod, found in entries.items() for name in found if (pod, name) not in known]


class CPUManager:
    """pkg/kubelet/cm/cpumanager/cpu_manager.go; without a policy, the policy none."""

    def __init__(self, policy: cpumanager.StaticPolicy | None, gates: Gates, active: ActivePods) -> None:
        self.policy, self.gates, self._active = policy, gates, active
        self.state = CPUState()

    @property
    def policy_name(self) -> str:
        return "static" if self.policy else "none"

    def start(self, content: str | None, folder: str) -> None:
        """Read the state file, if any, and check it."""
        try:
            self.state = cpustate.load(content, self.policy_name, self.gates, folder)
            if self.policy:
                self.policy.start(self.state)
        except KubeletError as error:
            raise KubeletError(f"start cpu manager error: {error}") from None

    def dump(self) -> str:
        return cpustate.dump(self.state, self.policy_name, self.gates)

    def remove_stale_state(self) -> None:
        active = self._active()
        if self.policy and active is not None:
            for pod, container in _stale(self.state.entries, active):
                self.policy.remove_container(self.state, pod, container)

    def topology_hints(self, pod: Pod, container: Container) -> ProviderHints | None:
        self.remove_stale_state()
        return self.policy.topology_hints(self.state, pod, container) if self.policy else None

    def pod_topology_hints(self, pod: Pod) -> ProviderHints | None:
        self.remove_stale_state()
        return self.policy.pod_topology_hints(self.state, pod) if self.policy else None

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        self.remove_stale_state()
        if self.policy:
            self.policy.allocate(self.state, pod, container, affinity)

    def allocate_pod(self, pod: Pod, affinity: TopologyHint) -> None:
        self.remove_stale_state()
        if self.policy:
            podcpus.allocate_pod(self.policy, self.state, pod, affinity)

    def cpus_of(self, pod: str, container: str) -> int:
        """The cpuset that a container gets: its own, or the shared pool of the moment (GetCPUAffinity)."""
        own = self.state.cpus_of(pod, container)
        return self.state.default if own is None else own


class MemoryManager:
    """pkg/kubelet/cm/memorymanager/memory_manager.go; without a policy, the policy None."""

    def __init__(self, policy: memorymanager.StaticPolicy | None, gates: Gates, active: ActivePods) -> None:
        self.policy, self.gates, self._active = policy, gates, active
        self.state = MemoryState()

    @property
    def policy_name(self) -> str:
        return "Static" if self.policy else "None"

    def start(self, content: str | None, folder: str) -> None:
        """Read the state file, if any, and check it."""
        try:
            self.state = memorystate.load(content, self.policy_name, self.gates, folder)
            if self.policy:
                self.policy.start(self.state)
        except KubeletError as error:
            raise KubeletError(f"start memory manager error: {error}") from None

    def dump(self) -> str:
        return memorystate.dump(self.state, self.policy_name, self.gates)

    def remove_stale_state(self) -> None:
        active = self._active()
        if self.policy and active is not None:
            for pod, container in _stale(self.state.entries, active):
                self.policy.remove_container(self.state, pod, container)

    def topology_hints(self, pod: Pod, container: Container) -> ProviderHints | None:
        self.remove_stale_state()
        return self.policy.topology_hints(self.state, pod, container) if self.policy else None

    def pod_topology_hints(self, pod: Pod) -> ProviderHints | None:
        self.remove_stale_state()
        return self.policy.pod_topology_hints(self.state, pod) if self.policy else None

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        self.remove_stale_state()
        if self.policy:
            self.policy.allocate(self.state, pod, container, affinity)

    def allocate_pod(self, pod: Pod, affinity: TopologyHint) -> None:
        self.remove_stale_state()
        if self.policy:
            podmemoryallocation.allocate_pod(self.policy, self.state, pod, affinity)

    def add_container(self, pod: Pod, container: Container) -> None:
        """A container was created: plain init containers before it are done, and their memory is released."""
        if self.policy:
            for earlier in pod.init_containers:
                if earlier.name == container.name:
                    break
                if not earlier.is_restartable:
                    self.policy.remove_container(self.state, pod.uid, earlier.name)

    def nodes_of(self, pod: str, container: str) -> set[int]:
        """The NUMA nodes of a container's memory (GetMemoryNUMANodes)."""
        blocks = self.state.blocks_of(pod, container) or ()
        return {node for block in blocks for node in block.numa_affinity}


class Devices:
    """Stands for the device manager: hints as they are given for each pod, nothing to allocate."""

    def __init__(self) -> None:
        self.hints: dict[tuple[str, str], ProviderHints] = {}
        self.pod_hints: dict[str, ProviderHints] = {}

    def topology_hints(self, pod: Pod, container: Container) -> ProviderHints | None:
        return self.hints.get((pod.uid, container.name))

    def pod_topology_hints(self, pod: Pod) -> ProviderHints | None:
        return self.pod_hints.get(pod.uid)

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        """Devices are always there."""

    def allocate_pod(self, pod: Pod, affinity: TopologyHint) -> None:
        """Devices are always there."""
