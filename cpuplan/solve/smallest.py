"""A substitute for a layout that does not exist, for checks that do not depend on it."""

from cpuplan.diagnostics import CpuplanError
from cpuplan.diagnostics.source import Locate
from cpuplan.language.model.pools import POOLS, Pools
from cpuplan.plan import NodeClass, NodePlan
from cpuplan.solve import solver
from cpuplan.solve.effort import UndecidedError


def plan(node_class: NodeClass, locate: Locate) -> NodePlan | None:
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
        return solver.solve(node_class.saying(smaller), locate).with_spec(spec)
    except (CpuplanError, UndecidedError):
        return None
