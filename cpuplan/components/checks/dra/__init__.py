"""What the DRA CPU driver cannot keep of a plan, and what it gets wrong."""

from cpuplan.components.checks.dra import layout, machine, runtime, traps
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import NodePlan


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Statements that cannot hold, else machines without devices, else what may go wrong."""
    if not plan.node_class.target.has_dra:
        return list(layout.check_unread(plan, locate))
    refused = list(layout.check(plan, locate))
    blind = refused or list(machine.check(plan, locate))
    return blind or [*runtime.check(plan, locate), *traps.check(plan, locate)]
