"""The process of a unit, and when it started (proc(5))."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from cpuplan.base import nodetext

#: The unit of times in /proc/<pid>/stat: USER_HZ, the same on all machines of today.
_HERTZ = 100
_START = 19  # field 22, counted behind the name
#: Processes of these are in containers: another node's kubelet in a container has the same name.
_CONTAINERS = ("kubepods", "docker", "libpod", "machine.slice")


class Files(Protocol):
    """Access to the node's files."""

    def read(self, path: str) -> str | None: ...


class Process(NamedTuple):
    """A process: its number, its words, and its start in seconds since 1970, if known."""

    pid: str
    words: tuple[str, ...]
    started: float | None = None


def of_unit(files: Files, numbers: Iterable[str], unit: str) -> Process | None:
    """The process of a unit, or else one outside of containers."""
    others = []
    for number in numbers:
        groups = files.read(f"proc/{number}/cgroup") or ""
        if f"/{unit}" in groups:
            return _process(files, number)
        if not any(name in groups for name in _CONTAINERS):
            others.append(number)
    processes = (_process(files, number) for number in others)
    return next((process for process in processes if process), None)


def _process(files: Files, number: str) -> Process | None:
    """None for one that has no words: it is ending."""
    text = files.read(f"proc/{number}/cmdline")
    if not text:
        return None
    return Process(number, tuple(text.rstrip("\0").split("\0")), started(files, number))


def started(files: Files, number: str) -> float | None:
    """When a process started, in seconds since 1970; None where that is not known."""
    booted = boot_time(files.read("proc/stat") or "")
    fields = (files.read(f"proc/{number}/stat") or "").rpartition(")")[2].split()
    ticks = nodetext.natural(fields[_START]) if len(fields) > _START else None
    return None if booted is None or ticks is None else booted + ticks / _HERTZ


def boot_time(text: str) -> float | None:
    """When the node booted, as /proc/stat says it in seconds since 1970."""
    for line in nodetext.lines(text):
        name, _, value = line.partition(" ")
        number = nodetext.natural(value) if name == "btime" else None
        if number is not None:
            return float(number)
    return None
