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


class Result(NamedTuple):
    """All nodes, and the pods that no node admits."""

    nodes: tuple[Simulated, ...]
    nowhere: tuple[Nowhere, ...] = ()

    @property
    def is_fine(self) -> bool:
        """Whether nothing was refused."""
        return not self.nowhere and not any(
            outcome.refused for node in self.nodes for outcome in node.outcome.outcomes
        )


Chosen = Iterable[tuple[ConfiguredPlan, Sequence[str]]]


def is_single(chosen: Chosen) -> bool:
    """Whether it is one node, which gets all pods in order."""
    return sum(len(names) for _, names in chosen) == 1
