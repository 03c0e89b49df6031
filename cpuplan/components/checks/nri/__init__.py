"""What the NRI resource policies would make of a plan, and partitions that nothing enforces."""

from cpuplan.components.checks.nri import balloons, shared, topologyaware
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import NodePlan


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """CP590 to CP594, CP732 and CP733."""
    target = plan.node_class.target
    found = list(shared.check_fields(plan, locate))
    if not target.has_other_mechanism:
        return [*found, *balloons.check_unenforced(plan, locate)]
    if target.has_balloons:
        return [*found, *balloons.check(plan, locate)]
    if target.has_topology_aware:
        return [*found, *topologyaware.check(plan, locate)]
    return found
