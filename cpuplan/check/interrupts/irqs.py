"""The interrupts that devices asked for, as /proc shows them: their CPUs and their counts.

Managed interrupts are spread by the kernel over all CPUs, a queue each, and nobody moves them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from cpuplan.base import nodetext
from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.base.files import Unreadable
from cpuplan.base.text import at_most
from cpuplan.check.roots.root import Root
from cpuplan.components.host.interrupts import UNMOVABLE

#: Three parts of a row behind its counts: chip, number on it and how it is raised, and the devices.
#: The kernel fills the second with blanks to eight characters (kernel/irq/proc.c: show_interrupts).
_SEPARATED = "  "
_CPU = re.compile(r"CPU([0-9]{1,5})")


class Row(NamedTuple):
    """An interrupt: how often each CPU of the table got it, and the devices that asked for it."""

    counts: Sequence[int]
    devices: str


class Table(NamedTuple):
    """The CPUs of the columns, which are those online, and rows by the numbers of interrupts.

    Rows without a count of each CPU are `damaged`, and say nothing.
    """

    cpus: tuple[int, ...]
    rows: dict[int, Row]
    damaged: tuple[int, ...] = ()


class Growth(NamedTuple):
    """Interrupts of a device that CPUs got between two reads."""

    number: int
    devices: str
    cpus: CpuSet
    times: int


def irq_numbers(names: Iterable[str]) -> list[int]:
    """The numbers among names of interrupts, ascending; those of the kernel have 32 bits."""
    numbers = (nodetext.natural(name) for name in names if name.isdigit())
    return sorted(number for number in numbers if number is not None)


def read_table(text: str) -> Table:
    """The table of a text; without rows where the text is none."""
    lines = nodetext.lines(text)
    words = lines[0].split() if lines else []
    matches = [_CPU.fullmatch(word) for word in words]
    if not words or None in matches:
        return Table((), {})
    cpus = tuple(int(match[1]) for match in matches if match)
    rows: dict[int, Row] = {}
    damaged: list[int] = []
    for line in lines[1:]:
        name, _, rest = line.partition(":")
        number = nodetext.natural(name)
        if number is None:
            continue
        row = _row(rest, len(cpus))
        rows[number] = row or Row((), "")
        if row is None:
            damaged.append(number)
    return Table(cpus, rows, tuple(damaged))


def _row(text: str, columns: int) -> Row | None:
    words = text.split(None, columns)
    counts = [nodetext.natural(word) for word in words[:columns]]
    known = [count for count in counts if count is not None]
    if len(known) < columns:
        return None
    before, separator, devices = " ".join(words[columns:]).rpartition(_SEPARATED)
    is_named = separator and before.strip() and not devices[-1:].isspace()
    return Row(known, devices.lstrip() if is_named else "")


def grown(before: Table, after: Table, cpus: CpuSet) -> Iterator[Growth]:
    """The interrupts whose counts grew on some of `cpus`, in the order of their numbers."""
    columns = [(at, cpu) for at, cpu in enumerate(after.cpus) if cpu in cpus]
    if before.cpus != after.cpus:
        return
    for number, row in after.rows.items():
        earlier = before.rows.get(number)
        if earlier is None or earlier.counts == row.counts:
            continue
        if len(earlier.counts) != len(row.counts):
            continue
        more = {cpu: row.counts[at] - earlier.counts[at] for at, cpu in columns}
        on = CpuSet(cpu for cpu, times in more.items() if times > 0)
        if on:
            yield Growth(number, row.devices, on, sum(more[cpu] for cpu in on))


_DEBUG = "sys/kernel/debug/irq/irqs"
_FLAG = "IRQD_AFFINITY_MANAGED"
#: Timers of the whole machine, which the kernel excludes from balancing (IRQF_NOBALANCING), and of
#: drivers that ask for spread interrupts (pci_alloc_irq_vectors_affinity, and of virtio_blk and
#: virtio_scsi find_vqs with a descriptor of affinity): NVMe but for its admin queue, virtio disks
#: and host adapters of SAS, RAID and Fibre Channel.
_NAMES = re.compile(
    r"(timer|arch_timer|nvme[0-9]+q[1-9][0-9]*|virtio[0-9]+-req(\.[0-9]+|uest(\.[0-9]+)?)|megasas[0-9]+-msix[0-9]+|mpt[23]sas[0-9]+-msix[0-9]+"
    r"|mpi3mr[0-9]+-msix[0-9]+|smartpqi[0-9]*|aacraid[0-9]*|lpfc:[0-9]+|csio\S*-scsi\S*|qla2xxx\S*_qpair\S*"
    r"|qla2xxx \(qpair[0-9]+\)|hisi_sas\S* cq\S*)\Z"
)


class Files(Protocol):
    """Access to the node's files."""

    def read(self, path: str) -> str | None: ...
    def names(self, path: str) -> list[str]: ...


