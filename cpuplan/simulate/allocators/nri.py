"""A resource policy of the NRI plugins beside a kubelet whose CPU manager has the policy none."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple, Protocol

from cpuplan.simulate import runtimes
from cpuplan.simulate.allocators import base
from cpuplan.simulate.allocators.base import Admission, Move, Placed, Refusal, Remainder
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.planned import Planned
from cpuplan.upstream.kubelet.kubelet import Node, StartError
from cpuplan.upstream.kubernetes import pod as kubelet_pods
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.bits import members, parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY, Pod
from cpuplan.upstream.kubernetes.qos import pod_qos
from cpuplan.upstream.nri import pods
from cpuplan.upstream.nri.api import SCOPE, SYSTEM_NAMESPACE, NriError
from cpuplan.upstream.nri.expressions import matches
from cpuplan.upstream.nri.pods import Container, Resources

#: The reason that a pod's status has for a container that the runtime does not create.
NOT_CREATED = "CreateContainerError"
#: Microseconds of the kubelet's period for quotas, and the smallest quota.
_PERIOD, _LEAST_QUOTA = 100_000, 1000
_DEFAULT_NAMESPACE = "default"
_NOTHING = quantity.of(0)


class _Policy(Protocol):
    """What both policies do with containers."""

    def create(self, container: Container) -> None: ...

    def remove(self, container: Container) -> None: ...


class _Port(Protocol):
    """The module of a policy: it takes moments of one, and tells them apart."""

    def take_snapshot(self, policy: Any) -> Any: ...

    def restore_snapshot(self, policy: Any, moment: Any) -> None: ...

    def snapshot_key(self, policy: Any) -> Hashable: ...


class _Moment(NamedTuple):
    kubelet: Any
    policy: Any
    given: dict[tuple[str, str], Container]
    running: dict[tuple[str, str], Container]


class NriAllocator(ABC):
    """The kubelet admits pods, and the policy places their containers as they are created."""

    #: The stage of a start that failed: the mechanism's name.
    mechanism: str
    port: _Port

    def __init__(self, facts: Planned, state: Node = Node()) -> None:  # noqa: B008 - a constant
        """Start both; StartError where the policy does not start."""
        self.facts = facts
        self._below = KubeletAllocator(facts, state)
        self.kubelet, self.gates = self._below.kubelet, self._below.gates
        try:
            self.started: _Policy = self._start()
        except (NriError, PanicError) as error:
            raise StartError(self.mechanism, KubeletError(str(error))) from None
        self._running: dict[tuple[str, str], Container] = {}
        # Init containers, as they ran: they are over when the pod runs.
        self._given: dict[tuple[str, str], Container] = {}

    @abstractmethod
    def _start(self) -> _Policy:
        """The policy on the planned machine; UnfitError if the plan has another mechanism."""

    @abstractmethod
    def is_exclusive(self, container: Container) -> bool:
        """Whether a container that runs has all of its CPUs alone."""

    @abstractmethod
    def remainder(self, *, ended: bool = False) -> Remainder:
        """What all pods leave."""

    @property
    @abstractmethod
    def reserved_namespaces(self) -> tuple[str, ...]:
        """Patterns of the namespaces whose pods run on the reserved CPUs, beside kube-system."""

    def admit(self, pod: Pod) -> Admission:
        """Admit one pod, and create its containers: others may get other CPUs for it."""
        base.count_admission(self.kubelet, pod)
        admission = self._below.bind(pod)
        if admission.refused:
            return admission
        before = {key: running.cpus for key, running in self._running.items()}
        try:
            self._create(pod)
        except NriError as error:
            self.remove(pod.uid)
            text = f"failed to allocate resources: {error}"
            return Admission(Refusal(NOT_CREATED, text))
        return Admission(moves=tuple(self._moves(before)))

    def _create(self, pod: Pod) -> None:
        """Plain init containers run one after the other, before all others."""
        qos = pod_qos(pod, self.gates)
        namespace = pod.namespace or _DEFAULT_NAMESPACE
        known = pods.Pod(pod.name or pod.uid, namespace, qos, {}, pod.annotations)
        for container in pod.all_containers:
            made = pods.container(known, container.name, self._resources(qos, container))
            self.started.create(made)
            if container.is_plain_init:
                self._given[pod.uid, container.name] = made
                self.started.remove(made)
            else:
                self._running[pod.uid, container.name] = made

    def _resources(self, qos: str, container: kubelet_pods.Container) -> Resources:
        """What the kubelet tells the runtime (cm/helpers_linux.go: MilliCPUToShares, ...Quota)."""
        request = container.requests.get(CPU) or container.limits.get(CPU)
        limit = container.limits.get(CPU)
        quota = max(limit.milli * _PERIOD // 1000, _LEAST_QUOTA) if limit and limit.milli else 0
        shares = pods.shares_of(request.milli if request else 0)
        memory = container.limits.get(MEMORY, _NOTHING).value
        asked = container.requests.get(MEMORY, _NOTHING).value
        capacity = self.facts.machine.memory_capacity
        estimated = 0
        if qos == "Burstable" and capacity:
            estimated = pods.estimated_request(pods.oom_score(asked, capacity), capacity, memory)
        return Resources(shares, quota, _PERIOD, memory, estimated)

    def _moves(self, before: dict[tuple[str, str], str]) -> Iterator[Move]:
        for key, cpus in before.items():
            now = self._running[key]
            if now.cpus != cpus:
                yield Move(*key, parse_cpus(cpus), bits(now), self.is_exclusive(now))

    def remove(self, uid: str) -> tuple[Move, ...]:
        """Remove a pod that has ended; others may have what gets free."""
        gone = [key for key in self._running if key[0] == uid]
        before = {key: running.cpus for key, running in self._running.items() if key not in gone}
        for key in gone:
            self.started.remove(self._running.pop(key))
        self._below.remove(uid)
        return tuple(self._moves(before))

    def place(self, pod: Pod) -> tuple[Placed, ...]:
        """The containers as they run now."""
        return tuple(self._placed((pod.uid, below.name), below) for below in self._below.place(pod))

    def _placed(self, key: tuple[str, str], below: Placed) -> Placed:
        running = self._running.get(key)
        known = self._given.get(key) if running is None else running
        if known is None:
            return below._replace(cpus=0, is_exclusive=False, started=_started(below.started, 0))
        cpus = bits(known)
        nodes = tuple(members(parse_cpus(known.mems))) if known.mems else below.numa_nodes
        return below._replace(
            cpus=cpus,
            is_exclusive=running is not None and self.is_exclusive(running),
            numa_nodes=nodes,
            started=_started(below.started, cpus),
        )

    def qos(self, pod: Pod) -> str:
        return pod_qos(pod, self.gates)

    def sees(self, pod: Pod) -> Hashable:
        """Annotations of its own, and the namespaces that have CPUs of their own."""
        annotations = tuple(sorted(item for item in pod.annotations.items() if SCOPE in item[0]))
        patterns = (SYSTEM_NAMESPACE, *self.reserved_namespaces)
        return any(matches(pattern, pod.namespace) for pattern in patterns), annotations

    def restart(self) -> list[tuple[Pod | None, Refusal]]:
        """No pod is refused: no container is created again when the plugin restarts."""
        return []

    def take(self) -> _Moment:
        given, running = dict(self._given), dict(self._running)
        return _Moment(self._below.take(), self.port.take_snapshot(self.started), given, running)

    def restore(self, moment: _Moment) -> None:
        self._below.restore(moment.kubelet)
        self.port.restore_snapshot(self.started, moment.policy)
        self._given, self._running = dict(moment.given), dict(moment.running)

    def key(self) -> Hashable:
        return self._below.key(), self.port.snapshot_key(self.started)


def _started(below: runtimes.Started, cpus: int) -> runtimes.Started:
    """As the runtime starts it with the policy's cpuset; slices limit nothing beside a policy."""
    return below._replace(cpus=cpus, effective=cpus, updated=to_text(cpus), outside=())


def bits(container: Container) -> int:
    """The CPUs that the runtime was told; none where it was told nothing."""
    return parse_cpus(container.cpus)
