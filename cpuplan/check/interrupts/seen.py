"""Every interrupt that a device asked for, as /proc shows it."""

from collections.abc import Iterable
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.base.files import Unreadable
from cpuplan.base.text import at_most
from cpuplan.check.interrupts import counts, managed
from cpuplan.check.interrupts.managed import Files
from cpuplan.check.roots.root import Root

FOLDER = "proc/irq"
TABLE = "proc/interrupts"
DEFAULT = f"{FOLDER}/default_smp_affinity"
#: In the folder of an interrupt (kernel/irq/proc.c); what else is there names a device.
_FILES = frozenset(
    (
        "affinity_hint",
        "effective_affinity",
        "effective_affinity_list",
        "node",
        "smp_affinity",
        "smp_affinity_list",
        "spurious",
    )
)


class Interrupt(NamedTuple):
    """An interrupt in use: its devices, the CPUs that may get it, and those that do."""

    number: int
    devices: str
    allowed: CpuSet
    #: None where the kernel does not say (before 4.13, and on some platforms).
    effective: CpuSet | None
    is_managed: bool
    #: Whether a CPU ever got it; True where nothing tells.
    came: bool = True


def all_of(files: Root) -> list[Interrupt]:
    """The interrupts in use, in the order of their numbers.

    Of what is damaged nothing is said but that it is not read.
    """
    table = counts.read(files.read(TABLE) or "")
    if table.damaged:
        numbers = named(map(str, table.damaged))
        problem = f"it has no count of each CPU for interrupt {numbers}"
        files.refuse(TABLE, Unreadable(problem))
    refused = managed.refused(files)
    found = []
    for number in counts.numbers(files.names(FOLDER)):
        devices = _devices(files, table, number)
        allowed = _of_file(files, f"{FOLDER}/{number}/smp_affinity")
        effective = _of_file(files, f"{FOLDER}/{number}/effective_affinity")
        allowed = effective if allowed is None else allowed
        if devices and allowed is not None:
            is_managed = number in refused or managed.is_managed(files, number, devices)
            came = not table.cpus or any(table.rows[number].counts)
            found.append(Interrupt(number, devices, allowed, effective, is_managed, came))
    return found


def _devices(files: Files, table: counts.Table, number: int) -> str:
    """The devices of an interrupt; where the table of all is not there, of its folder."""
    if table.cpus:
        return table.rows[number].devices if number in table.rows else ""
    names = (name for name in files.names(f"{FOLDER}/{number}") if name not in _FILES)
    return ", ".join(names)


def _of_file(files: Root, path: str) -> CpuSet | None:
    """The CPUs of a file and its twin with a list; a copy may have one of them."""
    text = files.read(f"{path}_list")
    if text is not None:
        given = cpus(text)
    else:
        text = files.read(path)
        given = mask(text)
    if given is None and text and text.strip():
        files.refuse(path, Unreadable("it holds no CPUs"))
    return given


def cpus(text: str | None) -> CpuSet | None:
    """The CPUs of a file of /proc; None where there is no file, or no list in it."""
    if text is None:
        return None
    try:
        return CpuSet.parse_kernel(text)
    except CpuSetError:
        return None


def mask(text: str | None) -> CpuSet | None:
    """The CPUs of a file that has a mask; None where there is no file, or no mask in it."""
    if text is None or not text.strip():
        return None
    try:
        return CpuSet.parse_mask(text)
    except CpuSetError:
        return None


def named(found: Iterable[str], most: int = 5) -> str:
    """The first of several, for a message."""
    return at_most(list(found), most)
