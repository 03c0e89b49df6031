"""What can be said against the pools of an intent before any layout is sought, with remedies that
were tried.
"""

from collections.abc import Mapping, Sequence

from cpuplan.diagnostics import Diagnostic
from cpuplan.plan import NodeClass
from cpuplan.solve import faults
from cpuplan.solve.said import Said
from cpuplan.source import Locate


def check(node_class: NodeClass, locate: Locate) -> list[Diagnostic]:
    """All of it in one run: errors, with which `solver.solve` finds no layout, and warnings."""
    return faults.check(node_class, locate, _mend)


def _mend(node_class: NodeClass, split: Sequence[Said]) -> Mapping[str, str]:
    from cpuplan.solve.remedies import lists

    return lists.remedies(node_class, split)
