"""Manifests on nodes: all of them on every node, or each on the first node that admits it.

Results are grouped for their reader: nodes with the same result, pods with the same refusal.
"""

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from cpuplan.base import text
from cpuplan.base.naming import fold_names
from cpuplan.base.progress import follow
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import admission
from cpuplan.simulate.admission import NodeOutcome, Outcome, UnknownPodError
from cpuplan.simulate.allocators.base import (
    ENDS,
    Admission,
    Allocator,
    Move,
    Ranking,
    Remainder,
    UnfitError,
)
from cpuplan.simulate.allocators.kubelet import Load
from cpuplan.simulate.allocators.registry import Start
from cpuplan.simulate.apiserver import Surroundings
from cpuplan.simulate.devices import Given
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.planned import planned, with_recorded_memory
from cpuplan.solve import budget
from cpuplan.solve.budget import Effort
from cpuplan.upstream.kubelet.kubelet import Node
from cpuplan.upstream.kubelet.sysinfo import assumes_memory
from cpuplan.upstream.kubernetes.errors import HangError, KubeletError, PanicError
from cpuplan.upstream.kubernetes.fit import pod_requests
from cpuplan.upstream.kubernetes.pod import CPU, Pod, Resources
from cpuplan.upstream.kubernetes.quantity import ZERO
from cpuplan.workers import HERE, Workers
from cpuplan.workers.calls import results_of


class Simulated(NamedTuple):
    """Nodes of one class that come out alike, and what became of the pods."""

    plan: ConfiguredPlan
    nodes: tuple[str, ...]
    outcome: NodeOutcome


def number_of_nodes(simulated: Iterable[Simulated]) -> int:
    """The nodes of several classes."""
    return sum(len(same.nodes) for same in simulated)


class Nowhere(NamedTuple):
    """A pod that no node admits: the last node of each class, and how it refuses the pod."""

    refusals: tuple[tuple[str, Outcome], ...]

    @property
    def node(self) -> str:
        """The last node of all."""
        return self.refusals[-1][0]

    @property
    def outcome(self) -> Outcome:
        """The pod's outcome on that node."""
        return self.refusals[-1][1]

    @property
    def is_unknown(self) -> bool:
        """Whether a node may have room that was not asked any more."""
        return any(outcome.is_unknown for _, outcome in self.refusals)


class Result(NamedTuple):
    """All nodes, and the pods that no node admits."""

    nodes: tuple[Simulated, ...]
    nowhere: tuple[Nowhere, ...] = ()

    @property
    def refuses(self) -> bool:
        """Whether a pod was refused: by a node that it was for, or by every node."""
        own = [outcome for node in self.nodes for outcome in node.outcome.outcomes]
        if any(outcome.refused and not outcome.is_unknown for outcome in own):
            return True
        return any(not pod.is_unknown for pod in self.nowhere)

    @property
    def is_complete(self) -> bool:
        """Whether the limit of work was not reached."""
        if any(node.outcome.remainder.limit for node in self.nodes):
            return False
        own = [outcome for node in self.nodes for outcome in node.outcome.outcomes]
        unknown = [outcome.is_unknown for outcome in own]
        return not any(unknown + [pod.is_unknown for pod in self.nowhere])


Chosen = Iterable[tuple[ConfiguredPlan, Sequence[str]]]


def is_single(chosen: Chosen) -> bool:
    """Whether it is one node, which gets all pods in order."""
    return sum(len(names) for _, names in chosen) == 1


class Starter(NamedTuple):
    """How nodes start: with which allocator, state files, further resources, in which clusters."""

    start: Start
    state: Node = Node()
    given: Given = Given()
    #: The limit of work on the nodes of a class, in seconds; None for the default.
    seconds: float | None = None
    around: Surroundings | None = None

    def __call__(self, plan: ConfiguredPlan) -> Allocator:
        """A node of a class; CpuplanError where the kubelet does not start."""
        try:
            facts = planned(plan, self.around)
            plugins = self.given.on(facts.plugins)
            facts = facts._replace(resources=self.given.amounts, plugins=plugins)
            text, is_assumed = self.state.memory_state, assumes_memory(plan.topology)
            facts, _ = with_recorded_memory(facts, text, is_assumed=is_assumed)
            return self.start(facts, self.state)
        except (KubeletError, HangError, PanicError) as error:
            of = plan.node_class
            problem = diagnose("CP701", name=of.name, cluster=of.cluster, problem=error)
            raise CpuplanError([problem]) from None


#: Names in a line before the others are only counted.
_MOST_NAMES = 4


def full_name(pod: Pod) -> str:
    """`namespace/name`; the UID of a pod that only a state file knows."""
    return f"{pod.namespace}/{pod.name}" if pod.namespace else pod.name


