"""Why there is no layout: smallest sets of statements that contradict each other.

Knows no solver and no statement, only a test of whether some of them can hold together. As U. Junker's QuickXplain
(AAAI 2004) it looks for the statement that tips the balance by halving, so that many statements need few tests.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Statement = TypeVar("Statement")


def minimal(statements: Sequence[Statement], feasible: Callable[[Sequence[Statement]], bool]) -> list[Statement]:
    """Of statements that cannot hold together, some that cannot either, and can without any one of them.

    Where there is a choice the first ones are kept.
    """
    kept: list[Statement] = []
    remaining = list(statements)
    while True:
        least, most = 0, len(remaining)  # how many of the remaining ones it takes beside the kept ones
        while least < most:
            middle = (least + most) // 2
            if feasible([*remaining[:middle], *kept]):
                least = middle + 1
            else:
                most = middle
        if not most:
            return kept
        kept.insert(0, remaining[most - 1])
        remaining = remaining[: most - 1]


def disjoint(
    statements: Sequence[Statement], feasible: Callable[[Sequence[Statement]], bool]
) -> Iterator[list[Statement]]:
    """Minimal conflicts that have no statement in common, until what remains can hold together."""
    remaining = list(statements)
    while not feasible(remaining):
        conflict = minimal(remaining, feasible)
        yield conflict
        remaining = [statement for statement in remaining if statement not in conflict]
