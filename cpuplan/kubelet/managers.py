"""The CPU, memory and device managers of a running kubelet: a policy, its state, and what became
stale in it.
"""

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from cpuplan.kubelet.cpu import cpumanager
from cpuplan.kubelet.cpu import pods as podcpus
from cpuplan.kubelet.cpu import state as cpustate
from cpuplan.kubelet.cpu.state import CPUState
from cpuplan.kubelet.entries import Entries
from cpuplan.kubelet.errors import KubeletError
from cpuplan.kubelet.memory import memorymanager
from cpuplan.kubelet.memory import pods as podmemoryallocation
from cpuplan.kubelet.memory import state as memorystate
from cpuplan.kubelet.memory.state import MemoryState
from cpuplan.kubelet.pods.pod import Container, Pod
from cpuplan.kubelet.releases.features import Gates
from cpuplan.kubelet.topology.hints import ProviderHints, TopologyHint

#: The pods whose containers keep what they have; None as long as the kubelet does not know all of
#: its pods.
ActivePods = Callable[[], Iterable[Pod] | None]


class _Policy(Protocol):
    """A static policy; `state` is the one of its manager."""

    def start(self, state: Any) -> None: ...
    def remove_container(self, state: Any, pod: str, container: str) -> None: ...
    def topology_hints(
        self, state: Any, pod: Pod, container: Container
    ) -> ProviderHints | None: ...
    def pod_topology_hints(self, state: Any, pod: Pod) -> ProviderHints | None: ...
    def allocate(
        self, state: Any, pod: Pod, container: Container, affinity: TopologyHint
    ) -> None: ...


_Static = TypeVar("_Static", bound=_Policy)
_State = TypeVar("_State", bound=Entries[Any])


class _Manager(Generic[_Static, _State]):
    """A manager with the static policy or, without one, the policy that leaves all containers
    alone.
    """

    #: As errors name it, and how it spells the names of its policies.
    name: str
    static_name: str
    none_name: str

    def __init__(self, policy: _Static | None, gates: Gates, active: ActivePods) -> None:
        self.policy, self.gates, self._active = policy, gates, active
        self.policy_name = self.static_name if policy else self.none_name
        self.state = self._load(None, "")

    def _load(self, content: str | None, folder: str) -> _State:
        """The state in a file, an empty one where there is no file."""
        raise NotImplementedError

    def _allocate_pod(self, policy: _Static, pod: Pod, affinity: TopologyHint) -> None:
        raise NotImplementedError

    def start(self, content: str | None, folder: str) -> None:
        """Read the state file, if any, and check it."""
        try:
            self.state = self._load(content, folder)
            if self.policy:
                self.policy.start(self.state)
        except KubeletError as error:
            raise KubeletError(f"start {self.name} manager error: {error}") from None

    def remove_stale_state(self) -> None:
        active = self._active()
        if self.policy and active is not None:
            known = {
                (pod.uid, container.name) for pod in active for container in pod.all_containers
            }
            entries = self.state.entries
            stale = [
                (pod, name)
                for pod, found in entries.items()
                for name in found
                if (pod, name) not in known
            ]
            for pod, container in stale:
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
            self._allocate_pod(self.policy, pod, affinity)


class CPUManager(_Manager[cpumanager.StaticPolicy, CPUState]):
    """pkg/kubelet/cm/cpumanager/cpu_manager.go."""

    name, static_name, none_name = "cpu", "static", "none"

    def _load(self, content: str | None, folder: str) -> CPUState:
        return cpustate.load(content, self.policy_name, self.gates, folder)

    def dump(self) -> str:
        return cpustate.dump(self.state, self.policy_name, self.gates)

    def _allocate_pod(
        self, policy: cpumanager.StaticPolicy, pod: Pod, affinity: TopologyHint
    ) -> None:
        podcpus.allocate_pod(policy, self.state, pod, affinity)

    def cpus_of(self, pod: str, container: str) -> int:
        """The cpuset that a container gets: its own, or the shared pool of the moment
        (GetCPUAffinity).
        """
        own = self.state.cpus_of(pod, container)
        return self.state.default if own is None else own


class MemoryManager(_Manager[memorymanager.StaticPolicy, MemoryState]):
    """pkg/kubelet/cm/memorymanager/memory_manager.go."""

    name, static_name, none_name = "memory", "Static", "None"

    def _load(self, content: str | None, folder: str) -> MemoryState:
        return memorystate.load(content, self.policy_name, self.gates, folder)

    def dump(self) -> str:
        return memorystate.dump(self.state, self.policy_name, self.gates)

    def _allocate_pod(
        self, policy: memorymanager.StaticPolicy, pod: Pod, affinity: TopologyHint
    ) -> None:
        podmemoryallocation.allocate_pod(policy, self.state, pod, affinity)

    def add_container(self, pod: Pod, container: Container) -> None:
        """A container was created: plain init containers before it are done, and their memory is
        released.
        """
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
