"""What the CPU and the memory manager of a running kubelet have in common."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from cpuplan.upstream.kubelet.entries import Entries
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.pods.pod import Container, Pod
from cpuplan.upstream.kubelet.releases.features import Gates
from cpuplan.upstream.kubelet.topology.hints import ProviderHints, TopologyHint

#: The pods whose containers keep what they have; None until the kubelet knows all of its pods.
ActivePods = Callable[[], Iterable[Pod] | None]


class Policy(Protocol):
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


StaticPolicy = TypeVar("StaticPolicy", bound=Policy)
State = TypeVar("State", bound=Entries[Any])


class Manager(Generic[StaticPolicy, State]):
    """A manager with the static policy, or with none, which leaves all containers alone."""

    #: As errors name it, and how it spells the names of its policies.
    name: str
    static_name: str
    none_name: str

    def __init__(self, policy: StaticPolicy | None, gates: Gates, active: ActivePods) -> None:
        self.policy, self.gates, self._active = policy, gates, active
        self.policy_name = self.static_name if policy else self.none_name
        self.state = self._load(None, "")

    def _load(self, content: str | None, folder: str) -> State:
        """The state in a file, an empty one where there is no file."""
        raise NotImplementedError

    def _allocate_pod(self, policy: StaticPolicy, pod: Pod, affinity: TopologyHint) -> None:
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
        """Drop what containers have that are not active any more."""
        active = self._active()
        if not self.policy or active is None:
            return
        known = {(pod.uid, container.name) for pod in active for container in pod.all_containers}
        entries = self.state.entries.items()
        given = [(pod, container) for pod, containers in entries for container in containers]
        for pod, container in given:
            if (pod, container) not in known:
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
