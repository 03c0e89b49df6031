"""Manifests on nodes: all of them on every node, or each on the first node that admits it."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.plan import NodePlan
from cpuplan.simulate import admission
from cpuplan.simulate.admission import NodeOutcome, Outcome, Overlap, Refusal
from cpuplan.simulate.kubelet import Kubelet, Node
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.planned import Planned, planned


class Simulated(NamedTuple):
    """Nodes of one class that come out alike, what became of the pods, and the first overlap, if there is one."""

    plan: NodePlan
    nodes: tuple[str, ...]
    outcome: NodeOutcome
    overlap: Overlap | None = None


class Result(NamedTuple):
    """All nodes; and the pods that no node admits, with the refusal by the last one that was asked."""

    nodes: tuple[Simulated, ...]
    nowhere: tuple[tuple[Outcome, str], ...] = ()

    @property
    def is_fine(self) -> bool:
        """Whether nothing was refused."""
        return not self.nowhere and not any(each.refused for node in self.nodes for each in node.outcome.outcomes)


def on_each(plans: Iterable[tuple[NodePlan, Sequence[str]]], items: Iterable[Item], state: Node) -> Result:
    """All pods, in order, on every node: those of a class are equal, so one of them stands for all."""
    pods = [item.pod for item in items]
    nodes = []
    for plan, names in plans:
        facts = planned(plan)
        kubelet = admission.start(facts, state)
        outcomes = admission.run(kubelet, pods)
        found = admission.overlap(kubelet)
        nodes.append(Simulated(plan, tuple(names), _finish(plan, facts, kubelet, outcomes), found))
    return Result(tuple(nodes))


class _Node:
    """A node of a fleet while pods come; `refused` are the kinds of pods that it cannot take any more."""

    def __init__(self, plan: NodePlan, name: str, facts: Planned) -> None:
        self.plan, self.name, self.facts = plan, name, facts
        self.kubelet = facts.start()
        self.outcomes: list[Outcome] = []
        self.refused: dict[str, Refusal] = {}
        self.came: list[str] = []  # the kinds of pods that were admitted

    def offer(self, item: Item, kind: str) -> Refusal | None:
        """Admit the pod. What was refused before stays so until something else was admitted."""
        if refused := self.refused.get(kind):
            return refused
        pod = admission.prepared(self.kubelet, item.pod)
        refused = admission.admit(self.kubelet, pod)
        if refused:
            self.refused[kind] = refused
            return refused
        self.refused.clear()
        self.came.append(kind)
        self.outcomes.append(admission.outcome(self.kubelet, pod, None))
        return None


def spread(plans: Iterable[tuple[NodePlan, Sequence[str]]], items: Iterable[Item]) -> Result:
    """DaemonSets on every node, any other pod on the first node, in the order of the plan, that admits it."""
    nodes = []
    for plan, names in plans:
        facts = planned(plan)
        nodes += [_Node(plan, name, facts) for name in names]
    nowhere = []
    for item in items:
        kind = repr(item.pod._replace(uid="", name="", namespace="", annotations={}))
        if item.on_each_node:
            for node in nodes:
                if refused := node.offer(item, kind):
                    node.outcomes.append(admission.outcome(node.kubelet, item.pod, refused))
            continue
        last = None
        for node in nodes:
            if not (refused := node.offer(item, kind)):
                break
            last = (admission.outcome(node.kubelet, item.pod, refused), node.name)
        else:
            nowhere += [last] if last else []
    return Result(tuple(_finish_all(nodes)), tuple(nowhere))


def _finish_all(nodes: Iterable[_Node]) -> Iterator[Simulated]:
    """Nodes of one class to which the same kinds of pods came in the same order have as much left."""
    known: dict[Hashable, NodeOutcome] = {}
    for node in nodes:
        outcomes = tuple(admission.placed(node.kubelet, each) for each in node.outcomes)
        found = admission.overlap(node.kubelet)
        key = (id(node.plan), *node.came)
        alike = known.get(key)
        if alike is None or alike.after_restart or found:
            alike = known[key] = _finish(node.plan, node.facts, node.kubelet, outcomes)
        yield Simulated(node.plan, (node.name,), alike._replace(outcomes=outcomes), found)


def _finish(plan: NodePlan, facts: Planned, kubelet: Kubelet, outcomes: Iterable[Outcome]) -> NodeOutcome:
    """What is left, and what a restart would do. OpenShift's unit removes the state files before each start."""
    came = tuple(outcomes)
    ended = any(each.refused and each.refused.reason in admission.ENDS for each in came)
    restarts = not ended and plan.node_class.target.platform != "openshift"
    default = kubelet.cpus.state.default or kubelet.machine.cpus
    left = None if ended else admission.left(kubelet)
    return NodeOutcome(came, left, default, tuple(admission.restart(facts, kubelet)) if restarts else ())
