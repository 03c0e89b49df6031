"""Safe reading of files that others may have made: regular, bounded, inside their root, no waiting.

A repository, a copied host and a must-gather may have anything under any name: a pipe without a
writer, an endless device, a link to a foreign file, a folder without permission. Each is an
`Unreadable`, whose text is a phrase for messages; nothing is skipped silently.
"""

import errno
import os
import stat

#: Of one file, unless its reader sets another limit.
MAX_BYTES = 64 * 1024 * 1024
#: Does not wait for a pipe's writer, and takes no terminal.
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_PIECE = 256 * 1024
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFREG: "a file",
}

Name = str | os.PathLike[str]
#: The file that was begun last, for the message of a command that memory does not suffice for.
_last: Name = ""


class Unreadable(Exception):  # noqa: N818 - what is the case, not what went wrong
    """A file or folder that is not read, with a phrase for messages and the system's `errno`."""

    def __init__(self, problem: str, number: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.errno = number


class TooLarge(Unreadable):
    """More bytes, or files, than are read."""


class TooMany(TooLarge):
    """More than `limit` of what is counted: `bytes`, `names`."""

    def __init__(self, limit: int, what: str, number: int | None = None) -> None:
        super().__init__(f"it has more than {limit:,} {what}", number)
        self.limit, self.what = limit, what


class Outside(Unreadable):
    """A link that leads out of the folder that everything must be in."""


class Special(Unreadable):
    """A folder, pipe, socket or device where a file is wanted."""


def read_regular(path: Name, *, within: Name | None = None, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file of at most `limit` bytes. Raises Unreadable for others.

    Links are followed, but only below the folder `within`; a resolved `within` is the fastest.
    """
    note(path)
    try:
        # First of all, since opening some devices has an effect: a watchdog starts.
        check_kind(os.stat(path).st_mode)
        descriptor = os.open(path, FLAGS)
        try:
            if within is not None and not is_below(_opened(descriptor, path), os.fspath(within)):
                raise Outside(leads_out(within))
            return read_open(descriptor, limit)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        raise unreadable(error) from error


def note(path: Name) -> None:
    """Remember which file is read."""
    global _last  # noqa: PLW0603 - of the process, as its memory is
    _last = path


def last_read() -> str:
    """The file whose reading began last; empty before the first."""
    return os.fspath(_last)


def is_plain(path: str) -> bool:
    """Whether the path is relative, normalised, on one line, and stays below its folder."""
    if {"", ".", ".."}.intersection(path.split("/")):
        return False
    return path.isprintable() and "\\" not in path


def kind_of(mode: int) -> str:
    """The kind of a file, by its st_mode: `a pipe`."""
    return _KINDS.get(stat.S_IFMT(mode), "a special file")


def unreadable(error: OSError | ValueError) -> Unreadable:
    """The system's refusal. A ValueError is a NUL in a name."""
    if not isinstance(error, OSError):
        return Unreadable("its name is not a valid file name")
    if error.errno == errno.ELOOP:
        return Unreadable("its links are circular", error.errno)
    return Unreadable(error.strerror or str(error), error.errno)


def refusal_of(path: str, error: OSError | ValueError) -> Unreadable:
    """The refusal of an existing path, which may be a link."""
    refusal = unreadable(error)
    if refusal.errno == errno.ENOENT and os.path.islink(path):
        return Unreadable("it is a broken link", refusal.errno)
    return refusal


def check_kind(mode: int) -> None:
    """Raise Special for the st_mode of anything but a regular file."""
    if not stat.S_ISREG(mode):
        number = errno.EISDIR if stat.S_ISDIR(mode) else None
        raise Special(f"it is {kind_of(mode)}, not a file", number)


def _opened(descriptor: int, path: Name) -> str:
    """The link-free path of an open file: from /proc if possible, so that no race changes it."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return os.path.realpath(path)


def is_below(path: str, folder: str) -> bool:
    """Whether a link-free path is at or below a folder."""
    if folder[:1] == "/" and path.startswith(folder if folder[-1] == "/" else f"{folder}/"):
        # Only a path without links can be the beginning of a path without links.
        return True
    real = os.path.realpath(folder)
    return path == real or path.startswith(real if real == "/" else f"{real}/")


def read_open(descriptor: int, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file that was opened with FLAGS. Raises OSError and Unreadable.

    It is read to the end: a file of /proc has size 0, and another may grow while it is read.
    """
    status = os.fstat(descriptor)
    check_kind(status.st_mode)
    size = status.st_size
    check_size(size, limit)
    first = os.read(descriptor, size + 1 if size else _PIECE)
    if size and len(first) == size:
        return first  # one byte more was asked for, so this is the end
    parts, total = [first], len(first)
    while parts[-1] and total <= limit:
        parts.append(os.read(descriptor, _PIECE))
        total += len(parts[-1])
    check_size(total, limit)
    return first if total == len(first) else b"".join(parts)


def check_size(size: int, limit: int) -> None:
    """Raise TooLarge for more than `limit` bytes."""
    if size > limit:
        raise TooMany(limit, "bytes", errno.EFBIG)


def leads_out(within: Name) -> str:
    """The phrase for a link out of the folder `within`."""
    return f"a link from it leads out of {os.fspath(within)}"
