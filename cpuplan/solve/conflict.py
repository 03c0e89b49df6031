"""Smallest sets of statements that contradict each other.

Knows no solver and no statement, only an oracle of which statements hold together. As U. Junker's
QuickXplain (AAAI 2004) it finds the statement that tips the balance by bisection, so that many
statements need few calls; that no fewer statements contradict each other is found as by A. Ignatiev
et al. (CP 2015, "Smallest MUS extraction with minimal hitting set dualization").
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, NamedTuple, TypeVar

from cpuplan.solve import budget
from cpuplan.solve.budget import UndecidedError

Statement = TypeVar("Statement")

#: Added to the message of a conflict that is not known to be the smallest.
IN_ITSELF = " (irreducible; the search for a smaller conflict was not completed)"
#: The same where not even that is known.
NOT_NARROWED = " (the search for a smaller conflict stopped at the limit: not all may be needed)"
#: For an example that is not known: no further statement holds for it.
_UNKNOWN = object()


#: In a conflict of so many statements for each call, calls find nothing smaller.
_HOPELESS = 4
#: The seconds of work in which it is proven that no smaller conflict exists, or one is found.
_SEARCH = 0.6


class Conflict(NamedTuple, Generic[Statement]):
    """Statements that cannot hold together, and can without any one of them."""

    statements: list[Statement]
    is_smallest: bool  # False: the oracle's calls ran out before fewer were ruled out
    is_irreducible: bool = True  # False: the limit ended before each was known to be needed

    @property
    def doubt(self) -> str:
        """What its message adds; nothing, as a rule."""
        if self.is_smallest:
            return ""
        return IN_ITSELF if self.is_irreducible else NOT_NARROWED


def minimal(
    statements: Sequence[Statement], feasible: Callable[[Sequence[Statement]], bool]
) -> list[Statement]:
    """A minimal part of statements that cannot hold together, which cannot either.

    Where there is a choice the first statements are kept.
    """
    kept: list[Statement] = []
    remaining = list(statements)
    while True:
        # how many of the remaining statements contradict the kept ones
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


def each_alone(statements: Sequence[Statement], _: Sequence[Statement]) -> list[list[Statement]]:
    """The statements as if none were like another one."""
    return [[statement] for statement in statements]


class Oracle(Generic[Statement]):
    """Answers which statements hold together, for a number of calls.

    `example` returns something for which the statements hold, or None; `holds` is whether a further
    statement holds for it. `first_part` finds what `minimal` does. `sorts` groups statements among
    all of which as much holds without the one as without the other.
    """

    def __init__(
        self,
        example: Callable[[Sequence[Statement]], object | None],
        holds: Callable[[Statement, object], bool],
        calls: int,
        first_part: Callable[
            [Sequence[Statement], Callable[[Sequence[Statement]], bool]], list[Statement]
        ] = minimal,
        sorts: Callable[
            [Sequence[Statement], Sequence[Statement]], list[list[Statement]]
        ] = each_alone,
    ) -> None:
        self._example, self._holds = example, holds
        self._minimal, self.sorts = first_part, sorts
        self.calls = calls
        self.is_cut = False  # the limit has ended

    def feasible(self, statements: Sequence[Statement]) -> bool:
        """Whether they can hold together; this is not counted as a call."""
        return self._ask(statements) is not None

    def _ask(self, statements: Sequence[Statement]) -> object | None:
        """An example; what the limit leaves open counts as held together, so that all is proven."""
        if not self.is_cut:
            try:
                return self._example(statements)
            except UndecidedError:
                self.calls, self.is_cut = 0, True
        return _UNKNOWN

    @contextmanager
    def searching(self) -> Iterator[None]:
        """The search for a smaller conflict, which has an end of its own before the limit's."""
        with budget.part(_SEARCH):
            yield
        self.resume()

    def resume(self) -> None:
        """Go on after a search that ended before the limit did."""
        self.is_cut = budget.current().is_over

    def minimal(self, statements: Sequence[Statement]) -> list[Statement]:
        """A minimal part of statements that cannot hold together, which cannot either."""
        return self._minimal(statements, self.feasible)

    def holding(self, statements: Sequence[Statement], chosen: set[int]) -> set[int] | None:
        """The indexes of statements that hold where the chosen ones do; None if these cannot."""
        self.calls -= 1
        example = self._ask([statements[index] for index in sorted(chosen)])
        if example is None:
            return None
        if example is _UNKNOWN:
            return chosen
        holding = {
            index for index, statement in enumerate(statements) if self._holds(statement, example)
        }
        return chosen | holding


