"""Faults in the statements of an intent that are found before a layout is solved."""

from collections.abc import Callable, Mapping, Sequence

from cpuplan.diagnostics import Diagnostic, errors
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.plan import NodeClass
from cpuplan.solve.faults import lists, manifests, names, places
from cpuplan.solve.rules.rule import Statements
from cpuplan.solve.sets import SetSpec

#: Finds what to write under each of a class's sets whose lists split cores.
Mend = Callable[[NodeClass, Sequence[SetSpec]], Mapping[str, str]]


def _untried(_node_class: NodeClass, split: Sequence[SetSpec]) -> dict[str, str]:
    return {spec.name: "give each core to one pool" for spec in split}


def check(node_class: NodeClass, locate: Locate, mend: Mend = _untried) -> list[Diagnostic]:
    """All faults at once: errors, with which `solver.solve` finds no layout, and warnings."""
    statements = Statements(node_class)

    def at(field: str) -> Position | None:
        return locate(node_class.place(field))

    return [
        *names.two_rests(statements, at),
        *names.unknown_sets(statements, at),
        *names.empty_reserved(statements, at),
        *manifests.wrong(statements, at),
        *lists.overlaps(statements, at),
        *lists.absent_cpus(statements, at),
        *places.absent_places(statements, at),
        *places.absent_devices(statements, at),
        *lists.split_cores(statements, at, mend),
        *lists.cores_split_by_profile(statements, at),
        *lists.boot_cpu(statements, at),
    ]


def errors_of(node_class: NodeClass) -> list[Diagnostic]:
    """The errors of a class without positions, for changes that are tried."""
    return errors(check(node_class, lambda _place: None))
