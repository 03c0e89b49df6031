"""Solve the layout of a class, verify a layout, and explain one.

Statements are checked before. Checks that do not depend on the layout get a substitute where none
exists. What searches, and what tries remedies, is loaded when something has to be searched for.
"""

from collections.abc import Sequence

from cpuplan.base.cpuset import EMPTY
from cpuplan.diagnostics import CpuplanError, Diagnostic, errors
from cpuplan.diagnostics.source import Locate
from cpuplan.language.model.pools import POOLS, Pools
from cpuplan.plan import Limited, NodeClass, NodePlan, Pool
from cpuplan.solve import budget, goals, validation
from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.layout import Layout, SetSpec
from cpuplan.solve.rules import problem_of
from cpuplan.solve.rules.rule import Problem
from cpuplan.solve.violations import violations


def check_statements(node_class: NodeClass, locate: Locate) -> list[Diagnostic]:
    """The faults of the statements, with remedies that were tried."""
    return validation.check(node_class, locate, _remedies)


def _remedies(node_class: NodeClass, split: Sequence[SetSpec]) -> dict[str, str]:
    from cpuplan.solve.remedies import single

    return single.list_remedies(node_class, split)


def solve(
    node_class: NodeClass,
    locate: Locate,
    committed: Layout | None = None,
    kin: Sequence[NodeClass] = (),
) -> NodePlan:
    """The best layout of a class, always the same; near `committed` if the intent has that goal.

    Raises CpuplanError when no layout satisfies all rules: for each conflict, a smallest set of
    statements that contradict each other, and changes that were tried, also on `kin`, the other
    classes of the intent. Raises UndecidedError where the limit ends before that is known.
    """
    problems = errors(check_statements(node_class, locate))
    if problems:
        raise CpuplanError(problems)
    problem = problem_of(node_class)
    from cpuplan.solve import failure, model
    from cpuplan.solve.pigeonhole import is_crowded

    with budget.limited() as limit:
        best = None
        if not is_crowded(problem.topology, problem.rules):
            best = model.best(problem, goals.aims_of(node_class, committed))
        if best is None:
            raise CpuplanError(failure.diagnostics(node_class, problem, locate, kin))
    unproven = goals.unproven(node_class.topology, best.layout, best.gaps, limit.seconds)
    return _explain(node_class, problem, best.layout, unproven)


def verify(node_class: NodeClass, layout: Layout) -> bool:
    """Whether a layout satisfies every rule; there may be better ones. Needs no solver."""
    return not validation.errors_of(node_class) and not any(violations(node_class, layout))


def explain(node_class: NodeClass, layout: Layout, limited: Limited | None = None) -> NodePlan:
    """The layout with its reasons: statements, binding rules, and goals that can be seen in it."""
    return _explain(node_class, problem_of(node_class), layout, limited)


def _explain(
    node_class: NodeClass, problem: Problem, layout: Layout, limited: Limited | None
) -> NodePlan:
    layout = {name: layout.get(name, EMPTY) for name in problem.names}
    pools: list[Pool] = []
    sets: list[Pool] = []
    for name, cpus in layout.items():
        because = [rule.reason for rule in problem.rules if rule.name == name and rule.is_reason]
        pool = Pool(name, cpus, (*because, *goals.reasons(problem, name, layout)))
        (pools if name in POOLS else sets).append(pool)
    return NodePlan(node_class, tuple(pools), tuple(sets), limited)


def smallest_plan(node_class: NodeClass, locate: Locate) -> NodePlan | None:
    """The class with a core in each pool of its intent, anywhere; None if that does not fit."""
    spec = node_class.spec
    sizes: dict[str, dict[str, object]] = {}
    for name in POOLS:
        pool = getattr(spec.pools, name)
        if pool is not None:
            takes_rest = pool.rest or name == "isolated"
            sizes[name] = {"rest": True} if takes_rest else {"cores": 1}
    pools = Pools.model_validate(sizes)
    smaller = spec.model_copy(update={"pools": pools, "qos": type(spec.qos)(), "workloads": ()})
    try:
        return solve(node_class.saying(smaller), locate).with_spec(spec)
    except (CpuplanError, UndecidedError):
        return None
