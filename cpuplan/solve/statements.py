"""Check the statements of an intent before a layout is solved."""

from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import NodeClass
from cpuplan.solve import faults
from cpuplan.solve.remedies import lists


def check(node_class: NodeClass, locate: Locate) -> list[Diagnostic]:
    """The faults of the statements, with remedies that were tried."""
    return faults.check(node_class, locate, lists.remedies)
