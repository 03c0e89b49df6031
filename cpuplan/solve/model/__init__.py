"""The rules and aims as a CP-SAT model: the only package that knows the solver.

The result is unique by construction, whatever the solver does: each aim is proven best, and of all
layouts that reach the aims the canonical one is taken, which is proven too. Where the limit ends
before that, the result depends on the release of the solver, and on nothing else. `engine` imports
the solver when it is first called.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.diagnostics import Reason
from cpuplan.solve import budget, goals
from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.constraints import Amount, Share, distinguished
from cpuplan.solve.core_classes import Ways, core_classes
from cpuplan.solve.goals import Aim, Gap
from cpuplan.solve.layout import slots_of
from cpuplan.solve.model import divided
from cpuplan.solve.model.aims import layout_of, placed, reach, rows, settle
from cpuplan.solve.model.bounds import Bounds, keep_apart, nest
from cpuplan.solve.model.counts import Counts, demand, first_of, held
from cpuplan.solve.model.division import Division, division_of
from cpuplan.solve.model.nearest import Loose, Number
from cpuplan.solve.model.nearest import nearest as nearest_numbers
from cpuplan.solve.rules.rule import Problem, Rule

#: Answers that are remembered; each has a layout, and the constraints that asked for it.
_MOST = 1 << 12


class Best(NamedTuple):
    """The best layout that was found, and what is not proven of it; nothing, as a rule."""

    layout: dict[str, CpuSet]
    gaps: tuple[Gap, ...]


class _Answer(NamedTuple):
    best: Best
    #: Of the limit.
    spent: float


_answers: dict[Hashable, _Answer] = {}
_are_shared: ContextVar[bool] = ContextVar("are_shared", default=False)


@contextmanager
def shared_answers() -> Iterator[None]:
    """Answers inside are remembered, and taken from those inside of others."""
    token = _are_shared.set(True)
    try:
        yield
    finally:
        _are_shared.reset(token)


def answer(
    problem: Problem,
    aims: Sequence[Aim],
    find: Callable[[Problem, Sequence[Aim]], Best | None],
) -> Best | None:
    """What `find` says; or said, where answers are shared and the limit has as much left."""
    if not _are_shared.get():
        return find(problem, aims)
    limit = budget.current()
    left = limit.left
    key = _key(problem, aims, left)
    known = _answers.get(key)
    if known is None:
        best = find(problem, aims)
        if best:
            _remember(key, _Answer(_copy(best), left - limit.left))
        return best
    limit.spend(known.spent)
    return _copy(known.best)


def _copy(best: Best) -> Best:
    return best._replace(layout=dict(best.layout))


def _key(problem: Problem, aims: Sequence[Aim], left: float) -> Hashable:
    """All that an answer depends on; the topology by its identity, as classes share it."""
    constraints = tuple(rule.constraints for rule in problem.rules)
    return problem.topology, problem.names, constraints, tuple(aims), left


def _remember(key: Hashable, answer: _Answer) -> None:
    if len(_answers) >= _MOST:
        _answers.clear()
    _answers[key] = answer


#: What each way to use a kind of cores takes, in units of the limit, where a layout is found.
_PATTERN = 2e-5
#: What each pair of ways to use a thread takes, which rules keep apart or do not.
_PAIR = 1e-6


def best(problem: Problem, aims: Sequence[Aim]) -> Best | None:
    """The best layout, by the aims in their order; None if the rules contradict each other.

    Raises UndecidedError where the limit ends before there is a layout, or a proof that none is.
    """
    return answer(problem, aims, _best)


def _best(problem: Problem, aims: Sequence[Aim]) -> Best | None:
    division = division_of(problem, aims)
    try:
        found = divided.slots(problem, aims, division) if division else None
    except divided.ContradictionError:
        return None
    if found is None:
        return _whole(problem, aims, division)
    slots, is_canonical = found
    return Best(layout_of(slots, problem.names), () if is_canonical else (Gap(None, None),))


def _whole(problem: Problem, aims: Sequence[Aim], division: Division | None) -> Best | None:
    """The best layout by one search for all parts of the machine."""
    counts, bounds = _counts(problem, aims)
    gaps = reach(counts, bounds, aims)
    if gaps is None:
        return None
    constraints = chain.from_iterable(rule.constraints for rule in problem.rules)
    nest(counts, constraints, aims)
    if division:
        is_canonical = divided.settle_whole(counts, problem, division)
    else:
        is_canonical = settle(counts, rows(counts, problem.names)).is_proven
    layout = _layout(counts, problem.names)
    return Best(layout, tuple(gaps if gaps or is_canonical else [Gap(None, None)]))


def layout(problem: Problem, aims: Sequence[Aim]) -> dict[str, CpuSet] | None:
    """The layout of `best`, where nobody asks what is proven of it."""
    found = best(problem, aims)
    return found.layout if found else None


def _most_patterns() -> int:
    """The ways to use cores that what is left of the limit allows."""
    return int(max(budget.current().left, 0) / _PATTERN)


def example(problem: Problem) -> dict[str, CpuSet] | None:
    """Some layout, the first that is found; None if the rules contradict each other."""
    counts, _ = _counts(problem)
    if not counts.solve():
        return None
    return _layout(counts, problem.names)


def _layout(counts: Counts, names: Sequence[str]) -> dict[str, CpuSet]:
    """The layout of the last solution."""
    values = [counts.value(variable) for variable in counts.variables]
    return layout_of(placed(counts.kinds, counts.ways, values), names)


def size(problem: Problem) -> int:
    """The number of unknowns; a test takes about a tenth of a millisecond for each."""
    constraints = [constraint for rule in problem.rules for constraint in rule.constraints]
    kinds = core_classes(problem.topology, distinguished(constraints), ())
    ways = Ways(slots_of(problem.names), constraints)
    return sum(len(ways.of(kind)) for kind in kinds)


def feasible(problem: Problem) -> bool:
    """Whether the rules can hold together."""
    return _counts(problem)[0].solve()


def fits(problem: Problem) -> bool:
    """Whether there is a layout, for proposals: False also where that is not known."""
    try:
        return feasible(problem)
    except UndecidedError:
        return False


def first_feasible(problem: Problem, options: Sequence[Rule]) -> int | None:
    """The index of the first rule that can be added; they differ only in numbers."""
    return first_of(_counts(problem, option=options[0])[0], options)


def most(problem: Problem, amount: Amount) -> int:
    """The most that a set can have of the scope, in the amount's unit; the rules can hold."""
    counts, _ = _counts(problem, option=Rule("", "", Reason(""), (amount,)))
    taken = held(counts, amount)
    counts.model.maximize(taken)
    counts.solve()
    return counts.value(taken)


