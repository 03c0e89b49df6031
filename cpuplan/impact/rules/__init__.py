"""What each platform does when what was compiled for its nodes changes: a rule with its source."""

from collections.abc import Iterator

from cpuplan.impact.impact import Step
from cpuplan.impact.sides import Pair, Side


def steps(pair: Pair, before: Side, after: Side) -> Iterator[Step]:
    """What happens to the nodes of a pair, in the order in which it happens."""
    raise NotImplementedError
