"""What lies at some paths, as a digest, and whether a process reads nothing else.

An answer may be repeated while all that it was made of is the same. So the state of files is taken
as a whole, with every name: a file that is new is a change. Where somebody could hide something (a
link, a pipe, a folder without permission), or where there is more than is worth reading, there is
no state. And since nobody knows all that a program reads, Python itself tells what it opens
(sys.addaudithook, PEP 578).
"""

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import NamedTuple

from cpuplan.base.files import Name, Unreadable, read_regular

#: Names and bytes at all paths together.
_MAX_NAMES = 20_000
_MAX_BYTES = 64 * 1024 * 1024


class State(NamedTuple):
    """A digest of names and bytes, and one of the times of their changes."""

    content: str
    times: str


class _NoStateError(Exception):
    """Something that no digest says enough of."""


def state_of(paths: Iterable[Name], *, listed: Iterable[Name] = ()) -> State | None:
    """The state of files and of all below folders; of those `listed`, the names in them only.

    A path where nothing is has a state too. None where there is none to rely on.
    """
    look = _Look()
    try:
        for path in paths:
            look.take_all(os.fspath(path))
        for folder in listed:
            look.add(folder, *sorted(os.listdir(folder)))
    except (OSError, ValueError, Unreadable, _NoStateError):
        return None
    return State(look.content.hexdigest(), look.times.hexdigest())


class _Look:
    def __init__(self) -> None:
        self.content, self.times = sha256(), sha256()
        self._names = self._bytes = 0

    def add(self, *parts: Name | int) -> None:
        """Add to the content what no other parts look like."""
        self.content.update(repr(parts).encode())

    def take_all(self, path: str) -> None:
        """Add what is at a path, and below it. Raises _NoStateError, OSError and Unreadable."""
        todo = [path]
        while todo:
            path = todo.pop()
            try:
                status = os.lstat(path)
            except FileNotFoundError:
                self.add(path, "nothing")
                continue
            self._count(status)
            if stat.S_ISDIR(status.st_mode):
                names = sorted(os.listdir(path))
                self.add(path, "folder", *names)
                todo += [f"{path}/{name}" for name in names]
            elif stat.S_ISREG(status.st_mode):
                self._take(path)
            else:
                raise _NoStateError(path)

    def _take(self, path: str) -> None:
        data = read_regular(path, limit=_MAX_BYTES - self._bytes)
        self._bytes += len(data)
        self.add(path, "file", len(data))
        self.content.update(data)

    def _count(self, status: os.stat_result) -> None:
        self._names += 1
        if self._names > _MAX_NAMES:
            raise _NoStateError
        known = (status.st_dev, status.st_ino, status.st_mode, status.st_ctime_ns)
        self.times.update(repr(known).encode())


class Watch:
    """What a process did meanwhile; `is_clean` while it opened only what it may, and read it."""

    def __init__(self, may_read: Callable[[str], bool], may_write: Callable[[str], bool]) -> None:
        self.is_clean = True
        self._may_read, self._may_write = may_read, may_write

    def tell(self, event: str, arguments: tuple[object, ...]) -> None:
        """Judge an event of Python's table of audit events."""
        if event in _READS:
            self._open(*arguments)
        elif event.startswith(_LEAVES):
            self.is_clean = False  # another process, or the network

    def _open(self, path: object, _mode: object = None, flags: object = 0) -> None:
        if isinstance(path, int):
            return  # it was opened before
        try:
            place = os.path.abspath(os.fsdecode(path) if path else ".")  # type: ignore[arg-type]
        except (TypeError, ValueError, OSError):
            self.is_clean = False
            return
        is_written = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        may = self._may_write if is_written else self._may_read
        self.is_clean = self.is_clean and may(place)


_READS = ("open", "os.listdir", "os.scandir")
_LEAVES = (
    "socket.",
    "subprocess.",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
)
_watches: list[Watch] = []
_hooks: list[Callable[[str, tuple[object, ...]], None]] = []


@contextmanager
def watched(watch: Watch) -> Iterator[Watch]:
    """Let a watch be told of all that is opened inside."""
    if not _hooks:
        _hooks.append(_tell)
        sys.addaudithook(_tell)  # it stays until the process ends
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches.remove(watch)


def _tell(event: str, arguments: tuple[object, ...]) -> None:
    if _watches and event.startswith(("o", "s")):
        for watch in _watches:
            watch.tell(event, arguments)