class Memory(Generic[Statement]):
    """Remembers of which statements there was an example, and of which there is none.

    An example answers for all statements that hold for it.
    """

    def __init__(
        self,
        statements: Sequence[Statement],
        example: Callable[[Sequence[Statement]], object | None],
        holds: Callable[[Statement, object], bool],
        unfit: Sequence[Statement] = (),
    ) -> None:
        self._statements, self._example, self._holds = statements, example, holds
        self._held: list[tuple[frozenset[Statement], object]] = []
        self._unfit = [frozenset(unfit)] if unfit else []

    def example(self, statements: Sequence[Statement]) -> object | None:
        """Something for which the statements hold, or None."""
        chosen = frozenset(statements)
        for held, known in self._held:
            if chosen <= held:
                return known
        if any(chosen >= unfit for unfit in self._unfit):
            return None
        example = self._example(statements)
        if example is None:
            self._unfit.append(chosen)
        else:
            holding = filter(lambda statement: self._holds(statement, example), self._statements)
            self._held.append((chosen | frozenset(holding), example))
        return example


def smallest(statements: Sequence[Statement], oracle: Oracle[Statement]) -> Conflict[Statement]:
    """As few as possible of statements that cannot hold together, which cannot either.

    Of several such sets it is the one of `minimal`, if that is one. The search for fewer statements
    ends with the oracle's calls, and all search with the limit.
    """
    fewest = _smallest(statements, oracle)
    if oracle.is_cut and len(fewest.statements) > 1:
        return fewest._replace(is_smallest=False, is_irreducible=False)
    return fewest


def _smallest(statements: Sequence[Statement], oracle: Oracle[Statement]) -> Conflict[Statement]:
    best = oracle.minimal(statements)
    if oracle.is_cut:
        return Conflict(best, is_smallest=False)
    with oracle.searching():
        return _searched(statements, best, oracle)


def _searched(
    statements: Sequence[Statement], best: list[Statement], oracle: Oracle[Statement]
) -> Conflict[Statement]:
    """A conflict than which there is no smaller one, from one that may be it."""
    # without one of each of these, the others hold together
    lacking = _in_every_conflict(statements, best, oracle)
    if len(lacking) == len(best):
        return Conflict(best, is_smallest=True)
    if len(best) >= _HOPELESS * max(oracle.calls, 1):
        return Conflict(best, is_smallest=False)
    size = len(lacking)
    while len(best) > 1:
        chosen = _hitting(lacking, size)
        if chosen is None:
            size += 1
            if size == len(best):
                break
            continue
        if oracle.calls <= 0:
            return Conflict(best, is_smallest=False)
        held = oracle.holding(statements, chosen)
        if held is None:
            return Conflict([statements[index] for index in sorted(chosen)], is_smallest=True)
        lacking.append(set(range(len(statements))) - _grown(statements, held, oracle))
    return Conflict(best, is_smallest=True)


def _in_every_conflict(
    statements: Sequence[Statement], best: Sequence[Statement], oracle: Oracle[Statement]
) -> list[set[int]]:
    """The indexes, each in a set of its own, of statements without which all others hold together.

    Where one is not enough, there are further conflicts, and no other one is tried.
    """
    common: list[set[int]] = []
    everything = set(range(len(statements)))
    at = {statement: index for index, statement in reversed([*enumerate(statements)])}
    for sort in oracle.sorts(best, statements) if len(best) > 1 else []:
        alone = [{at[statement]} for statement in sort]
        if oracle.calls <= 0 or oracle.holding(statements, everything - alone[0]) is None:
            break
        common += alone
    return common


def _grown(statements: Sequence[Statement], held: set[int], oracle: Oracle[Statement]) -> set[int]:
    """Statements that hold together, with as many more as can be added one by one."""
    for index in range(len(statements)):
        if index not in held and oracle.calls > 0:
            held = oracle.holding(statements, {*held, index}) or held
    return held


def _hitting(sets: Sequence[set[int]], size: int) -> set[int] | None:
    """At most `size` indexes of which each set has one; None if there are none such."""

    def extend(chosen: set[int]) -> set[int] | None:
        missed = next((indexes for indexes in sets if not indexes & chosen), None)
        if missed is None:
            return chosen
        if len(chosen) == size:
            return None
        extended = (extend(chosen | {index}) for index in sorted(missed))
        return next(filter(None, extended), None)

    return extend(set())


def disjoint(
    statements: Sequence[Statement], oracle: Oracle[Statement]
) -> Iterator[Conflict[Statement]]:
    """Smallest conflicts with no statement in common, until the others can hold together."""
    remaining = list(statements)
    while not oracle.feasible(remaining):
        conflict = smallest(remaining, oracle)
        yield conflict
        oracle.resume()
        used = set(conflict.statements)
        remaining = [statement for statement in remaining if statement not in used]
