"""Whether a file that is missing in a copy is missing on the node."""

from collections.abc import Callable

from cpuplan.base import nodetext

#: What the script of `cpuplan snapshot` looked for, one path in a line.
PLACES = "cpuplan/places"
#: Programs that every system has: a copy with one is whole.
PROGRAMS = ("bin/sh", "usr/bin/sh", "usr/bin/env", "usr/lib/systemd/systemd")
#: Folders that every system with systemd has, also where nothing is in them.
_STANDARD = (
    "usr/local/bin",
    "etc/systemd/system",
    "etc/sysctl.d",
    "etc/tmpfiles.d",
    "etc/udev/rules.d",
)
#: Folders that people copy as a whole; of the others, those one below.
_WHOLE = frozenset({"boot", "etc", "run"})

Names = Callable[[str], list[str]]


def is_copied(path: str, names: Names, is_there: Callable[[str], bool]) -> bool:
    """Whether a copy has the part of the tree that a path is in: /etc/sysctl.d, /etc, /var/lib."""
    for folder in _STANDARD:
        if path.startswith(f"{folder}/"):
            return is_there(folder)
    parts = [part for part in path.split("/") if part]
    depth = 1 if parts and parts[0] in _WHOLE else 2
    return bool(parts) and bool(names("/".join(parts[:depth][: max(1, len(parts) - 1)])))


def is_collected(path: str, names: Names) -> bool:
    """Whether a report has anything of the folder of a path; it takes some of few folders."""
    return bool(names(path.rpartition("/")[0]))


def is_listed(path: str, places: str) -> bool:
    """Whether a path is one of the places of a snapshot, or below one."""
    return any(path == place or path.startswith(f"{place}/") for place in nodetext.lines(places))
