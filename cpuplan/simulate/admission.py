"""Pods on a simulated node, one after the other: what became of each."""

from collections.abc import Collection, Hashable, Iterable
from typing import NamedTuple

from cpuplan.simulate import apiserver
from cpuplan.simulate.allocators.base import (
    ENDS,
    NOT_SIMULATED,
    Admission,
    Allocator,
    Move,
    Placed,
    Refusal,
    Remainder,
)
from cpuplan.solve import effort
from cpuplan.solve.effort import UndecidedError
from cpuplan.upstream.kubelet.cpumanager import state as cpustate
from cpuplan.upstream.kubelet.kubelet import Node
from cpuplan.upstream.kubelet.memorymanager import state as memorystate
from cpuplan.upstream.kubernetes.pod import Pod

#: The names of the state files, by field of `Node`.
FILES = {"cpu_state": cpustate.FILE, "memory_state": memorystate.FILE}


class Outcome(NamedTuple):
    """What became of a pod; `moves` are the cpusets that changed for it, in order."""

    pod: Pod
    qos: str
    containers: tuple[Placed, ...] = ()
    refused: Refusal | None = None
    moves: tuple[Move, ...] = ()
    is_exact: bool = True

    @property
    def is_unknown(self) -> bool:
        """Whether the limit of work was reached before the pod: nobody refuses it."""
        return self.refused is not None and self.refused.reason == NOT_SIMULATED


class UnknownPodError(Exception):
    """The UID of a pod that is to end but does not run."""


class Departure(NamedTuple):
    """A pod that ended after all had come, and the cpusets that changed then, in order."""

    uid: str
    moves: tuple[Move, ...]


class NodeOutcome(NamedTuple):
    """A node after all pods have come, and some have ended."""

    outcomes: tuple[Outcome, ...]
    remainder: Remainder
    departures: tuple[Departure, ...] = ()


def run(allocator: Allocator, pods: Iterable[Pod], ending: Collection[str] = ()) -> NodeOutcome:
    """Admit the pods in order, remove those that end, and see what they leave."""
    given = list(pods)
    _check_ending(allocator, given, ending)
    outcomes = admit(allocator, given)
    ended = any(item.refused and item.refused.reason in ENDS for item in outcomes)
    departures = tuple(Departure(uid, allocator.remove(uid)) for uid in ending)
    left = [item for item in outcomes if item.refused or item.pod.uid not in ending]
    placed = tuple(place(allocator, item) for item in left)
    return NodeOutcome(placed, remainder(allocator, ended=ended), departures)


def remainder(allocator: Allocator, *, ended: bool = False) -> Remainder:
    """What all pods leave; where the limit of work ends before all of it is known, that too."""
    try:
        return allocator.remainder(ended=ended)
    except UndecidedError:
        known = allocator.remainder(ended=True)
        return known._replace(limit=effort.current().words)


def _check_ending(allocator: Allocator, pods: Iterable[Pod], ending: Iterable[str]) -> None:
    """UnknownPodError for a pod that neither arrives nor is in a state file."""
    kubelet = allocator.kubelet
    running = {*kubelet.cpus.state.entries, *kubelet.memory.state.entries}
    known = running | {pod.uid for pod in pods}
    for uid in ending:
        if uid not in known:
            raise UnknownPodError(uid)


def admit(allocator: Allocator, pods: Iterable[Pod]) -> list[Outcome]:
    """Admit the pods in order. A kubelet that did not survive one admits nobody after it."""
    outcomes: list[Outcome] = []
    end: Refusal | None = None
    for given in pods:
        pod = apiserver.store(given, allocator.gates)
        admission = Admission(end) if end else offer(allocator, pod)
        if admission.refused and admission.refused.reason in ENDS:
            end = admission.refused
        outcomes.append(outcome(allocator, pod, admission))
    return outcomes


def offer(allocator: Allocator, pod: Pod) -> Admission:
    """Whether the pod is admitted, or the limit of work ended before it was its turn."""
    try:
        return allocator.admit(pod)
    except UndecidedError:
        text = f"the limit of {effort.current().words} of work was reached before this pod"
        return Admission(Refusal(NOT_SIMULATED, text))


def outcome(allocator: Allocator, pod: Pod, admission: Admission) -> Outcome:
    """An outcome whose containers are not placed yet."""
    return Outcome(
        pod, allocator.qos(pod), (), admission.refused, admission.moves, admission.is_exact
    )


def place(allocator: Allocator, of: Outcome) -> Outcome:
    """The outcome with the containers as they run now that all pods are in."""
    return of if of.refused else of._replace(containers=allocator.place(of.pod))


def kind_of(pod: Pod, allocator: Allocator) -> Hashable:
    """What an allocator sees of a pod: equal for pods that differ only in their names."""
    bare = pod._replace(
        uid="",
        name="",
        namespace="",
        annotations={},
        labels={},
        runtime_class="",
        init_containers=tuple(container._replace(env=()) for container in pod.init_containers),
        containers=tuple(container._replace(env=()) for container in pod.containers),
    )
    return repr(bare), allocator.sees(pod)


def read_state(texts: Iterable[str]) -> Node:
    """State files, distinguished by their content."""
    node = Node()
    for text in texts:
        node = node._replace(**{"memory_state" if '"machineState"' in text else "cpu_state": text})
    return node
