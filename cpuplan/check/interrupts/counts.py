"""/proc/interrupts: the devices that asked for interrupts, and how often each CPU got them.

Rows with a number are of devices. Rows with a name (LOC, RES, CAL, TLB, ...) are of the CPU itself:
timers and calls from other CPUs, which no affinity moves, and they are left out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.cpuset import CpuSet

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


def numbers(names: Iterable[str]) -> list[int]:
    """The numbers among names of interrupts, ascending; those of the kernel have 32 bits."""
    found = (nodetext.natural(name) for name in names if name.isdigit())
    return sorted(number for number in found if number is not None)


def read(text: str) -> Table:
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
