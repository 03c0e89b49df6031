"""What every source of files below one root answers: a folder, or an archive."""

import errno
import os
from collections.abc import Hashable
from typing import NamedTuple, Protocol

from cpuplan.base.files import Unreadable


class Limits(NamedTuple):
    """What finding a file may cost, and where a link may lead."""

    #: Names in one folder.
    names: int
    #: Names on the way to all that is asked for, those of links too.
    steps: int
    #: Folders that are kept open between two reads; a process may have 1,024 files, or fewer.
    opened: int = 128
    #: Whether `..` of the root is the root, as for a process in it (chroot); else it is refused.
    is_chroot: bool = True


class Status(NamedTuple):
    """What a file is: `st_mode` and the time of its last change, in seconds since 1970."""

    mode: int
    mtime: float


class Reader(Protocol):
    """Reads files below one root; links are followed as if it were `/`.

    Paths have no leading slash. All raise OSError, ValueError (NUL in a name) or Unreadable.
    """

    def read(self, path: str, limit: int) -> bytes:
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


class BadLink(Unreadable):
    """A link that is not followed; its `noun` completes `the root has ...`."""

    def __init__(self, problem: str, noun: str, number: int | None = None) -> None:
        super().__init__(problem, number)
        self.noun = noun
        #: The path of the folder that it leads to; empty where it leads to what was asked for.
        self.path = ""


def absent() -> FileNotFoundError:
    """The system's answer for a file that is not there."""
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
