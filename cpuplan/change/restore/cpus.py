"""CPUs that a plan switched off, or its boot arguments kept from coming up."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.base.text import joined
from cpuplan.change.restore import arguments, wholes
from cpuplan.change.restore.back import put_back
from cpuplan.change.restore.plans import Planned
from cpuplan.change.restore.wholes import UnknownError, Whole
from cpuplan.importers.machine import Machine


class _Off(NamedTuple):
    """CPUs that are off, and what did it."""

    cpus: CpuSet
    by: str


def restore(machine: Machine, planned: Planned) -> tuple[Machine, list[str]]:
    """The machine with the CPUs online that only software switched off, and remarks on them.

    The place of a CPU follows from the inventory, else from the numbering of the others; if it
    follows from neither, the CPU stays offline. CPUs that are offline for another reason are a
    fact.
    """
    whole = _inventory(machine, planned)
    if whole is not None:
        off = list(_switched_off(machine, planned, whole, whole.topology.online - machine.online))
        if off:
            return _put_back(machine, off, whole)
    if not machine.offline:
        return machine, _hidden(machine)
    return _without_inventory(machine, planned)


def _inventory(machine: Machine, planned: Planned) -> Whole | None:
    """The inventory's machine, if it has the CPUs that are online where they are."""
    whole = wholes.of_inventory(planned.hardware, planned.spec)
    return whole if whole and wholes.agrees(whole.topology, machine) else None


def _without_inventory(machine: Machine, planned: Planned) -> tuple[Machine, list[str]]:
    """Restore CPUs whose place only the numbering of the others shows.

    Boot arguments count only where something shows that they belong to a plan.
    """
    own = _units(machine, planned) & machine.offline
    line = (
        machine.marks.grub
        if arguments.limits_cpus(machine.marks.grub)
        else " ".join(planned.arguments)
    )
    whole = wholes.by_numbering(machine) if own or arguments.limits_cpus(line) else None
    if whole is not None:
        known = machine._replace(boot_arguments=line)
        off = list(_switched_off(known, planned, whole, machine.offline & whole.topology.online))
        if off:
            return _put_back(machine, off, whole)
    if own:
        return machine, [_left_off(own, _UNIT, "their cores are unknown")]
    return machine, _limited(machine)


_UNIT = "its plan"


def _units(machine: Machine, planned: Planned) -> CpuSet:
    return machine.marks.switched_off | planned.offlined


def _switched_off(
    machine: Machine, planned: Planned, whole: Whole, missing: CpuSet
) -> Iterator[_Off]:
    """The CPUs of `missing` that are off by software, by what did it."""
    by_units = _units(machine, planned) & missing
    if by_units:
        yield _Off(by_units, _UNIT)
    line = " ".join(planned.arguments) if machine.boot_arguments is None else machine.boot_arguments
    for word, cpus in arguments.cpus_off(line, whole.topology):
        if cpus & missing:
            yield _Off(cpus & missing, word)
    second_threads = missing - CpuSet(whole.topology.cores)
    if machine.marks.smt_off and second_threads:
        yield _Off(
            second_threads, arguments.one_thread(line) or "/sys/devices/system/cpu/smt/control"
        )


def _put_back(machine: Machine, off: list[_Off], whole: Whole) -> tuple[Machine, list[str]]:
    cpus = union(group.cpus for group in off)
    by = joined(list(dict.fromkeys(group.by for group in off)))
    try:
        restored = put_back(machine, cpus, whole)
    except UnknownError as error:
        return machine, [_left_off(cpus & machine.offline, by, f"{error} are unknown")]
    return restored, [
        f"{cpus_text(cpus)} switched off by {by}: treated as online, as in {whole.source}"
    ]


def _left_off(cpus: CpuSet, by: str, why: str) -> str:
    remedy = "to have them, import again with all CPUs online"
    return f"{cpus_text(cpus)} switched off by {by}, and {why}: written as offline; {remedy}"


def _limited(machine: Machine) -> list[str]:
    """A remark on boot arguments that no known plan contains."""
    words = arguments.limits_cpus(machine.boot_arguments or "")
    if not words:
        return []
    cpus = cpus_text(machine.offline)
    return [
        (
            f"booted with {words}: {cpus} written as offline; to state this in an intent, import "
            "without it first"
        )
    ]


def _hidden(machine: Machine) -> list[str]:
    words = arguments.limits_cpus(machine.boot_arguments or "")
    return [f"booted with {words}, which may hide CPUs that it has"] if words else []