def nearest(
    problem: Problem, numbers: Sequence[Number], amounts: Sequence[Loose]
) -> list[int] | None:
    """Other numbers, as few and as near as possible, with which the rules hold; None if none do.

    The amounts that depend on numbers are none of the rules'.
    """
    asked = tuple(loose.amount for loose in amounts)
    counts, _ = _counts(problem, option=Rule("", "", Reason(""), asked))
    return nearest_numbers(counts, numbers, amounts)


def _counts(
    problem: Problem, aims: Sequence[Aim] = (), option: Rule | None = None
) -> tuple[Counts, Bounds]:
    """The ways to use cores that aims, and perhaps the Amounts of an option, distinguish."""
    budget.current().check()
    constraints = [constraint for rule in problem.rules for constraint in rule.constraints]
    optional = option.constraints if option else ()
    sets = [distinguished((*constraints, *optional)), *map(goals.sets_of, aims)]
    divisions = [getattr(statement, "cores", ()) for statement in (*constraints, *optional, *aims)]
    kinds = core_classes(
        problem.topology, chain.from_iterable(sets), dict.fromkeys(filter(None, divisions))
    )
    structure = [
        constraint for constraint in optional if not isinstance(constraint, Amount | Share)
    ]
    ways = Ways(slots_of(problem.names), [*constraints, *structure], _most_patterns())
    budget.current().spend(_PAIR * ways.pairs)
    sizes = [constraint for constraint in constraints if isinstance(constraint, Amount)]
    patterns = [ways.of(kind) for kind in kinds]
    budget.current().must_have(_PATTERN * sum(map(len, patterns)))
    counts = Counts(kinds, patterns, sizes)
    everything = [*constraints, *structure]
    for constraint in everything:
        demand(counts, constraint)
    bounds = Bounds(counts, everything)
    keep_apart(counts, bounds, everything)
    return counts, bounds
