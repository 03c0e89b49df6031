"""Manifests on nodes: all of them on every node, or each on the first node that admits it."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from cpuplan.kubelet import snapshot
from cpuplan.kubelet.node import Kubelet, Node
from cpuplan.kubelet.pods.pod import Pod
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import admission
from cpuplan.simulate.admission import ENDS, NodeOutcome, Outcome, Overlap, Refusal
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.planned import Planned, planned


class Simulated(NamedTuple):
    """Nodes of one class that come out alike, what became of the pods, and the first overlap, if
    there is one.
    """

    plan: ConfiguredPlan
    nodes: tuple[str, ...]
    outcome: NodeOutcome
    overlap: Overlap | None = None


class Result(NamedTuple):
    """All nodes; and the pods that no node admits, with the refusal by the last one that was
    asked.
    """

    nodes: tuple[Simulated, ...]
    nowhere: tuple[tuple[Outcome, str], ...] = ()

    @property
    def is_fine(self) -> bool:
        """Whether nothing was refused."""
        return not self.nowhere and not any(
            each.refused for node in self.nodes for each in node.outcome.outcomes
        )


Chosen = Iterable[tuple[ConfiguredPlan, Sequence[str]]]


def on_each(plans: Chosen, items: Iterable[Item], state: Node) -> Result:
    """All pods, in order, on every node: those of a class are equal, so one of them stands for
    all.
    """
    pods = [item.pod for item in items]
    nodes = []
    for plan, names in plans:
        facts = planned(plan)
        kubelet = admission.start(facts, state)
        outcomes = admission.run(kubelet, pods)
        overlap = admission.overlap(kubelet)
        nodes.append(
            Simulated(plan, tuple(names), _finish(plan, facts, kubelet, outcomes), overlap)
        )
    return Result(tuple(nodes))


class _Class:
    """The nodes of a plan share one kubelet, which goes from moment to moment."""

    def __init__(self, plan: ConfiguredPlan) -> None:
        self.plan, self.facts = plan, planned(plan)
        self.kubelet = self.facts.start()
        self.start = _Moment(self, snapshot.take(self.kubelet), ())


class _Moment:
    """Where the same kinds of pods have brought nodes of a class in the same order: what is next is
    found out once.
    """

    def __init__(self, of: _Class, state: snapshot.Snapshot, pods: tuple[Pod, ...]) -> None:
        self.of, self.state, self.pods = of, state, pods
        self.next: dict[str, _Moment | Refusal] = {}

    def offer(self, pod: Pod, kind: str) -> "_Moment | Refusal":
        """The moment after one more pod; or its refusal, which after the kubelet's end is that of
        all others too.
        """
        found = self.next.get(kind)
        if found is None:
            kubelet = self.of.kubelet
            snapshot.restore(kubelet, self.state)
            refused = admission.admit(kubelet, admission.prepared(kubelet, pod))
            found = refused or _Moment(self.of, snapshot.take(kubelet), (*self.pods, pod))
            self.next[kind] = found
        return found

    @cached_property
    def outcome(self) -> Simulated:
        """The outcome of a node that has come here, with the pods that came first."""
        kubelet = self.of.kubelet
        snapshot.restore(kubelet, self.state)
        came = (
            admission.outcome(kubelet, admission.prepared(kubelet, pod), None) for pod in self.pods
        )
        outcomes = [admission.placed(kubelet, each) for each in came]
        overlap = admission.overlap(kubelet)
        return Simulated(
            self.of.plan, (), _finish(self.of.plan, self.of.facts, kubelet, outcomes), overlap
        )


class _Node:
    """A node while pods come: where it is, the pods that it has, and the DaemonSets' that it
    refuses.
    """

    def __init__(self, of: _Class, name: str) -> None:
        self.name, self.moment = name, of.start
        self.pods: list[Pod] = []
        self.refused: list[Outcome] = []
        self.end: Refusal | None = None

    def offer(self, item: Item, kind: str) -> Refusal | None:
        """Admit the pod, or say why not."""
        if self.end:
            return self.end
        found = self.moment.offer(item.pod, kind)
        if isinstance(found, Refusal):
            self.end = found if found.reason in ENDS else None
            return found
        self.moment = found
        self.pods.append(item.pod)
        return None

    def outcome_of(self, pod: Pod, refused: Refusal) -> Outcome:
        return admission.outcome(self.moment.of.kubelet, pod, refused)

    def finish(self) -> Simulated:
        """What became of the node: as of those that took its way before, with its own pods."""
        alike = self.moment.outcome
        came = alike.outcome.outcomes
        own = tuple(each._replace(pod=pod) for each, pod in zip(came, self.pods, strict=True))
        names = {each.pod.uid: pod for each, pod in zip(came, self.pods, strict=True)}
        again = tuple(
            (names[pod.uid] if pod else None, refused)
            for pod, refused in alike.outcome.after_restart
        )
        overlap = alike.overlap
        if overlap:
            pod, other = names[overlap.pod].uid, overlap.other and names[overlap.other].uid
            overlap = overlap._replace(pod=pod, other=other)
        left = None if self.end else alike.outcome.left
        outcome = alike.outcome._replace(
            outcomes=(*own, *self.refused), left=left, after_restart=again
        )
        return Simulated(alike.plan, (self.name,), outcome, overlap)


def spread(plans: Chosen, items: Iterable[Item]) -> Result:
    """DaemonSets on every node, any other pod on the first node, in the order of the plan, that
    admits it.
    """
    nodes = []
    for plan, names in plans:
        of = _Class(plan)
        nodes += [_Node(of, name) for name in names]
    nowhere = []
    for item in items:
        kind = repr(item.pod._replace(uid="", name="", namespace="", annotations={}))
        if item.on_each_node:
            for node in nodes:
                if refused := node.offer(item, kind):
                    node.refused.append(node.outcome_of(item.pod, refused))
            continue
        refused = None
        for node in nodes:
            if not (refused := node.offer(item, kind)):
                break
        if refused:
            nowhere.append((nodes[-1].outcome_of(item.pod, refused), nodes[-1].name))
    return Result(tuple(node.finish() for node in nodes), tuple(nowhere))


def _finish(
    plan: ConfiguredPlan, facts: Planned, kubelet: Kubelet, outcomes: Iterable[Outcome]
) -> NodeOutcome:
    """What is left, and what a restart would do. OpenShift's unit removes the state files before
    each start.
    """
    came = tuple(outcomes)
    ended = any(each.refused and each.refused.reason in ENDS for each in came)
    restarts = not ended and plan.node_class.target.platform != "openshift"
    default = kubelet.cpus.state.default or kubelet.machine.cpus
    left = None if ended else admission.left(kubelet)
    return NodeOutcome(
        came, left, default, tuple(admission.restart(facts, kubelet)) if restarts else ()
    )
