"""The rules and aims as a CP-SAT model: the only package that knows the solver.

The result is unique by construction, whatever the solver does: each aim is proven best, and of all
layouts that reach the aims the canonical one is taken, which is proven too. Where the limit ends
before that, the result depends on the release of the solver, and on nothing else. `engine` imports
the solver when it is first called.
"""

from collections.abc import Callable, Hashable, Sequence
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
from cpuplan.solve.model.counts import Counts, Expression, demand, first_of, held
from cpuplan.solve.model.division import Division, division_of
from cpuplan.solve.rules.rule import Problem, Rule

#: Shares of a number that are told apart.
_PARTS = 1000


class Number(NamedTuple):
    """A number of an intent as it is written, what it may be, and what a change of it counts."""

    written: int
    least: int
    most: int
    cost: int


class Slope(NamedTuple):
    """What an amount changes by where a number, by its index, is one more."""

    number: int
    least: int
    most: int


class Loose(NamedTuple):
    """An amount, as it is with the numbers that are written, and how it depends on them."""

    amount: Amount
    slopes: tuple[Slope, ...]


def _nearest_values(
    counts: Counts, numbers: Sequence[Number], amounts: Sequence[Loose]
) -> list[int] | None:
    """Values with which there is a layout; None if no values have one.

    As few numbers as possible are others. Of these, none changes by a larger share than it must,
    and then each in its order is as near as possible to what is written, and the larger of two.
    """
    model = counts.model
    values = [model.new_int_var(number.least, number.most, "") for number in numbers]
    moved = [value - number.written for value, number in zip(values, numbers, strict=True)]
    for loose in amounts:
        taken, amount = held(counts, loose.amount), loose.amount
        least = counts.sum(slope.least * moved[slope.number] for slope in loose.slopes)
        most = counts.sum(slope.most * moved[slope.number] for slope in loose.slopes)
        model.add(taken >= amount.least + least)
        model.add(taken <= amount.most + most)
    # All that is asked for is there before the first solution, which has a value for it.
    changes = [counts.model.new_bool_var("") for _ in numbers]
    for value, number, is_other in zip(values, numbers, changes, strict=True):
        model.add(value == number.written).only_enforce_if(~is_other)
    costs = counts.sum(
        number.cost * is_other for number, is_other in zip(numbers, changes, strict=True)
    )
    distances = [_distance(counts, *pair) for pair in zip(numbers, moved, strict=True)]
    for aim in (costs, _worst(counts, numbers, distances)):
        if not _minimise(counts, aim):
            return None
    for distance, value in zip(distances, values, strict=True):
        if counts.value(distance):
            _minimise(counts, distance)
            _minimise(counts, -value)
    return [counts.value(value) for value in values]


def _minimise(counts: Counts, aim: Expression) -> bool:
    """Make it as small as it can be; False where the rules contradict each other."""
    reached = counts.minimise(aim)
    if reached and reached.value != reached.least:
        raise UndecidedError
    return reached is not None


def _worst(
    counts: Counts, numbers: Sequence[Number], distances: Sequence[Expression]
) -> Expression:
    """The largest share of itself by which a number changes."""
    most = max(_PARTS * (number.most + number.written) for number in numbers)
    worst = counts.model.new_int_var(0, most, "")
    for number, distance in zip(numbers, distances, strict=True):
        counts.model.add(max(number.written, 1) * worst >= _PARTS * distance)
    return worst


def _distance(counts: Counts, number: Number, by: Expression) -> Expression:
    distance = counts.model.new_int_var(0, number.most + number.written, "")
    counts.model.add(distance >= by)
    counts.model.add(distance >= -by)
    return distance


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


def answer(
    problem: Problem,
    aims: Sequence[Aim],
    find: Callable[[Problem, Sequence[Aim]], Best | None],
) -> Best | None:
    """What `find` says; or said, where answers are shared and the limit has as much left."""
    if not budget.are_answers_shared.get():
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
        divided_slots = divided.slots(problem, aims, division) if division else None
    except divided.ContradictionError:
        return None
    if divided_slots is None:
        return _whole(problem, aims, division)
    slots, is_canonical = divided_slots
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
    solution = best(problem, aims)
    return solution.layout if solution else None


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
    return _nearest_values(counts, numbers, amounts)


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
