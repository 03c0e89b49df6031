"""The rules and aims as a CP-SAT model: the only package that knows the solver.

The result is unique by construction, whatever the solver does: each aim is proven best, and of all
layouts that reach the aims the canonical one is taken, which is proven too. Where the limit ends
before that, the result depends on the release of the solver, and on nothing else. `engine` imports
the solver when it is first called.
"""

from collections.abc import Sequence
from itertools import chain

from cpuplan.base.cpuset import CpuSet
from cpuplan.diagnostics import Reason
from cpuplan.solve import effort, goals
from cpuplan.solve.constraints import Amount, distinguished
from cpuplan.solve.effort import UndecidedError
from cpuplan.solve.goals import Aim, Gap
from cpuplan.solve.kinds import Ways, kinds_of
from cpuplan.solve.layout import slots_of
from cpuplan.solve.model import answers, divided
from cpuplan.solve.model.aims import reach
from cpuplan.solve.model.answers import Best
from cpuplan.solve.model.bounds import Bounds
from cpuplan.solve.model.canonical import layout_of, placed, rows, settle
from cpuplan.solve.model.cliques import keep_apart
from cpuplan.solve.model.counts import Counts
from cpuplan.solve.model.demands import demand, first_of, held
from cpuplan.solve.model.division import Division, division_of
from cpuplan.solve.model.nearest import Loose, Number
from cpuplan.solve.model.nearest import nearest as nearest_numbers
from cpuplan.solve.model.nested import nest
from cpuplan.solve.portions import Share
from cpuplan.solve.rules.rule import Problem, Rule

#: What each way to use a kind of cores takes, in units of the limit, where a layout is found.
_PATTERN = 2e-5
#: What each pair of ways to use a thread takes, which rules keep apart or do not.
_PAIR = 1e-6


def best(problem: Problem, aims: Sequence[Aim]) -> Best | None:
    """The best layout, by the aims in their order; None if the rules contradict each other.

    Raises UndecidedError where the limit ends before there is a layout, or a proof that none is.
    """
    return answers.answer(problem, aims, _best)


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
    return int(max(effort.current().left, 0) / _PATTERN)


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
    kinds = kinds_of(problem.topology, distinguished(constraints), ())
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
    effort.current().check()
    constraints = [constraint for rule in problem.rules for constraint in rule.constraints]
    optional = option.constraints if option else ()
    sets = [distinguished((*constraints, *optional)), *map(goals.sets_of, aims)]
    divisions = [getattr(statement, "cores", ()) for statement in (*constraints, *optional, *aims)]
    kinds = kinds_of(
        problem.topology, chain.from_iterable(sets), dict.fromkeys(filter(None, divisions))
    )
    structure = [
        constraint for constraint in optional if not isinstance(constraint, Amount | Share)
    ]
    ways = Ways(slots_of(problem.names), [*constraints, *structure], _most_patterns())
    effort.current().spend(_PAIR * ways.pairs)
    sizes = [constraint for constraint in constraints if isinstance(constraint, Amount)]
    patterns = [ways.of(kind) for kind in kinds]
    effort.current().must_have(_PATTERN * sum(map(len, patterns)))
    counts = Counts(kinds, patterns, sizes)
    everything = [*constraints, *structure]
    for constraint in everything:
        demand(counts, constraint)
    bounds = Bounds(counts, everything)
    keep_apart(counts, bounds, everything)
    return counts, bounds
