"""The cost of the next best layout: solved with a choice forbidden, and compared by the goals."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.text import counted, joined
from cpuplan.diagnostics import Reason
from cpuplan.language.model.pools import QOS_SETS
from cpuplan.plan import NodePlan
from cpuplan.solve import budget, conflict, feasibility, goals, model
from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.conflict import Conflict
from cpuplan.solve.constraints import Constraint, Differs, Has, Within
from cpuplan.solve.goals import Aim, Moved, Parts, Smallest, SplitCores, Total
from cpuplan.solve.layout import Layout, View
from cpuplan.solve.rules import problem_of
from cpuplan.solve.rules.placement import numbered
from cpuplan.solve.rules.rule import Problem, Rule, scopes_of


class Difference(NamedTuple):
    """How much worse the next best layout is by one goal, or better than a layout that was kept."""

    goal: str
    text: str
    is_worse: bool


class Moves(NamedTuple):
    """The CPUs that a set would lose and get."""

    name: str
    loses: CpuSet
    gets: CpuSet


class Alternative(NamedTuple):
    """The best layout without some choice, or the statements that forbid it."""

    wish: str  # the layout in words
    differences: tuple[Difference, ...] = ()  # in the order of the goals; empty if they are equal
    moves: tuple[Moves, ...] = ()
    conflict: tuple[Reason, ...] = ()  # if there is no such layout: a smallest set of statements
    is_known: bool = True  # False: the limit ended before there was a layout, or a proof of none
    is_proven: bool = True  # False: the limit ended before it was proven best, or smallest


def cpu_elsewhere(plan: NodePlan, cpu: int) -> Alternative | None:
    """The layout with `cpu` not in its partition, or its pool; None if it is in no pool."""
    sets = (pool for pool in (*plan.pools, *plan.sets) if pool.name not in QOS_SETS)
    names = [pool.name for pool in sets if cpu in pool.cpus]
    if not names:
        return None
    allowed = Within(names[-1], plan.topology.online - CpuSet([cpu]))
    return _without(plan, f"CPU {cpu} not in {names[-1]}", allowed)


def other_cpus(plan: NodePlan, names: Sequence[str]) -> Alternative:
    """The layout in which the sets have together other CPUs than now."""
    cpus = union(plan.pool(name).cpus for name in names)
    return _without(plan, f"other CPUs in {joined(names)}", Differs(tuple(names), cpus))


def other_part(plan: NodePlan, name: str) -> Alternative | None:
    """The layout with the set on other NUMA nodes, or caches; None if it is on all of them."""
    cpus = plan.pool(name).cpus
    for level, word in (("numaNode", "NUMA node"), ("cache", "last-level cache")):
        parts = scopes_of(plan.topology, level)
        taken = [part for part in parts if part.cpus & cpus]
        allowed = union(part.cpus for part in parts if part not in taken)
        if taken and allowed:
            numbers = CpuSet(int(part.name.rpartition(" ")[2]) for part in taken)
            wish = f"{name} not on {numbered(word, numbers)}"
            return _without(plan, wish, Within(name, allowed))
    return None


def _without(plan: NodePlan, wish: str, constraint: Within | Differs) -> Alternative:
    try:
        with budget.limited():
            return _solved_without(plan, wish, constraint)
    except UndecidedError:
        return Alternative(wish, is_known=False)


def _solved_without(plan: NodePlan, wish: str, constraint: Within | Differs) -> Alternative:
    problem = problem_of(plan.node_class)
    for rule in problem.rules:
        if _forbids(rule, constraint):
            return Alternative(wish, conflict=(rule.reason,))
    forbidding = Rule("", "", Reason(wish), (constraint,))
    asked = problem.having((*problem.rules, forbidding))
    aims = goals.aims_of(plan.node_class)
    best = model.best(asked, aims)
    if best is None:
        conflicting = _conflict(asked)
        because = tuple(rule.reason for rule in conflicting.statements if rule is not forbidding)
        return Alternative(wish, conflict=because, is_proven=conflicting.is_irreducible)
    now = {pool.name: pool.cpus for pool in (*plan.pools, *plan.sets)}
    differences = tuple(_differences(problem, aims, now, best.layout))
    return Alternative(wish, differences, tuple(_moves(now, best.layout)), is_proven=not best.gaps)


def _forbids(rule: Rule, constraint: Within | Differs) -> bool:
    """Whether the rule lists CPUs that the wish excludes; a list is its own reason."""
    if isinstance(constraint, Within):
        lists = (listed for listed in rule.constraints if isinstance(listed, Has))
        own = (listed.cpus for listed in lists if listed.name == constraint.name)
        return any(not cpus <= constraint.cpus for cpus in own)
    name, *others = constraint.names
    both: list[Constraint] = [Within(name, constraint.cpus), Has(name, constraint.cpus)]
    return not others and all(part in rule.constraints for part in both)


def _conflict(problem: Problem) -> Conflict[Rule]:
    tests = feasibility.oracle(problem, feasibility.most_calls(problem))
    return conflict.smallest(problem.rules, tests)


def _differences(
    problem: Problem, aims: Sequence[Aim], now: Layout, then: Layout
) -> Iterator[Difference]:
    before, after = View(problem.topology, now), View(problem.topology, then)
    for aim in aims:
        old, new = aim.measure(before), aim.measure(after)
        if old != new:
            yield Difference(*_words(aim, old, new), is_worse=new > old)


def _words(aim: Aim, old: int, new: int) -> tuple[str, str]:
    """(goal, its measures in both layouts)."""
    match aim:
        case Moved():
            return "fewest-moved", f"{counted(new, 'CPU')} would move, not {old}"
        case SplitCores():
            cores = counted(new, "core")
            return "fewest-split-cores", f"{cores} would be split between sets, not {old}"
        case Parts(name=name, scopes=scopes):
            parts = counted(new, goals.part_word(scopes))
            return "locality", f"{name} would be on {parts}, not {old}"
        case Smallest(name=name, scopes=scopes):
            fewest = f"the {goals.part_word(scopes)} with the fewest {name} CPUs"
            return "balance", f"{fewest} would have {-new}, not {-old}"
        case Total(name=name, sign=sign):
            goal = "most-isolated" if sign < 0 else "smallest-range"
            return goal, f"{name} would have {counted(sign * new, 'CPU')}, not {sign * old}"


def _moves(now: Layout, then: Layout) -> Iterator[Moves]:
    for name, cpus in now.items():
        if cpus != then[name]:
            yield Moves(name, cpus - then[name], then[name] - cpus)
