"""Why there is no layout: smallest sets of statements that contradict each other.

Knows no solver and no statement, only a test of whether some of them can hold together. Deletion-based, as in
CPMpy's `mus_naive` (cpmpy/tools/explain/mus.py).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Statement = TypeVar("Statement")


def minimal(statements: Sequence[Statement], feasible: Callable[[Sequence[Statement]], bool]) -> list[Statement]:
    """Of statements that cannot hold together, some that cannot either, and can without any one of them.

    Where there is a choice the first ones are kept. `feasible` is asked once for each statement.
    """
    kept = list(statements)
    for at in reversed(range(len(kept))):
        without = kept[:at] + kept[at + 1 :]
        if not feasible(without):
            kept = without
    return kept


def disjoint(
    statements: Sequence[Statement], feasible: Callable[[Sequence[Statement]], bool]
) -> Iterator[list[Statement]]:
    """Minimal conflicts that have no statement in common, until what remains can hold together."""
    remaining = list(statements)
    while not feasible(remaining):
        conflict = minimal(remaining, feasible)
        yield conflict
        remaining = [statement for statement in remaining if statement not in conflict]
