"""What every source of a node's files answers: a folder, or an archive."""

import errno
import os
from collections.abc import Hashable
from typing import NamedTuple, Protocol

#: Of one file: the kernel's own have some kB, configurations that people write too.
MAX_FILE = 1024 * 1024
#: Of a table with something for each CPU, thread or unit: interrupts of 512 CPUs have 8 MiB.
MAX_TABLE = 32 * 1024 * 1024
_TABLES = (
    "proc/interrupts",
    "proc/cpuinfo",
    "proc/softirqs",
    "cpuplan/interrupts.later",
    "cpuplan/systemctl-show",
    "/dmesg",
    "/systemctl_show_service_--all",
    "/ps_auxwwwm",
    "/ps_auxwww",
    "/cpu_affinities.json",
)
#: Names in one folder, and files below it: 8,192 CPUs have as many folders.
MAX_NAMES = 20_000


def limit_of(path: str) -> int:
    """How many bytes of a file are read; also of one in an archive, with folders before it."""
    return MAX_TABLE if path.endswith(_TABLES) else MAX_FILE


class Status(NamedTuple):
    """What a file is: `st_mode` and the time of its last change, in seconds since 1970."""

    mode: int
    mtime: float


class Reader(Protocol):
    """Reads files below one root; links are followed as by a process with this root (chroot).

    Paths have no leading slash. All raise OSError, ValueError (NUL in a name) or Unreadable.
    """

    def read(self, path: str, limit: int = MAX_FILE) -> bytes:
        """The bytes of a regular file of at most `limit` bytes."""
        ...

    def entries(self, path: str) -> list[tuple[str, bool]]:
        """The names in a folder, ascending, each with whether it is a folder and no link."""
        ...

    def identity(self, path: str) -> Hashable:
        """What tells a folder from all others, by whatever path it is reached."""
        ...

    def status(self, path: str) -> Status:
        """Of what the path leads to."""
        ...

    def link(self, path: str) -> str | None:
        """The target of a link, as written; None for anything else."""
        ...

    def plain(self, path: str) -> str:
        """The path of a file without links."""
        ...


def absent() -> FileNotFoundError:
    """The system's answer for a file that is not there."""
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
