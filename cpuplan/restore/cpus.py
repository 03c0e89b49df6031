"""CPUs that a plan switched off, or its boot arguments kept from coming up."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.cpuset import CpuSet, cpus_text, union
from cpuplan.importers.machine import Machine
from cpuplan.restore import arguments, wholes
from cpuplan.restore.back import put_back
from cpuplan.restore.plans import Planned
from cpuplan.restore.wholes import UntoldError, Whole
from cpuplan.text import joined


class _Off(NamedTuple):
    """CPUs that are off, and what did it."""

    cpus: CpuSet
    by: str


def restore(machine: Machine, planned: Planned) -> tuple[Machine, list[str]]:
    """The machine with those CPUs online that only software switched off, and sentences on what was
    done and was not.

    Where a CPU belongs is told by the inventory, else by the numbering of the others; where neither
    tells, it stays offline. CPUs that are offline for another reason are a fact.
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
    """CPUs whose place only the others' can tell. That a boot argument is of a plan must be told,
    too.
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
    if cpus := _units(machine, planned) & missing:
        yield _Off(cpus, _UNIT)
    line = " ".join(planned.arguments) if machine.boot_arguments is None else machine.boot_arguments
    for word, cpus in arguments.cpus_off(line, whole.topology):
        if found := cpus & missing:
            yield _Off(found, word)
    if machine.marks.smt_off and (found := missing - CpuSet(whole.topology.cores)):
        yield _Off(found, arguments.one_thread(line) or "/sys/devices/system/cpu/smt/control")


def _put_back(machine: Machine, off: list[_Off], whole: Whole) -> tuple[Machine, list[str]]:
    cpus = union(each.cpus for each in off)
    by = joined(list(dict.fromkeys(each.by for each in off)))
    try:
        restored = put_back(machine, cpus, whole)
    except UntoldError as error:
        return machine, [_left_off(cpus & machine.offline, by, f"{error} are unknown")]
    return restored, [
        f"{cpus_text(cpus)} switched off by {by}: treated as online, as in {whole.source}"
    ]


def _left_off(cpus: CpuSet, by: str, why: str) -> str:
    remedy = "to have them, import again with all CPUs online"
    return f"{cpus_text(cpus)} switched off by {by}, and {why}: written as offline; {remedy}"


def _limited(machine: Machine) -> list[str]:
    """What boot arguments of nobody's plan, as far as is known, may have done."""
    words = arguments.limits_cpus(machine.boot_arguments or "")
    if not words:
        return []
    cpus = cpus_text(machine.offline)
    return [
        f"booted with {words}: {cpus} written as offline; to state this in an intent, import without it first"
    ]


def _hidden(machine: Machine) -> list[str]:
    words = arguments.limits_cpus(machine.boot_arguments or "")
    return [f"booted with {words}, which may hide CPUs that it has"] if words else []
