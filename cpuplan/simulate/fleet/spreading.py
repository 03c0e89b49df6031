"""Pods on the nodes of a fleet: each on the first node that admits it, or on the best one."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from cpuplan.base.progress import follow
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import admission, apiserver
from cpuplan.simulate.admission import NodeOutcome, Outcome
from cpuplan.simulate.allocators.base import ENDS, Admission, Allocator, Move, Ranking, Remainder
from cpuplan.simulate.fleet.results import Chosen, Nowhere, Result, Simulated
from cpuplan.simulate.fleet.starting import Starter
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.names import full_name
from cpuplan.simulate.scheduling import Load
from cpuplan.solve import effort
from cpuplan.solve.effort import Effort
from cpuplan.upstream.kubernetes.fit import pod_requests
from cpuplan.upstream.kubernetes.pod import CPU, Pod, Resources
from cpuplan.upstream.kubernetes.quantity import ZERO


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
        self._requests: dict[_Class, _Requests] = {}
        self._kinds: dict[_Class, Hashable] = {}

    def kind(self, of: "_Class") -> Hashable:
        """What the allocator of a class of nodes sees of the pod."""
        if of not in self._kinds:
            self._kinds[of] = admission.kind_of(self.pod, of.allocator)
        return self._kinds[of]

    def requests(self, of: "_Class") -> "_Requests":
        """The requests of the pod as a class of nodes sees them."""
        if of not in self._requests:
            gates = of.allocator.gates
            requests = pod_requests(apiserver.store(self.pod, gates), gates)
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
            self._scores[kind] = allocator.rank(apiserver.store(offer.pod, allocator.gates))
        return self._scores.get(kind)

    def offer(self, offer: _Offer) -> tuple[Admission, "_Moment"]:
        """What becomes of one more pod, and the moment after it."""
        kind = offer.kind(self.of)
        known = self._next.get(kind)
        if known is None:
            allocator = self.of.allocator
            allocator.restore(self.state)
            stored = apiserver.store(offer.pod, allocator.gates)
            with effort.holding(self.of.limit):
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
        with effort.holding(self.of.limit):
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
