"""The NRI balloons policy beside a kubelet whose CPU manager has the policy none."""

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from cpuplan.kubelet.bits import parse_cpus, to_text
from cpuplan.kubelet.errors import KubeletError, PanicError
from cpuplan.kubelet.node import Node, StartError
from cpuplan.kubelet.pods import pod as kubelet_pods
from cpuplan.kubelet.pods.pod import CPU, Pod
from cpuplan.kubelet.pods.qos import pod_qos
from cpuplan.nri.balloons import snapshot
from cpuplan.nri.balloons.balloon import Balloon
from cpuplan.nri.balloons.policy import Policy
from cpuplan.nri.common import pods
from cpuplan.nri.common.pods import Container, Resources
from cpuplan.nri.errors import NriError
from cpuplan.nri.names import DEFAULT, SCOPE, SYSTEM_NAMESPACE
from cpuplan.simulate import runtimes
from cpuplan.simulate.allocators import probes
from cpuplan.simulate.allocators.base import (
    Admission,
    Left,
    Move,
    Placed,
    Refusal,
    Remainder,
    UnfitError,
)
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.planned import Planned

#: The reason that a pod's status has for a container that the runtime does not create.
NOT_CREATED = "CreateContainerError"
#: Microseconds of the kubelet's period for quotas, and the smallest quota.
_PERIOD, _LEAST_QUOTA = 100_000, 1000
_DEFAULT_NAMESPACE = "default"


class _Moment(NamedTuple):
    kubelet: Any
    policy: snapshot.Snapshot
    given: dict[tuple[str, str], int]
    running: dict[tuple[str, str], Container]


class BalloonsAllocator:
    """The kubelet admits pods, and the policy places their containers as they are created."""

    def __init__(self, facts: Planned, state: Node = Node()) -> None:  # noqa: B008 - a constant
        """Start both; StartError where the policy does not start."""
        self.facts = facts
        self._below = KubeletAllocator(facts, state)
        self.kubelet, self.gates = self._below.kubelet, self._below.gates
        if facts.balloons is None:
            raise UnfitError("the plan's mechanism is not balloons")
        try:
            self.policy = Policy(*facts.balloons)
        except (NriError, PanicError) as error:
            raise StartError("balloons", KubeletError(str(error))) from None
        self._running: dict[tuple[str, str], Container] = {}
        # Of init containers: they are over when the pod runs.
        self._given: dict[tuple[str, str], int] = {}

    def admit(self, pod: Pod) -> Admission:
        """Admit one pod, and create its containers: others may get other CPUs for it."""
        admission = self._below.admit(pod)
        if admission.refused:
            return admission
        before = {key: one.cpus for key, one in self._running.items()}
        try:
            self._create(pod)
        except NriError as error:
            self.remove(pod.uid)
            text = f"failed to allocate resources: {error}"
            return Admission(Refusal(NOT_CREATED, text))
        return Admission(moves=tuple(self._moves(before)))

    def _create(self, pod: Pod) -> None:
        """Plain init containers run one after the other, before all others."""
        known = pods.Pod(
            pod.name,
            pod.namespace or _DEFAULT_NAMESPACE,
            pod_qos(pod, self.gates),
            {},
            pod.annotations,
        )
        for container in pod.all_containers:
            made = pods.container(known, container.name, _resources(container))
            self.policy.create(made)
            if container.is_plain_init:
                self._given[pod.uid, container.name] = _bits(made)
                self.policy.remove(made)
            else:
                self._running[pod.uid, container.name] = made

    def _moves(self, before: dict[tuple[str, str], str]) -> Iterator[Move]:
        for key, cpus in before.items():
            now = self._running[key]
            if now.cpus != cpus:
                old, own = parse_cpus(cpus), self._is_exclusive(now)
                yield Move(*key, old, _bits(now), own)

    def _is_exclusive(self, container: Container) -> bool:
        """Whether its balloon was made for it, and nobody else is in it."""
        balloon = self._balloon_of(container)
        return balloon is not None and not (
            balloon.type.min_balloons or balloon.shared_idle or len(balloon.containers) > 1
        )

    def _balloon_of(self, container: Container) -> Balloon | None:
        balloons = self.policy.state.balloons
        return next((one for one in balloons if container in one.containers), None)

    def remove(self, uid: str) -> tuple[Move, ...]:
        """Remove a pod that has ended; balloons shrink, and others may share what gets idle."""
        gone = [key for key in self._running if key[0] == uid]
        before = {key: one.cpus for key, one in self._running.items() if key not in gone}
        for key in gone:
            self.policy.remove(self._running.pop(key))
        self._below.remove(uid)
        return tuple(self._moves(before))

    def place(self, pod: Pod) -> tuple[Placed, ...]:
        """The containers as they run now."""
        return tuple(self._placed((pod.uid, below.name), below) for below in self._below.place(pod))

    def _placed(self, key: tuple[str, str], below: Placed) -> Placed:
        running = self._running.get(key)
        cpus = self._given.get(key, 0) if running is None else _bits(running)
        own = running is not None and self._is_exclusive(running)
        return below._replace(cpus=cpus, is_exclusive=own, started=_started(below.started, cpus))

    def qos(self, pod: Pod) -> str:
        return pod_qos(pod, self.gates)

    def sees(self, pod: Pod) -> Hashable:
        """Annotations of its own, and the one namespace that has CPUs of its own."""
        annotations = tuple(sorted(item for item in pod.annotations.items() if SCOPE in item[0]))
        return pod.namespace == SYSTEM_NAMESPACE, annotations

    def remainder(self, *, ended: bool = False) -> Remainder:
        """The CPUs of all other pods, and what is left for containers with CPUs of their own."""
        state = self.policy.state
        others = (one for one in state.balloons if one.type.name == DEFAULT)
        shared = next((one.cpus | one.shared_idle for one in others), 0)
        if ended:
            return Remainder(shared)
        size = probes.largest(self, state.free.bit_count(), state.free)
        return Remainder(shared, Left(state.free, size, {}))

    def restart(self) -> list[tuple[Pod | None, Refusal]]:
        """Nobody: no container is created again when the plugin restarts."""
        return []

    def take(self) -> _Moment:
        given, running = dict(self._given), dict(self._running)
        return _Moment(self._below.take(), snapshot.take(self.policy), given, running)

    def restore(self, moment: _Moment) -> None:
        self._below.restore(moment.kubelet)
        snapshot.restore(self.policy, moment.policy)
        self._given, self._running = dict(moment.given), dict(moment.running)

    def key(self) -> Hashable:
        return self._below.key(), snapshot.key(self.policy)


def _resources(container: kubelet_pods.Container) -> Resources:
    """What the kubelet tells the runtime (cm/helpers_linux.go: MilliCPUToShares, ...Quota)."""
    request = container.requests.get(CPU) or container.limits.get(CPU)
    limit = container.limits.get(CPU)
    quota = max(limit.milli * _PERIOD // 1000, _LEAST_QUOTA) if limit and limit.milli else 0
    return Resources(pods.shares_of(request.milli if request else 0), quota, _PERIOD)


def _started(below: runtimes.Started, cpus: int) -> runtimes.Started:
    """As the runtime starts it with the policy's cpuset; slices limit nothing beside balloons."""
    return below._replace(cpus=cpus, effective=cpus, updated=to_text(cpus), outside=())


def _bits(container: Container) -> int:
    return parse_cpus(container.cpus)
