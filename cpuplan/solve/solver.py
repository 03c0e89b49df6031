"""Who gets which CPUs: solve a class, judge a layout, and give the reasons of one."""

from collections.abc import Callable, Mapping

from cpuplan.cpuset import EMPTY, CpuSet
from cpuplan.diagnostics import CpuplanError, errors
from cpuplan.plan import NodeClass, NodePlan, Pool
from cpuplan.solve import goals, statements
from cpuplan.solve.rules import Layout, Problem, problem_of
from cpuplan.source import Position


def solve(node_class: NodeClass, locate: Callable[[str], Position | None]) -> NodePlan:
    """The best layout of a class, the same for the same input everywhere.

    Raises CpuplanError when no layout satisfies all rules: for each conflict, the smallest set of statements that
    contradict each other and a change that was tried.
    """
    from cpuplan.solve import model

    if problems := errors(statements.check(node_class, locate)):
        raise CpuplanError(problems)
    problem = problem_of(node_class)
    layout = model.layout(problem, goals.GOALS)
    if layout is None:
        from cpuplan.solve import failure

        raise CpuplanError(failure.diagnostics(node_class, problem, locate))
    return explain(node_class, layout)


def verify(node_class: NodeClass, pools: Mapping[str, CpuSet]) -> bool:
    """Does a layout satisfy every rule? Needs no solver. Says nothing of whether there is a better one."""
    if errors(statements.check(node_class, lambda _origin: None)):
        return False
    problem = problem_of(node_class)
    layout = _layout(problem, pools)
    # With this sum no CPU can be in two pools, nor any in a pool that the intent has not: the rules cover every CPU.
    return sum(map(len, pools.values())) == len(problem.topology.online) and all(
        constraint.holds(problem.topology, layout) for rule in problem.rules for constraint in rule.constraints
    )


def explain(node_class: NodeClass, pools: Mapping[str, CpuSet]) -> NodePlan:
    """The layout with its reasons: the pool's statement, the rules that bind it, the goals that can be seen in it."""
    problem = problem_of(node_class)
    layout = _layout(problem, pools)
    explained = []
    for name in problem.pools:
        because = [rule.reason for rule in problem.rules if rule.pool == name]
        explained.append(Pool(name, layout[name], (*because, *goals.reasons(problem, name, layout))))
    return NodePlan(node_class, tuple(explained))


def _layout(problem: Problem, pools: Mapping[str, CpuSet]) -> Layout:
    """The CPUs of each of the intent's pools."""
    return {name: pools.get(name, EMPTY) for name in problem.pools}
