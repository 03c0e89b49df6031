"""Pods on a simulated node, one after the other: what became of each.

Whether they are admitted in every order of arrival is answered by an exhaustive search.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from math import comb, log10
from typing import Any, NamedTuple

from cpuplan.simulate import manifests
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
from cpuplan.solve import budget
from cpuplan.solve.budget import UndecidedError
from cpuplan.upstream.kubelet.cpumanager import state as cpustate
from cpuplan.upstream.kubelet.devicemanager.manager import Choice, lowest, selections
from cpuplan.upstream.kubelet.kubelet import Node
from cpuplan.upstream.kubelet.memorymanager import state as memorystate
from cpuplan.upstream.kubernetes.errors import AdmissionError
from cpuplan.upstream.kubernetes.pod import Pod

#: The names of the state files, by field of `Node`.
FILES = {"cpu_state": cpustate.FILE, "memory_state": memorystate.FILE}


class Outcome(NamedTuple):
    """What became of a pod; `moves` are the cpusets that changed for it, in order.

    `undetermined` are resources of which the kubelet may give it other devices.
    """

    pod: Pod
    qos: str
    containers: tuple[Placed, ...] = ()
    refused: Refusal | None = None
    moves: tuple[Move, ...] = ()
    is_exact: bool = True
    undetermined: tuple[str, ...] = ()

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
        return known._replace(limit=budget.current().words)


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
        pod = stored(given, allocator)
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
        text = f"the limit of {budget.current().words} of work was reached before this pod"
        return Admission(Refusal(NOT_SIMULATED, text))


def outcome(allocator: Allocator, pod: Pod, admission: Admission) -> Outcome:
    """An outcome whose containers are not placed yet."""
    return Outcome(pod, allocator.qos(pod), (), *admission)


def place(allocator: Allocator, of: Outcome) -> Outcome:
    """The outcome with the containers as they run now that all pods are in."""
    return of if of.refused else of._replace(containers=allocator.place(of.pod))


def stored(pod: Pod, allocator: Allocator) -> Pod:
    """The pod with its defaults, as the API server stores it; one that it refuses as it came."""
    given = manifests.with_defaults(pod, allocator.gates)
    try:
        return allocator.facts.runtime.admit(given)
    except AdmissionError:
        return given


def kind_of(pod: Pod, allocator: Allocator) -> Hashable:
    """What an allocator sees of a stored pod: equal for pods that differ only in their names."""
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
    return repr(bare), allocator.facts.runtime.sees(pod), allocator.sees(pod)


def read_state(texts: Iterable[str]) -> Node:
    """State files, distinguished by their content."""
    node = Node()
    for text in texts:
        node = node._replace(**{"memory_state" if "machineState" in text else "cpu_state": text})
    return node


#: Larger numbers of orders are not written out.
_ABOUT = 10**15


class Answer(NamedTuple):
    """Every order works (`is_proven`); an order whose last pod is refused; or not decided.

    The refusal `depends` on which devices the kubelet takes where it goes by no order.

    `works` of `orders` are known to work, where pods that differ only in their names are alike:
    as text, since they are more than a number has room for; empty where devices decide.
    Without a proof or a failure, the limit of work (`limit`, in words) was reached.
    """

    is_proven: bool
    tried: int  # admissions
    moments: int  # distinct ones
    failing: tuple[Pod, ...] = ()
    refused: Refusal | None = None
    works: str = ""
    orders: str = ""
    limit: str = ""
    depends: bool = False


class _Alternatives:
    """What the kubelet takes where it goes by no order: one possibility in each run, then the next.

    A run takes the choices of the run before up to the last one of which there is another.
    """

    def __init__(self) -> None:
        self.is_needed = False
        self._script: list[int] = []
        self._made: list[tuple[int, int]] = []  # the possibility that was taken, and how many

    def __call__(self, choice: Choice) -> int:
        if not choice.matters:
            return lowest(choice)
        self.is_needed = True
        possible = selections(choice)
        at = self._script[len(self._made)] if len(self._made) < len(self._script) else 0
        self._made.append((at, len(possible)))
        return possible[at]

    def advance(self) -> bool:
        """Whether there is another run."""
        while self._made and self._made[-1][0] + 1 == self._made[-1][1]:
            self._made.pop()
        if not self._made:
            return False
        self._script = [at for at, _ in self._made]
        self._script[-1] += 1
        self._made = []
        return True


class _Kind(NamedTuple):
    """Pods that differ only in their names."""

    what: Hashable
    pods: list[Pod]


def any_order(allocator: Allocator, pods: Iterable[Pod]) -> Answer:
    """Try every order of `pods`. The state of the allocator is restored afterwards.

    Equal pods are interchangeable, and so are moments with the same future.
    It ends with what is left of the limit of work.
    """
    kinds: dict[Hashable, _Kind] = {}
    for given in pods:
        pod = stored(given, allocator)
        what = kind_of(pod, allocator)
        kinds.setdefault(what, _Kind(what, [])).pods.append(pod)
    start = allocator.take()
    try:
        return _Search(allocator, list(kinds.values())).run(start)
    finally:
        allocator.restore(start)
        allocator.kubelet.devices.choose = lowest


class _Step(NamedTuple):
    """What one more pod of a kind leads to: a refusal, or a moment that is new or known."""

    refused: Refusal | None
    moment: Any = None
    number: int = 0
    depends: bool = False  # on which devices the kubelet takes


class _Search:
    """Depth first: an order that fails is found before all are known."""

    def __init__(self, allocator: Allocator, kinds: Sequence[_Kind]) -> None:
        self.allocator, self.kinds = allocator, kinds
        self.tried = 0
        self.has_alternatives = False
        #: The distinct moments, by number; the start has 0.
        self.seen: dict[Hashable, int] = {}
        #: By the number of pods that have come: moments, and those that one more pod leads to.
        self.steps: list[list[tuple[int, int]]] = [[] for _ in self._all()]

    def run(self, start: Any) -> Answer:
        # a moment and its number, how it came about, whether devices decided about that
        stack: list[tuple[_Step, tuple[int, ...]]] = [(_Step(None, start), ())]
        try:
            while stack:
                before, order = stack.pop()
                for kind in self._waiting(order):
                    for step in self._steps(before, order, kind):
                        if step.refused:
                            failing = self._pods((*order, kind))
                            return self._answer(
                                failing=failing, refused=step.refused, depends=step.depends
                            )
                        if step.moment is not None:
                            stack.append((step, (*order, kind)))
        except UndecidedError:
            return self._answer(limit=budget.current().words)
        return self._answer(is_proven=True)

    def _answer(self, *, is_proven: bool = False, **more: Any) -> Answer:
        counts = [len(kind.pods) for kind in self.kinds]
        works, orders = _words(self._works()), _words(_orders(counts))
        works = "" if self.has_alternatives else works
        answer = Answer(is_proven, self.tried, len(self.seen), orders=orders, works=works)
        return answer._replace(**more)

    def _works(self) -> int:
        """How many orders lead through tried steps to a moment at which all pods have come."""
        ways = Counter({0: 1})
        for steps in self.steps:
            after: Counter[int] = Counter()
            for before, reached in steps:
                after[reached] += ways[before]
            ways = after
        return sum(ways.values())

    def _all(self) -> list[Pod]:
        return [pod for kind in self.kinds for pod in kind.pods]

    def _waiting(self, order: tuple[int, ...]) -> list[int]:
        """The kinds of which pods are still to come."""
        counts = Counter(order)
        return [at for at, kind in enumerate(self.kinds) if counts[at] < len(kind.pods)]

    def _steps(self, before: _Step, order: tuple[int, ...], kind: int) -> Iterator[_Step]:
        """One more pod of a kind, with all devices that the kubelet may take."""
        pod = self.kinds[kind].pods[order.count(kind)]
        counts = tuple(sorted(Counter((*order, kind)).items()))
        alternatives = self.allocator.kubelet.devices.choose = _Alternatives()
        is_last = False
        while not is_last:
            self.allocator.restore(before.moment)
            refused = self.allocator.admit(pod).refused
            self.tried += 1
            self.has_alternatives |= alternatives.is_needed
            depends = before.depends or alternatives.is_needed
            yield self._reached(before.number, counts, len(order), refused)._replace(
                depends=depends
            )
            is_last = not alternatives.advance()

    def _reached(self, number: int, counts: Hashable, came: int, refused: Refusal | None) -> _Step:
        """The refusal, or the moment; it is kept where it is a new one."""
        if refused:
            return _Step(refused)
        key = (counts, self.allocator.key())
        is_new = key not in self.seen
        reached = self.seen.setdefault(key, len(self.seen) + 1)
        self.steps[came].append((number, reached))
        return _Step(None, self.allocator.take() if is_new else None, reached)

    def _pods(self, order: tuple[int, ...]) -> tuple[Pod, ...]:
        """The pods of an order of kinds."""
        used: Counter[int] = Counter()
        pods = []
        for kind in order:
            pods.append(self.kinds[kind].pods[used[kind]])
            used[kind] += 1
        return tuple(pods)


def _orders(counts: Sequence[int]) -> int:
    """In how many orders so many pods of each kind can come."""
    orders, pods = 1, 0
    for count in counts:
        pods += count
        orders *= comb(pods, count)
    return orders


def _words(number: int) -> str:
    """`1,234`, `about 10^30`."""
    return f"{number:,}" if number < _ABOUT else f"about 10^{log10(number):.0f}"
