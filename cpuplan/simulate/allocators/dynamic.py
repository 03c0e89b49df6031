"""cpuplan's own dynamic policy, in place of the kubelet's static one. No kubelet has it."""

from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

from cpuplan.facts.settings.kubelet import CPU_MANAGER_POLICY
from cpuplan.simulate import runtimes
from cpuplan.simulate.allocators import base
from cpuplan.simulate.allocators.base import (
    TOO_MANY_NODES,
    Admission,
    Left,
    Move,
    Placed,
    Refusal,
    Remainder,
    UnfitError,
)
from cpuplan.simulate.allocators.kubelet import running
from cpuplan.simulate.dynamic.policy import DynamicPolicy, Update
from cpuplan.simulate.planned import Planned
from cpuplan.simulate.runtimes import Started
from cpuplan.upstream.kubelet.cpumanager.state import CPUState
from cpuplan.upstream.kubelet.kubelet import Node
from cpuplan.upstream.kubelet.topologymanager.policy import SINGLE
from cpuplan.upstream.kubernetes.errors import KubeletError, TooManySetsError, refusal
from cpuplan.upstream.kubernetes.fit import check_fit
from cpuplan.upstream.kubernetes.pod import Container, Pod
from cpuplan.upstream.kubernetes.qos import guaranteed_cpus, pod_qos


class _Moment(NamedTuple):
    state: CPUState
    active: tuple[Pod, ...]
    given: Mapping[str, Mapping[str, int]]


class DynamicAllocator:
    """The planned kubelet with its static policy replaced; memory is counted, but not aligned."""

    def __init__(self, facts: Planned, state: Node = Node()) -> None:  # noqa: B008 - a constant
        """Start as the kubelet does; UnfitError where its policy is not static."""
        self.facts = facts
        self.kubelet = facts.start(state)
        self.gates = self.kubelet.gates
        static = self.kubelet.cpus.policy
        if static is None:
            raise UnfitError(
                f"the dynamic one replaces the static one, and {CPU_MANAGER_POLICY.key} is none"
            )
        manager = self.kubelet.topology_manager
        self.kubelet.cpus.state = _without_reuse(self.kubelet.cpus.state)
        self.policy = DynamicPolicy(
            static,
            manager.policy,
            scope=manager.scope,
            state=self.kubelet.cpus.state,
            active=running(self.kubelet),
        )
        # By pod: init containers are over when the next pod comes, and the state forgets them.
        self._given: dict[str, Mapping[str, int]] = {}

    def admit(self, pod: Pod) -> Admission:
        """Admit one pod; others may have to move for it."""
        policy = self.policy
        base.count_admission(self.kubelet, pod)
        try:
            stored = self.facts.runtime.admit(pod)
            check_fit(stored, policy.active, self.kubelet.allocatable, self.gates)
            admitted = policy.admit(stored)
        except TooManySetsError as error:
            return Admission(Refusal(TOO_MANY_NODES, f"the dynamic policy {error.words}"))
        except KubeletError as error:
            if not policy.is_exact:
                base.count_long_search()
            return Admission(Refusal(*refusal(error)), is_exact=policy.is_exact)
        if not admitted.is_exact:
            base.count_long_search()
        self._given[pod.uid] = admitted.cpus
        return Admission(moves=self._moves(admitted.updates), is_exact=admitted.is_exact)

    def remove(self, uid: str) -> tuple[Move, ...]:
        """Remove a pod that has ended; others that were spread may move together."""
        return self._moves(self.policy.remove(uid))

    def _moves(self, updates: Iterable[Update[tuple[str, str]]]) -> tuple[Move, ...]:
        state = self.policy.state
        return tuple(
            Move(*update.key, update.old, update.new, state.cpus_of(*update.key) is not None)
            for update in updates
        )

    def place(self, pod: Pod) -> tuple[Placed, ...]:
        """The containers as they run now, after all moves."""
        config, runtime = self.kubelet.config, self.facts.runtime
        started = runtimes.start(runtime, config, self.policy.state, pod, self.gates)
        return tuple(
            self._place(pod, container, started[container.name]) for container in pod.all_containers
        )

    def _place(self, pod: Pod, container: Container, started: Started) -> Placed:
        own = self.policy.state.cpus_of(pod.uid, container.name)
        if container.is_plain_init and guaranteed_cpus(pod, container, self.gates):
            own = self._given[pod.uid][container.name]
        pool = self.policy.state.default
        cpus = started.cpus_given or (pool if own is None else own)
        return Placed(container.name, cpus, own is not None, (), started)

    def qos(self, pod: Pod) -> str:
        return pod_qos(pod, self.gates)

    def sees(self, pod: Pod) -> Hashable:
        return None

    def remainder(self, *, ended: bool = False) -> Remainder:
        """What is left, when all others may move."""
        return Remainder(self.policy.state.default, None if ended else self._left())

    def _left(self) -> Left:
        static = self.policy.static
        free = static.available(self.policy.state)
        most = free.bit_count()
        if self.policy.alignment.name == SINGLE:
            nodes = static.topology.numa_nodes.values()
            most = min(most, max((static.allocatable & node).bit_count() for node in nodes))
        size = base.largest_admitted(self, most, static.allocatable)
        return Left(free, size, {}, base.refusal_above(self, self.kubelet, size, free))

    def take(self) -> _Moment:
        return _Moment(_copy(self.policy.state), tuple(self.policy.active), dict(self._given))

    def restore(self, moment: _Moment) -> None:
        self.policy.cpus.state = _copy(moment.state)
        self.policy.static.cpus_to_reuse = {}
        self.policy.active = list(moment.active)
        self._given = dict(moment.given)

    def key(self) -> Hashable:
        """Who has which CPUs: where the search has an end, that counts too."""
        entries = self.policy.state.entries.items()
        return frozenset((uid, tuple(sorted(containers.items()))) for uid, containers in entries)


def _copy(state: CPUState) -> CPUState:
    return CPUState(state.default, state.entries)


def _without_reuse(state: CPUState) -> CPUState:
    """Each CPU with one container of its pod: those of finished init containers with later ones."""
    entries: dict[str, dict[str, int]] = {}
    for uid, containers in state.entries.items():
        taken = 0
        for name, cpus in sorted(containers.items(), key=lambda item: -item[1].bit_count()):
            if own := cpus & ~taken:
                entries.setdefault(uid, {})[name] = own
            taken |= cpus
    return CPUState(state.default, entries)
