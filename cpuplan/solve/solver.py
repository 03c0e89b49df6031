"""Who gets which CPUs: solve a class, judge a layout, and give the reasons of one."""

from collections.abc import Sequence

from cpuplan.diagnostics import CpuplanError, errors
from cpuplan.model.pools import POOLS
from cpuplan.plan import NodeClass, NodePlan, Pool
from cpuplan.solve import faults, goals, statements
from cpuplan.solve.breaches import breaches
from cpuplan.solve.layout import Layout, layouts_of
from cpuplan.solve.rules import problem_of
from cpuplan.source import Locate


def solve(
    node_class: NodeClass,
    locate: Locate,
    committed: Layout | None = None,
    kin: Sequence[NodeClass] = (),
) -> NodePlan:
    """The best layout of a class, the same for the same input everywhere; near to `committed` if
    the intent says so.

    Raises CpuplanError when no layout satisfies all rules: for each conflict, a smallest set of
    statements that contradict each other and changes that were tried, on `kin` too: the other
    classes of its intent.
    """
    from cpuplan.solve import model

    if problems := errors(statements.check(node_class, locate)):
        raise CpuplanError(problems)
    problem = problem_of(node_class)
    layout = model.layout(problem, goals.aims_of(node_class, committed))
    if layout is None:
        from cpuplan.solve import failure

        raise CpuplanError(failure.diagnostics(node_class, problem, locate, kin))
    return explain(node_class, layout)


def verify(node_class: NodeClass, layout: Layout) -> bool:
    """Does a layout satisfy every rule? Needs no solver. Says nothing of whether there is a better
    one.
    """
    if errors(faults.check(node_class, lambda _origin: None)):
        return False
    return next(breaches(node_class, layout), None) is None


def explain(node_class: NodeClass, layout: Layout) -> NodePlan:
    """The layout with its reasons: the set's statement, the rules that bind it, the goals that can
    be seen in it.
    """
    problem = problem_of(node_class)
    layout = layouts_of(layout, problem.names)
    explained = []
    for name in problem.names:
        because = [rule.reason for rule in problem.rules if rule.name == name]
        explained.append(
            Pool(name, layout[name], (*because, *goals.reasons(problem, name, layout)))
        )
    pools = tuple(pool for pool in explained if pool.name in POOLS)
    return NodePlan(node_class, pools, tuple(pool for pool in explained if pool not in pools))
