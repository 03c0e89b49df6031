"""What became of pods on the nodes of a fleet."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate.admission import NodeOutcome, Outcome


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
    def is_fine(self) -> bool:
        """Whether nothing was refused, and everything was simulated."""
        return self.is_complete and not self.refuses

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
