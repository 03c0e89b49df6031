"""Why there is no layout: smallest sets of statements that contradict each other.

Knows no solver and no statement, only a test of which of them hold together. As U. Junker's
QuickXplain (AAAI 2004) it looks for the statement that tips the balance by halving, so that many
statements need few tests; and whether fewer contradict each other too it finds as A. Ignatiev et
al. do (CP 2015, "Smallest MUS extraction with minimal hitting set dualization").
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

Statement = TypeVar("Statement")


#: What is said of a conflict that is not known to be the smallest.
IN_ITSELF = " (a smallest set in itself: whether fewer statements contradict each other was not looked at to the end)"


class Conflict(NamedTuple, Generic[Statement]):
    """Statements that cannot hold together, and can without any one of them."""

    statements: list[Statement]
    #: No fewer statements contradict each other; False: so many tests that nobody waits for would
    #: tell.
    is_smallest: bool


class Trials(Generic[Statement]):
    """Asks which statements hold together, as often as is allowed.

    `example` shows something for which some statements hold, or None; `holds` tells whether a
    further one does.
    """

    def __init__(
        self,
        example: Callable[[Sequence[Statement]], object | None],
        holds: Callable[[Statement, object], bool],
        most: int,
    ) -> None:
        self._example, self._holds = example, holds
        self.left = most

    def feasible(self, some: Sequence[Statement]) -> bool:
        """Can they hold together? This does not count."""
        return self._example(some) is not None

    def holding(self, statements: Sequence[Statement], chosen: set[int]) -> set[int] | None:
        """The numbers of `statements` that hold where the chosen ones do; None if these cannot hold
        together.
        """
        self.left -= 1
        example = self._example([statements[number] for number in sorted(chosen)])
        if example is None:
            return None
        return chosen | {
            number for number, each in enumerate(statements) if self._holds(each, example)
        }


def minimal(
    statements: Sequence[Statement], feasible: Callable[[Sequence[Statement]], bool]
) -> list[Statement]:
    """Of statements that cannot hold together, some that cannot either, and can without any one of
    them.

    Where there is a choice the first ones are kept.
    """
    kept: list[Statement] = []
    remaining = list(statements)
    while True:
        # how many of the remaining ones it takes beside the kept ones
        least, most = 0, len(remaining)
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


def smallest(statements: Sequence[Statement], tests: Trials[Statement]) -> Conflict[Statement]:
    """Of statements that cannot hold together, as few as possible that cannot either.

    Of several such sets the one that `minimal` finds, if it is one. Looking for fewer statements
    ends with the tests.
    """
    found = minimal(statements, tests.feasible)
    lacking: list[set[int]] = []  # without one of each of these, the others hold together
    size = 0
    while len(found) > 1:
        while size < len(found) and (chosen := _hitting(lacking, size)) is None:
            size += 1
        if size == len(found):
            break
        if tests.left <= 0:
            return Conflict(found, is_smallest=False)
        held = tests.holding(statements, chosen or set())
        if held is None:
            return Conflict(
                [statements[number] for number in sorted(chosen or ())], is_smallest=True
            )
        lacking.append(set(range(len(statements))) - _grown(statements, held, tests))
    return Conflict(found, is_smallest=True)


def _grown(statements: Sequence[Statement], held: set[int], tests: Trials[Statement]) -> set[int]:
    """Statements that hold together, with as many more as can be added one by one."""
    for number in range(len(statements)):
        if number not in held and tests.left > 0:
            held = tests.holding(statements, {*held, number}) or held
    return held


def _hitting(sets: Sequence[set[int]], size: int) -> set[int] | None:
    """So many numbers at most of which each set has one; None if there are none such."""

    def extend(chosen: set[int]) -> set[int] | None:
        missed = next((some for some in sets if not some & chosen), None)
        if missed is None:
            return chosen
        if len(chosen) == size:
            return None
        return next(filter(None, (extend(chosen | {number}) for number in sorted(missed))), None)

    return extend(set())


def disjoint(
    statements: Sequence[Statement], tests: Trials[Statement]
) -> Iterator[Conflict[Statement]]:
    """Smallest conflicts that have no statement in common, until what remains can hold together."""
    remaining = list(statements)
    while not tests.feasible(remaining):
        conflict = smallest(remaining, tests)
        yield conflict
        remaining = [statement for statement in remaining if statement not in conflict.statements]
