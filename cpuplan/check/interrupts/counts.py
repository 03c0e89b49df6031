"""/proc/interrupts: the devices that asked for interrupts, and how often each CPU got them.

Rows with a number are of devices. Rows with a name (LOC, RES, CAL, TLB, ...) are of the CPU itself:
timers and calls from other CPUs, which no affinity moves, and they are left out.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.cpuset import CpuSet

#: Three parts of a row behind its counts: chip, number on it and how it is raised, and the devices.
#: The kernel fills the second with blanks to eight characters (kernel/irq/proc.c: show_interrupts).
_DEVICES = re.compile(r".*\S {2,}(\S(?:.*\S)?)\Z")
_CPU = re.compile(r"CPU(\d+)\Z")


class Row(NamedTuple):
    """An interrupt: how often each CPU of the table got it, and the devices that asked for it."""

    counts: Sequence[str]
    devices: str


class Table(NamedTuple):
    """The CPUs of the columns, which are those online, and rows by the numbers of interrupts."""

    cpus: tuple[int, ...]
    rows: dict[int, Row]


class Growth(NamedTuple):
    """Interrupts of a device that CPUs got between two reads."""

    number: int
    devices: str
    cpus: CpuSet
    times: int


def read(text: str) -> Table:
    """The table of a text; without rows where the text is none."""
    lines = text.splitlines()
    words = lines[0].split() if lines else []
    matches = [_CPU.match(word) for word in words]
    if not words or None in matches:
        return Table((), {})
    cpus = tuple(int(match[1]) for match in matches if match)
    rows = {}
    for line in lines[1:]:
        name, _, rest = line.partition(":")
        if name.strip().isdecimal():
            rows[int(name)] = _row(rest, len(cpus))
    return Table(cpus, rows)


def _row(text: str, columns: int) -> Row:
    *counts, last = text.split(None, columns) if columns else [text]
    if len(counts) < columns:
        return Row((), "")
    match = _DEVICES.match(last)
    return Row(counts, match[1] if match else "")


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
        more = {cpu: int(row.counts[at]) - int(earlier.counts[at]) for at, cpu in columns}
        on = CpuSet(cpu for cpu, times in more.items() if times > 0)
        if on:
            yield Growth(number, row.devices, on, sum(more[cpu] for cpu in on))