def listed_names(names: Sequence[str]) -> str:
    """`a, b, c, d and 9 more`, in the order of the names; of many names, ranges: `w[0-99]`."""
    if len(names) <= _MOST_NAMES:
        return text.listed(names, _MOST_NAMES)
    return text.listed(fold_names(names), _MOST_NAMES)


Answer = TypeVar("Answer")
#: What may be wrong with a class, or with what is asked of its nodes.
_ERRORS = (CpuplanError, UnfitError, UnknownPodError)


def on_each(
    plans: Chosen,
    items: Iterable[Item],
    start: Starter,
    ending: Collection[str] = (),
    workers: Workers = HERE,
) -> Result:
    """All pods, in order, on every node.

    The nodes of a class are equal, so one of them stands for all.
    """
    chosen = list(plans)
    arrival = _Arrival([item.pod for item in items], start, ending)
    outcomes = _per_class("pods", arrival, [plan for plan, _ in chosen], NodeOutcome, workers)
    pairs = zip(chosen, outcomes, strict=True)
    return Result(tuple(Simulated(plan, tuple(names), of) for (plan, names), of in pairs))


@dataclass(frozen=True)
class _Arrival:
    """All pods, in order, on a node that starts; then some of them end."""

    pods: Sequence[Pod]
    start: Starter
    ending: Collection[str]

    def __call__(self, plan: ConfiguredPlan) -> NodeOutcome:
        with budget.simulated(self.start.seconds):
            return admission.run(self.start(plan), self.pods, self.ending)


def any_order_on_each(
    plans: Sequence[ConfiguredPlan],
    items: Iterable[Item],
    start: Starter,
    workers: Workers = HERE,
) -> list[admission.Answer]:
    """Whether all pods are admitted in every order of arrival, on a node of each class."""
    question = _Orders([item.pod for item in items], start)
    return list(_per_class("orders of arrival", question, plans, admission.Answer, workers))


@dataclass(frozen=True)
class _Orders:
    """All orders of some pods on a node that starts."""

    pods: Sequence[Pod]
    start: Starter

    def __call__(self, plan: ConfiguredPlan) -> admission.Answer:
        with budget.simulated(self.start.seconds):
            return admission.any_order(self.start(plan), self.pods)


def _per_class(
    what: str,
    function: Callable[[ConfiguredPlan], Answer],
    plans: Sequence[ConfiguredPlan],
    kind: type[Answer],
    workers: Workers = HERE,
) -> Iterator[Answer]:
    """What a function, which can be sent, makes of each class; `what` is told as progress.

    The first error in the order of the classes is raised, whoever meets one first.
    """
    made = zip(plans, results_of(function, plans, workers, _ERRORS, kind), strict=True)
    for _, answer in follow(what, len(plans), made, lambda pair: pair[0].node_class.full_name):
        yield answer


def spread(plans: Chosen, items: Iterable[Item], start: Starter) -> Result:
    """DaemonSets on every node, any other pod on the first node of the plan that admits it.

    A scheduler that ranks nodes binds it to the best one, and its kubelet has the last word.
    """
    nodes = list(_nodes(plans, start))
    last = {node.moment.of: node for node in nodes}
    nowhere = []
    given = list(items)
    for item in follow("pods", len(given), given, lambda item: full_name(item.pod)):
        offer = _Offer(item.pod)
        if item.on_each_node:
            for node in nodes:
                node.keep(node.admit(offer))
        elif not _bind(nodes, offer):
            nowhere.append(
                Nowhere(tuple((node.name, node.refusal(offer)) for node in last.values()))
            )
    told = follow("nodes", len(nodes), nodes, lambda node: node.name)
    return Result(tuple(node.finish() for node in told), tuple(nowhere))


def _nodes(plans: Chosen, start: Starter) -> Iterator["_Node"]:
    """The nodes before any pod has come."""
    chosen = list(plans)
    told = follow("classes", len(chosen), chosen, lambda pair: pair[0].node_class.full_name)
    for plan, names in told:
        of = _Class(plan, start(plan), Effort(start.seconds))
        yield from (_Node(of, name) for name in names)


def _bind(nodes: Sequence["_Node"], offer: "_Offer") -> bool:
    """Whether a node has taken the pod, or its kubelet has refused what the scheduler sent there.

    Of nodes with the same score the first one is taken; a scheduler takes any of them.
    """
    if not any(isinstance(node.moment.of.allocator, Ranking) for node in nodes[:1]):
        return not all(node.refuses(offer) for node in nodes)
    scores = [(score, node) for node in nodes if (score := node.score(offer)) is not None]
    if scores:
        best = max(score for score, _ in scores)
        node = next(node for score, node in scores if score == best)
        node.keep(node.admit(offer))
    return bool(scores)


