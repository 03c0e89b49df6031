"""The rules and aims as a CP-SAT model. The only package that knows the solver; `counts` imports it
when it is asked.

The result is unique by construction and not by the solver's ways: each aim is proven best, and of
all layouts that reach them the canonical one is taken, which is proven to be it.
"""

from collections.abc import Sequence
from itertools import chain

from cpuplan.cpuset import CpuSet
from cpuplan.diagnostics import Reason
from cpuplan.solve import goals
from cpuplan.solve.constraints import Amount, sets_of
from cpuplan.solve.goals import Aim
from cpuplan.solve.kinds import Ways, kinds_of
from cpuplan.solve.layout import slots_of
from cpuplan.solve.model.aims import reach
from cpuplan.solve.model.canonical import canonical, placed
from cpuplan.solve.model.counts import Counts
from cpuplan.solve.model.demands import demand, first_of, held
from cpuplan.solve.rules.rule import Problem, Rule


def layout(problem: Problem, aims: Sequence[Aim]) -> dict[str, CpuSet] | None:
    """The best layout, the aims counting in their order; None when the rules contradict each
    other.
    """
    counts = _counts(problem, aims)
    return canonical(counts, problem.names) if reach(counts, aims) else None


def example(problem: Problem) -> dict[str, CpuSet] | None:
    """Some layout, whichever is found first; None when the rules contradict each other."""
    counts = _counts(problem)
    if not counts.solve():
        return None
    return placed(counts, problem.names, [counts.value(variable) for variable in counts.variables])


def size(problem: Problem) -> int:
    """How much there is to choose, which is how long a test takes: about a tenth of a millisecond
    each.
    """
    return len(_counts(problem).variables)


def feasible(problem: Problem) -> bool:
    """Can the rules hold together?"""
    return _counts(problem).solve()


def first_feasible(problem: Problem, options: Sequence[Rule]) -> int | None:
    """The index of the first rule that can be added to the problem; they differ in numbers of
    Amounts only.
    """
    return first_of(_counts(problem, option=options[0]), options)


def most(problem: Problem, amount: Amount) -> int:
    """How much a set can have at most of the scope, in the amount's unit; the rules can hold
    together.
    """
    counts = _counts(problem, option=Rule("", "", Reason(""), (amount,)))
    taken = held(counts, amount)
    counts.model.maximize(taken)
    counts.solve()
    return counts.value(taken)


def _counts(problem: Problem, aims: Sequence[Aim] = (), option: Rule | None = None) -> Counts:
    """The ways to use cores that aims, and perhaps an option's Amounts, can tell apart, under the
    problem's rules.
    """
    constraints = [each for rule in problem.rules for each in rule.constraints]
    optional = option.constraints if option else ()
    spoken_of = (*constraints, *optional)
    sets = chain(*map(sets_of, spoken_of), *map(goals.sets_of, aims))
    divided = dict.fromkeys(
        cores for each in (*spoken_of, *aims) if (cores := getattr(each, "cores", ()))
    )
    kinds = kinds_of(problem.topology, sets, divided)
    structure = [each for each in optional if not isinstance(each, Amount)]
    ways = Ways(slots_of(problem.names), [*constraints, *structure])
    counts = Counts(kinds, [ways.of(kind) for kind in kinds])
    for constraint in constraints:
        demand(counts, constraint)
    return counts
