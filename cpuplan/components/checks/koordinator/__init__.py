"""What Koordinator cannot keep of a plan, does nothing about, or gets wrong."""

from cpuplan.components.checks.koordinator import effects, layout, machine, releases, workloads
from cpuplan.components.reasons import is_written
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import NodePlan

#: After the layout, each asks on its own.
_CHECKS = (releases.check, effects.check, machine.check, workloads.check)


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Statements that do not fit at all, else everything else."""
    node_class = plan.node_class
    if not node_class.target.has_koordinator:
        if not is_written(plan, "koordinator"):
            return []
        position = locate(node_class.place("koordinator", of_key=True))
        mechanism = node_class.target.mechanism
        return [diagnose("CP639", position, field="koordinator", mechanism=mechanism)]
    if wrong := list(layout.check(plan, locate)):
        return wrong
    return [found for check_one in _CHECKS for found in check_one(plan, locate)]
