"""What the next best layout would cost: solve once more with a choice forbidden, and compare what
the goals measure.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.cpuset import CpuSet, union
from cpuplan.diagnostics import Reason
from cpuplan.model.pools import QOS_SETS
from cpuplan.plan import NodePlan
from cpuplan.solve import goals
from cpuplan.solve.constraints import Constraint, Differs, Has, Within
from cpuplan.solve.goals import Aim, Moved, Parts, Smallest, SplitCores, Total
from cpuplan.solve.layout import Layout, Scope, View
from cpuplan.solve.rules import problem_of
from cpuplan.solve.rules.rule import Problem, Rule, scopes_of
from cpuplan.text import counted, joined


class Difference(NamedTuple):
    """How much worse (or better, than a layout that was kept) the next best layout is by one
    goal.
    """

    goal: str
    text: str
    is_worse: bool


class Moves(NamedTuple):
    """The CPUs that a set would lose and get."""

    name: str
    loses: CpuSet
    gets: CpuSet


class Alternative(NamedTuple):
    """The best layout without some choice, or the statements for which there is none."""

    wish: str  # what it would be like, in words
    # by the goals in their order; none where they do not tell the two apart
    differences: tuple[Difference, ...]
    moves: tuple[Moves, ...]
    # where there is no such layout: a smallest set of statements that forbid it
    conflict: tuple[Reason, ...]


def cpu_elsewhere(plan: NodePlan, cpu: int) -> Alternative | None:
    """The layout with `cpu` not in its partition, or its pool; None where it is in no pool."""
    mine = [
        each.name
        for each in (*plan.pools, *plan.sets)
        if cpu in each.cpus and each.name not in QOS_SETS
    ]
    if not mine:
        return None
    allowed = Within(mine[-1], plan.topology.online - CpuSet([cpu]))
    return _without(plan, f"CPU {cpu} not in {mine[-1]}", allowed)


def other_cpus(plan: NodePlan, names: Sequence[str]) -> Alternative:
    """The layout in which the sets have together other CPUs than now."""
    cpus = union(plan.pool(name).cpus for name in names)
    return _without(plan, f"other CPUs in {joined(names)}", Differs(tuple(names), cpus))


def other_part(plan: NodePlan, name: str) -> Alternative | None:
    """The layout with the set on none of its NUMA nodes, or caches, or sockets; None where it is on
    all of them.
    """
    cpus = plan.pool(name).cpus
    for level, word in (("numaNode", "NUMA node"), ("cache", "last-level cache")):
        parts = scopes_of(plan.topology, level)
        if taken := [part for part in parts if part.cpus & cpus]:
            allowed = union(part.cpus for part in parts if part not in taken)
            if allowed:
                numbers = CpuSet(int(part.name.rpartition(" ")[2]) for part in taken)
                wish = f"{name} not on {word}{'s' * (len(numbers) > 1)} {numbers}"
                return _without(plan, wish, Within(name, allowed))
    return None


def sets_with(plan: NodePlan, cpus: CpuSet) -> tuple[str, ...]:
    """The pools that have together just these CPUs; none if no pools do."""
    names = tuple(pool.name for pool in plan.pools if pool.cpus and pool.cpus <= cpus)
    return names if union(plan.pool(name).cpus for name in names) == cpus else ()


def _without(plan: NodePlan, wish: str, constraint: Within | Differs) -> Alternative:
    problem = problem_of(plan.node_class)
    forbidding = Rule("", "", Reason(wish), (constraint,))
    if forbidden := next((rule for rule in problem.rules if _forbids(rule, constraint)), None):
        return Alternative(wish, (), (), (forbidden.reason,))
    from cpuplan.solve import model

    asked = problem.having((*problem.rules, forbidding))
    aims = goals.aims_of(plan.node_class)
    layout = model.layout(asked, aims)
    if layout is None:
        return Alternative(wish, (), (), tuple(_conflict(asked, forbidding)))
    now = {each.name: each.cpus for each in (*plan.pools, *plan.sets)}
    return Alternative(
        wish, tuple(_differences(problem, aims, now, layout)), tuple(_moves(now, layout)), ()
    )


def _forbids(rule: Rule, constraint: Within | Differs) -> bool:
    """Does the rule list CPUs that the wish leaves out? Found without a solver, since a list is its
    own reason.
    """
    if isinstance(constraint, Within):
        return any(
            isinstance(each, Has)
            and each.name == constraint.name
            and not each.cpus <= constraint.cpus
            for each in rule.constraints
        )
    name, *others = constraint.names
    both: list[Constraint] = [Within(name, constraint.cpus), Has(name, constraint.cpus)]
    return not others and all(each in rule.constraints for each in both)


def _conflict(problem: Problem, forbidding: Rule) -> Iterator[Reason]:
    from cpuplan.solve import conflict, trials

    for rule in conflict.smallest(
        problem.rules, trials.of_rules(problem, trials.allowed(problem))
    ).statements:
        if rule is not forbidding:
            yield rule.reason


def _differences(
    problem: Problem, aims: Sequence[Aim], now: Layout, then: Layout
) -> Iterator[Difference]:
    before, after = (goals.measures(aims, View(problem.topology, layout)) for layout in (now, then))
    for aim, old, new in zip(aims, before, after, strict=True):
        if old != new:
            yield Difference(*_told(aim, old, new), is_worse=new > old)


def _told(aim: Aim, old: int, new: int) -> tuple[str, str]:
    """(goal, what it measures in both layouts)."""
    match aim:
        case Moved():
            return "fewest-moved", f"{counted(new, 'CPU')} would move, not {old}"
        case SplitCores():
            return (
                "fewest-split-cores",
                f"{counted(new, 'core')} would be split between sets, not {old}",
            )
        case Parts(name=name, scopes=scopes):
            return "locality", f"{name} would be on {counted(new, _word(scopes))}, not {old}"
        case Smallest(name=name, scopes=scopes):
            fewest = f"the {_word(scopes)} with the fewest {name} CPUs"
            return "balance", f"{fewest} would have {-new}, not {-old}"
        case Total(name=name, sign=sign):
            goal = "most-isolated" if sign < 0 else "smallest-range"
            return goal, f"{name} would have {counted(sign * new, 'CPU')}, not {sign * old}"


def _word(scopes: Sequence[Scope]) -> str:
    return scopes[0].name.rpartition(" ")[0]


def _moves(now: Layout, then: Layout) -> Iterator[Moves]:
    for name, cpus in now.items():
        if cpus != then[name]:
            yield Moves(name, cpus - then[name], then[name] - cpus)
