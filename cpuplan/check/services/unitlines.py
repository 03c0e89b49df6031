"""The lines of systemd's unit files and configuration (systemd.syntax(7))."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.cpuset import EMPTY, CpuSet, CpuSetError


class Line(NamedTuple):
    """An assignment: its section, key and value, the file, and its first line there."""

    section: str
    key: str
    value: str
    path: str
    number: int


def lines(text: str, path: str) -> Iterator[Line]:
    """The assignments of a file in their order; a backslash at the end continues a line."""
    section, begun, start = "", "", 0
    for number, raw in enumerate(nodetext.lines(text), start=1):
        line = raw.strip()
        if line.startswith(("#", ";")) or not (line or begun):
            continue
        start = start if begun else number
        if raw.endswith("\\"):
            begun += raw[:-1].strip() + " "
            continue
        line, begun = begun + line, ""
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif "=" in line:
            key, _, value = line.partition("=")
            yield Line(section, key.strip(), value.strip(), path, start)


def last(found: Iterable[Line], key: str) -> Line | None:
    """The assignment of a key that holds: the last; none where that one is empty."""
    line = None
    for each in found:
        if each.key == key:
            line = each if each.value else None
    return line


def added(found: Iterable[Line], key: str) -> list[Line]:
    """The assignments of a key whose values add up: those after the last empty one."""
    kept: list[Line] = []
    for each in found:
        if each.key == key:
            if not each.value:
                kept = []
            else:
                kept.append(each)
    return kept


def cpus(values: Iterable[Line]) -> CpuSet:
    """The CPUs of lines that add up, as systemd reads them; what it ignores is left out."""
    total = EMPTY
    for line in values:
        try:
            total = total | CpuSet.parse_kernel(line.value)
        except CpuSetError:
            continue
    return total


def flag(line: Line | None) -> bool:
    """Whether a switch is on (systemd.syntax(7))."""
    return line is not None and line.value.lower() in ("1", "yes", "y", "true", "t", "on")