def unmovable(files: Files) -> set[int]:
    """The interrupts that the compiled unit could not move."""
    words = (files.read(UNMOVABLE) or "").split()
    numbers = map(nodetext.natural, words)
    return {number for number in numbers if number is not None}


def is_kernel_managed(files: Files, number: int, devices: str) -> bool:
    """Whether the kernel alone places an interrupt."""
    debug = files.read(f"{_DEBUG}/{number}")
    if debug is not None:
        return _FLAG in debug
    return any(_NAMES.match(name) for name in device_names(devices))


def device_names(devices: str) -> Iterator[str]:
    """The names of the devices of a row, which may share an interrupt."""
    return (name.strip() for name in devices.split(","))


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


def interrupts_in_use(files: Root) -> list[Interrupt]:
    """The interrupts in use, in the order of their numbers.

    Of what is damaged nothing is said but that it is not read.
    """
    table = read_table(files.read(TABLE) or "")
    if table.damaged:
        numbers = named(map(str, table.damaged))
        problem = f"it has no count of each CPU for interrupt {numbers}"
        files.refuse(TABLE, Unreadable(problem))
    refused = unmovable(files)
    interrupts = []
    for number in irq_numbers(files.names(FOLDER)):
        devices = _devices(files, table, number)
        allowed = _of_file(files, f"{FOLDER}/{number}/smp_affinity")
        effective = _of_file(files, f"{FOLDER}/{number}/effective_affinity")
        allowed = effective if allowed is None else allowed
        if devices and allowed is not None:
            is_managed = number in refused or is_kernel_managed(files, number, devices)
            came = not table.cpus or any(table.rows[number].counts)
            interrupts.append(Interrupt(number, devices, allowed, effective, is_managed, came))
    return interrupts


def _devices(files: Files, table: Table, number: int) -> str:
    """The devices of an interrupt; where the table of all is not there, of its folder."""
    if table.cpus:
        return table.rows[number].devices if number in table.rows else ""
    names = (name for name in files.names(f"{FOLDER}/{number}") if name not in _FILES)
    return ", ".join(names)


def _of_file(files: Root, path: str) -> CpuSet | None:
    """The CPUs of a file and its twin with a list; a copy may have one of them."""
    text = files.read(f"{path}_list")
    if text is not None:
        given = cpus_of_list(text)
    else:
        text = files.read(path)
        given = cpus_of_mask(text)
    if given is None and text and text.strip():
        files.refuse(path, Unreadable("it holds no CPUs"))
    return given


def cpus_of_list(text: str | None) -> CpuSet | None:
    """The CPUs of a file of /proc; None where there is no file, or no list in it."""
    if text is None:
        return None
    try:
        return CpuSet.parse_kernel(text)
    except CpuSetError:
        return None


def cpus_of_mask(text: str | None) -> CpuSet | None:
    """The CPUs of a file that has a mask; None where there is no file, or no mask in it."""
    if text is None or not text.strip():
        return None
    try:
        return CpuSet.parse_mask(text)
    except CpuSetError:
        return None


def named(names: Iterable[str], most: int = 5) -> str:
    """The first of several, for a message."""
    return at_most(list(names), most)
