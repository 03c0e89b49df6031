"""The one way to read files and folders that others may have made: regular, bounded, inside their
root, never waiting.

A repository, a copied host and a must-gather may hold anything under any name: a pipe that nobody
writes to, a device that never ends, a link to a file of somebody else, a folder that may not be
read. Each is an `Unreadable`, whose text is a phrase for messages; nothing is passed over in
silence.
"""

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

#: Of one file, unless its reader says otherwise.
MAX_BYTES = 64 * 1024 * 1024
#: Files below one folder, and names that are looked at to find them.
MAX_FILES = 100_000
MAX_NAMES = 1_000_000
#: Not waiting for a pipe's writer, and no terminal becomes ours.
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_PIECE = 256 * 1024
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

Name = str | os.PathLike[str]


class Unreadable(Exception):  # noqa: N818 - what is the case, not what went wrong
    """A file or folder that is not read: `problem` says why, as a phrase for messages; `errno` is
    the system's.
    """

    def __init__(self, problem: str, number: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.errno = number


class TooLarge(Unreadable):
    """More bytes, or files, than are read."""


class Outside(Unreadable):
    """A link that leads out of the folder that everything must be in."""


class Special(Unreadable):
    """A folder, pipe, socket or device where a file is wanted."""


class Found(NamedTuple):
    """The files of a folder, sorted, and what of it could not be looked at: its path, and why."""

    files: list[Path]
    problems: list[tuple[Path, Unreadable]]


def read_regular(path: Name, *, within: Name | None = None, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file. Raises Unreadable: also for more than `limit` bytes, and for
    what is no file.

    Links are followed; the file must then lie below the folder `within`. A resolved `within` is the
    fastest.
    """
    try:
        # A look first, for opening some devices does something: a watchdog starts.
        check_kind(os.stat(path))
        descriptor = os.open(path, FLAGS)
        try:
            if within is not None and not _is_below(_opened(descriptor, path), os.fspath(within)):
                raise Outside(_leaves(within))
            return read_open(descriptor, limit)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        raise unreadable(error) from error


def list_files(
    *folders: Name,
    within: Name,
    suffixes: tuple[str, ...] = (".yaml", ".yml"),
    limit: int = MAX_FILES,
) -> Found:
    """The files below `folders` whose names end in one of `suffixes`, sorted by path. A missing
    folder holds none.

    Hidden names are left out. Links that stay inside `within` are followed; what is reached twice
    is listed once, under the name without a link if there is one.
    """
    found = Found([], [])
    _Walk(os.path.realpath(within), suffixes, limit, found).walk(
        [os.fspath(folder) for folder in folders]
    )
    return Found(sorted(found.files), sorted(found.problems, key=lambda each: each[0]))


class _Walk:
    """One walk: real folders and files first, so that a link to one of them adds nothing, then what
    links lead to.
    """

    def __init__(self, root: str, suffixes: tuple[str, ...], limit: int, found: Found) -> None:
        self._root, self._suffixes, self._limit, self._found = root, suffixes, limit, found
        self._seen: set[tuple[int, int]] = set()
        self._names = 0
        self._folders: list[str] = []  # the top ones, then links
        self._links: list[str] = []  # to files

    def walk(self, tops: Iterable[str]) -> None:
        top = ""
        try:
            self._folders += filter(self._exists, tops)
            while self._folders:
                top = self._folders.pop(0)
                todo = [top] if self._is_inside(top) else []
                while todo:
                    todo += self._folders_in(todo.pop())
            for link in sorted(self._links):
                if self._is_inside(link):
                    self._take_link(link)
        except TooLarge as error:
            self._note(top, error)

    def _note(self, path: str, error: Unreadable) -> None:
        self._found.problems.append((Path(path), error))

    def _exists(self, top: str) -> bool:
        try:
            if not stat.S_ISDIR(os.stat(top).st_mode):
                self._note(top, Special("it is not a folder", errno.ENOTDIR))
                return False
        except (OSError, ValueError) as error:
            refusal = _refusal(top, error)
            if refusal.errno != errno.ENOENT or os.path.islink(top):
                self._note(top, refusal)
            return False
        return True

    def _is_inside(self, path: str) -> bool:
        inside = _is_below(os.path.realpath(path), self._root)
        if not inside:
            self._note(path, Outside(_leaves(self._root)))
        return inside

    def _folders_in(self, folder: str) -> list[str]:
        """The folders in one that was not seen yet; its files are taken, its links noted for
        later.
        """
        try:
            if not self._is_new(os.stat(folder)):
                return []
            with os.scandir(folder) as entries:
                return [
                    entry.path for entry in entries if entry.name[0] != "." and self._look(entry)
                ]
        except OSError as error:
            self._note(folder, unreadable(error))
            return []

    def _is_new(self, status: os.stat_result) -> bool:
        known = (status.st_dev, status.st_ino) in self._seen
        self._seen.add((status.st_dev, status.st_ino))
        return not known

    def _look(self, entry: "os.DirEntry[str]") -> bool:
        """Take a file, note a link; whether it is a folder to go into."""
        self._names += 1
        if self._names > MAX_NAMES:
            raise TooLarge(f"it has more than {MAX_NAMES:,} names")
        try:
            entry.name.encode()
            status = entry.stat()
        except UnicodeEncodeError:
            self._note(
                os.fsencode(entry.path).decode(errors="backslashreplace"),
                Unreadable("its name is not UTF-8"),
            )
            return False
        except OSError as error:
            self._note(entry.path, _refusal(entry.path, error))
            return False
        if not entry.is_symlink():
            if stat.S_ISDIR(status.st_mode):
                return True
            self._take(entry.path, status)
        elif stat.S_ISDIR(status.st_mode):
            self._folders.append(entry.path)
        elif entry.name.endswith(self._suffixes):
            self._links.append(entry.path)
        return False

    def _take_link(self, path: str) -> None:
        try:
            self._take(path, os.stat(path))
        except OSError as error:
            self._note(path, _refusal(path, error))

    def _take(self, path: str, status: os.stat_result) -> None:
        if not path.endswith(self._suffixes):
            return
        if not stat.S_ISREG(status.st_mode):
            self._note(path, Special(f"it is {kind_of(status.st_mode)}, not a file"))
        elif self._is_new(status) or (status.st_nlink > 1 and not os.path.islink(path)):
            if len(self._found.files) == self._limit:
                raise TooLarge(f"it has more than {self._limit:,} files")
            self._found.files.append(Path(path))


def is_plain(path: str) -> bool:
    """Whether the path is relative, normalised, on one line, and stays below its folder."""
    return (
        not any(part in ("", ".", "..") for part in path.split("/"))
        and path.isprintable()
        and "\\" not in path
    )


def kind_of(mode: int) -> str:
    """What a file is, by its st_mode: `a pipe`."""
    return _KINDS.get(stat.S_IFMT(mode), "a special file" if not stat.S_ISREG(mode) else "a file")


def unreadable(error: OSError | ValueError) -> Unreadable:
    """The system's refusal. A ValueError is a NUL in a name."""
    if not isinstance(error, OSError):
        return Unreadable("its name is none that a file can have")
    if error.errno == errno.ELOOP:
        return Unreadable("its links lead in a circle", error.errno)
    return Unreadable(error.strerror or str(error), error.errno)


def _refusal(path: str, error: OSError | ValueError) -> Unreadable:
    """The refusal of a path that is there, perhaps as a link."""
    refusal = unreadable(error)
    if refusal.errno == errno.ENOENT and os.path.islink(path):
        return Unreadable("it is a link to nothing", refusal.errno)
    return refusal


def check_kind(status: os.stat_result) -> None:
    """Raise Special for what is no regular file."""
    if not stat.S_ISREG(status.st_mode):
        number = errno.EISDIR if stat.S_ISDIR(status.st_mode) else None
        raise Special(f"it is {kind_of(status.st_mode)}, not a file", number)


def _opened(descriptor: int, path: Name) -> str:
    """The link-free path of an open file: the kernel's own where /proc tells it, so that no race
    can change it.
    """
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return os.path.realpath(path)


def _is_below(path: str, folder: str) -> bool:
    """Whether a link-free path lies at or below a folder."""
    if folder[:1] == "/" and path.startswith(folder if folder[-1] == "/" else f"{folder}/"):
        # only a folder without links in its name can be the beginning of a name without links
        return True
    real = os.path.realpath(folder)
    return path == real or path.startswith(real if real == "/" else f"{real}/")


def read_open(descriptor: int, limit: int = MAX_BYTES) -> bytes:
    """The bytes of an open file (opened with FLAGS). Raises OSError and Unreadable.

    Everything to the end: a file of /proc says that it has no bytes, and another may grow while it
    is read.
    """
    status = os.fstat(descriptor)
    check_kind(status)
    size = status.st_size
    if size > limit:
        raise TooLarge(_more_than(limit), errno.EFBIG)
    first = os.read(descriptor, size + 1 if size else _PIECE)
    parts, total = [first], len(first)
    while parts[-1] and total <= limit:
        parts.append(os.read(descriptor, _PIECE))
        total += len(parts[-1])
    if total > limit:
        raise TooLarge(_more_than(limit), errno.EFBIG)
    return first if total == len(first) else b"".join(parts)


def _more_than(limit: int) -> str:
    return f"it has more than {limit:,} bytes"


def _leaves(within: Name) -> str:
    return f"a link leads from it out of {os.fspath(within)}"