class _Offer:
    """A pod that is offered to nodes, and what is computed once for all of them."""

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self._stored: dict[_Class, Pod] = {}
        self._requests: dict[_Class, _Requests] = {}
        self._kinds: dict[_Class, Hashable] = {}

    def stored(self, of: "_Class") -> Pod:
        """The pod as the API server of a class of nodes stores it."""
        if of not in self._stored:
            self._stored[of] = admission.stored(self.pod, of.allocator)
        return self._stored[of]

    def kind(self, of: "_Class") -> Hashable:
        """What the allocator of a class of nodes sees of the pod."""
        if of not in self._kinds:
            self._kinds[of] = admission.kind_of(self.stored(of), of.allocator)
        return self._kinds[of]

    def requests(self, of: "_Class") -> "_Requests":
        """The requests of the pod as a class of nodes sees them."""
        if of not in self._requests:
            requests = pod_requests(self.stored(of), of.allocator.gates)
            self._requests[of] = _Requests(requests.get(CPU, ZERO).milli, requests)
        return self._requests[of]


class _Requests(NamedTuple):
    """The requests of a pod, and that of CPU in thousandths."""

    cpu: int
    resources: Resources


class _Class:
    """The nodes of a plan share one allocator, which goes from moment to moment."""

    def __init__(self, plan: ConfiguredPlan, allocator: Allocator, limit: Effort) -> None:
        self.plan, self.allocator, self.limit = plan, allocator, limit
        self.start = _Moment(self, allocator.take(), ())


class _Moment:
    """The state of all nodes of a class that got the same kinds of pods in the same order.

    What comes next is computed once.
    """

    def __init__(self, of: _Class, state: Any, outcomes: tuple[Outcome, ...]) -> None:
        self.of, self.state, self.outcomes = of, state, outcomes
        self._next: dict[Hashable, tuple[Admission, _Moment]] = {}
        self._scores: dict[Hashable, int | None] = {}

    def score(self, offer: _Offer) -> int | None:
        """How the scheduler ranks the nodes for a pod; None without a scheduler that does."""
        kind, allocator = offer.kind(self.of), self.of.allocator
        if kind not in self._scores and isinstance(allocator, Ranking):
            allocator.restore(self.state)
            self._scores[kind] = allocator.rank(offer.stored(self.of))
        return self._scores.get(kind)

    def offer(self, offer: _Offer) -> tuple[Admission, "_Moment"]:
        """What becomes of one more pod, and the moment after it."""
        kind = offer.kind(self.of)
        known = self._next.get(kind)
        if known is None:
            allocator = self.of.allocator
            allocator.restore(self.state)
            stored = offer.stored(self.of)
            with budget.holding(self.of.limit):
                admitted = admission.offer(allocator, stored)
            after = self if admitted.refused else self._after(stored, admitted)
            known = self._next[kind] = (admitted, after)
        return known

    def _after(self, pod: Pod, admitted: Admission) -> "_Moment":
        allocator = self.of.allocator
        outcome = admission.outcome(allocator, pod, admitted)
        return _Moment(self.of, allocator.take(), (*self.outcomes, outcome))

    @cached_property
    def outcome(self) -> NodeOutcome:
        """The outcome of a node that has come here, with the pods that came first."""
        allocator = self.of.allocator
        allocator.restore(self.state)
        placed = tuple(admission.place(allocator, outcome) for outcome in self.outcomes)
        with budget.holding(self.of.limit):
            return NodeOutcome(placed, admission.remainder(allocator))


class _Node:
    """A node while pods arrive: its moment, its pods, and the refused pods of DaemonSets."""

    def __init__(self, of: _Class, name: str) -> None:
        self.name, self.moment = name, of.start
        self.pods: list[Pod] = []
        self.load = Load()
        self.free_cpu = of.allocator.kubelet.allocatable[CPU].milli
        self.refused: list[Outcome] = []
        self.end: Admission | None = None

    def refuses(self, offer: _Offer) -> bool:
        """Whether the node does not take the pod, which the scheduler filters first.

        The kubelet repeats the filter, but only after it has allocated CPUs and memory.
        """
        return self._lacks(offer) or self.admit(offer) is not None

    def score(self, offer: _Offer) -> int | None:
        """The scheduler's score; None where it filters the node out."""
        return None if self.end or self._lacks(offer) else self.moment.score(offer)

    def _lacks(self, offer: _Offer) -> bool:
        """Whether less is left than the pod requests."""
        requests = offer.requests(self.moment.of)
        if requests.cpu > self.free_cpu:  # of what follows too, but most nodes end here
            return True
        return not self.load.fits(requests.resources, self.moment.of.allocator.kubelet.allocatable)

    def admit(self, offer: _Offer) -> Outcome | None:
        """Admit the pod, or say why not."""
        admitted, after = (self.end, self.moment) if self.end else self.moment.offer(offer)
        if not admitted.refused:
            self.moment = after
            self.pods.append(offer.pod)
            requests = offer.requests(self.moment.of)
            self.load = self.load.plus(requests.resources)
            self.free_cpu -= requests.cpu
            return None
        if admitted.refused.reason in ENDS:
            self.end = admitted
        return admission.outcome(self.moment.of.allocator, offer.pod, admitted)

    def refusal(self, offer: _Offer) -> Outcome:
        """The kubelet's words for a pod that the node does not take."""
        admitted = self.end or self.moment.offer(offer)[0]
        return admission.outcome(self.moment.of.allocator, offer.pod, admitted)

    def keep(self, refused: Outcome | None) -> None:
        """Remember a refusal."""
        if refused:
            self.refused.append(refused)

    def finish(self) -> Simulated:
        """What became of the node: as of those that took its way before, with its own pods."""
        reached = self.moment.outcome
        own = {
            outcome.pod.uid: pod for outcome, pod in zip(reached.outcomes, self.pods, strict=True)
        }
        outcomes = tuple(
            outcome._replace(pod=own[outcome.pod.uid], moves=tuple(_renamed(outcome.moves, own)))
            for outcome in reached.outcomes
        )
        remainder = _remainder(reached.remainder, own, ended=self.end is not None)
        outcome = NodeOutcome((*outcomes, *self.refused), remainder)
        return Simulated(self.moment.of.plan, (self.name,), outcome)


def _renamed(moves: Iterable[Move], own: dict[str, Pod]) -> Iterable[Move]:
    return (move._replace(pod=own[move.pod].uid) for move in moves)


def _remainder(remainder: Remainder, own: dict[str, Pod], *, ended: bool) -> Remainder:
    """The same with the node's own pods."""
    overlap = remainder.overlap
    if overlap:
        other = overlap.other and own[overlap.other].uid
        overlap = overlap._replace(pod=own[overlap.pod].uid, other=other)
    again = tuple((pod and own[pod.uid], refused) for pod, refused in remainder.after_restart)
    left = None if ended else remainder.left
    return remainder._replace(left=left, overlap=overlap, after_restart=again)


#: What distinguishes the pods of one workload.
_ORDINAL = re.compile(r"-\d+\Z")


class Refused(NamedTuple):
    """Pods of one workload that no node admits: the first one, and how many there are."""

    first: Nowhere
    number: int = 1


def groups_of_nodes(nodes: Iterable[Simulated], *, across_classes: bool) -> tuple[Simulated, ...]:
    """Groups of nodes that have as many pods of the same workloads on the same CPUs.

    The pods of a group are those of its first node.

    `across_classes` takes nodes of several classes together, named with their cluster where it
    differs.
    """
    groups: dict[Hashable, list[Simulated]] = {}
    for node in nodes:
        of = node.plan.node_class
        own = None if across_classes else of.key
        groups.setdefault((own, _form(node)), []).append(node)
    return tuple(map(_together, groups.values()))


def _together(group: list[Simulated]) -> Simulated:
    first, *others = group
    if not others:
        return first
    several = len({node.plan.node_class.cluster for node in group}) > 1
    names = (
        f"{node.plan.node_class.cluster}/{name}" if several else name
        for node in group
        for name in node.nodes
    )
    return first._replace(nodes=tuple(names))


def _form(node: Simulated) -> Hashable:
    """The printed facts of a node, without its name and the numbers of its pods."""
    remainder = node.outcome.remainder
    again = tuple((pod and workload_of(pod), refused) for pod, refused in remainder.after_restart)
    cpu = remainder.overlap and remainder.overlap.cpu
    return (
        *map(_outcome, node.outcome.outcomes),
        repr(remainder.left),
        remainder.shared_pool,
        again,
        cpu,
        tuple(code for code, _ in remainder.findings),
    )


def _outcome(outcome: Outcome) -> Hashable:
    moves = tuple((move.container, move.old, move.new) for move in outcome.moves)
    return (
        workload_of(outcome.pod),
        outcome.qos,
        outcome.containers,
        outcome.refused,
        moves,
        outcome.is_exact,
        outcome.undetermined,
    )


def workload_of(pod: Pod) -> tuple[str, str]:
    """Namespace and name of the owner of a pod, as far as its name shows it."""
    return pod.namespace, _ORDINAL.sub("", pod.name)


def refused_workloads(result: Result) -> list[Refused]:
    """The pods that no node admits, those of one workload with the same reasons together."""
    groups: dict[Hashable, Refused] = {}
    for pod in result.nowhere:
        key = tuple((node, _outcome(outcome)) for node, outcome in pod.refusals)
        known = groups.get(key)
        groups[key] = known._replace(number=known.number + 1) if known else Refused(pod)
    return list(groups.values())
