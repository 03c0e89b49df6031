"""Safe reading and listing of files that others may have made; what of them is a repository.

A repository, a copied host and a must-gather may have anything under any name: a pipe without a
writer, an endless device, a link to a foreign file, a folder without permission. Each is an
`Unreadable`, whose text is a phrase for messages; nothing is skipped silently.

A commit may hold folders that are repositories, with configuration that starts programs: Git takes
any folder with `HEAD`, `objects` and `refs` for one. It refuses to commit the name `.git`; an
archive may have it.
"""

import errno
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

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


def text_of(path: Name) -> str:
    """A text as far as it is UTF-8; empty for what cannot be read."""
    try:
        return read_regular(path).decode(errors="replace")
    except Unreadable:
        return ""


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


#: What Git calls its folder in a work tree, or the file that names it.
DOT_GIT = ".git"
#: HFS+ passes over these letters in a name.
_IGNORED = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
_OBJECTS = {"objects", "refs"}


def find_top(folder: str) -> str | None:
    """The nearest folder with `.git`, from a link-free path upwards on its file system."""
    try:
        device = os.stat(folder).st_dev
        while not os.path.lexists(os.path.join(folder, DOT_GIT)):
            above = os.path.dirname(folder)
            if above == folder or os.stat(above).st_dev != device:
                return None
            folder = above
    except (OSError, ValueError):
        return None
    return folder


def is_dot_git(name: str) -> bool:
    """Whether some file system takes a name for `.git`: in other letters, as NTFS's short one."""
    if name[:1] not in ".gG" and name.isascii():
        return False
    plain = name.translate(_IGNORED).casefold().partition(":")[0].rstrip(" .")
    return plain in (".git", "git~1")


def is_repository(names: Collection[str]) -> bool:
    """Whether a folder with these names is one that Git takes for a repository."""
    if not any(name in ("HEAD", "head") for name in names):
        return False
    lower = {name.casefold() for name in names}
    return lower >= _OBJECTS or "commondir" in lower


def nested_repository(names: Collection[str]) -> str | None:
    """The name in a folder that makes a repository of it; empty if the folder itself is one."""
    for name in names:
        if is_dot_git(name):
            return name
    return "" if is_repository(names) else None


def find_repositories(*folders: str) -> Iterator[str]:
    """The repositories at and below folders; links are not followed, a missing folder has none."""
    todo = list(folders)
    while todo:
        folder = todo.pop()
        try:
            with os.scandir(folder) as entries:
                below = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError:
            continue  # whoever reads the folder says why it cannot
        name = nested_repository(below)
        if name is not None:
            yield os.path.join(folder, name).rstrip(os.sep)
            continue
        todo += [f"{folder}/{name}" for name, is_folder in below.items() if is_folder]


def repositories_among(paths: Iterable[str]) -> list[str]:
    """The repositories that paths of files, as a tree of Git has them, would make, sorted."""
    names: dict[str, set[str]] = {}
    for path in paths:
        folder, slash, name = path.rpartition("/")
        while name not in names.setdefault(folder, set()):
            names[folder].add(name)
            if not slash:
                break
            folder, slash, name = folder.rpartition("/")
    places = ((folder, nested_repository(members)) for folder, members in names.items())
    return sorted(f"{folder}/{name}".strip("/") for folder, name in places if name is not None)


#: Files below one folder, and names that are read to find them.
MAX_FILES = 100_000
MAX_NAMES = 1_000_000


class Listing(NamedTuple):
    """The files of a folder, sorted, and the paths that could not be listed, with the reasons."""

    files: list[Path]
    problems: list[tuple[Path, Unreadable]]


def list_files(
    *folders: Name,
    within: Name,
    suffixes: tuple[str, ...] = (".yaml", ".yml"),
    limit: int = MAX_FILES,
    hidden: bool = False,
) -> Listing:
    """The files below `folders` whose names end in one of `suffixes`, sorted by path.

    A missing folder has none, and hidden names are left out unless `hidden`. Links that stay
    inside `within` are followed; a file with several paths is listed once, by a path without links
    if it has one.
    """
    walk = _Walk(os.path.realpath(within), suffixes, limit, hidden=hidden)
    walk.walk([os.fspath(folder) for folder in folders])
    return Listing(sorted(walk.files), sorted(walk.problems, key=lambda problem: problem[0]))


class _Walk:
    """One walk: first folders and files without links, so that links to these add nothing."""

    def __init__(self, root: str, suffixes: tuple[str, ...], limit: int, *, hidden: bool) -> None:
        self.files: list[Path] = []
        self.problems: list[tuple[Path, Unreadable]] = []
        self._root, self._suffixes, self._limit = root, suffixes, limit
        self._takes_hidden = hidden
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
        self.problems.append((Path(path), error))

    def _exists(self, top: str) -> bool:
        try:
            if not stat.S_ISDIR(os.stat(top).st_mode):
                self._note(top, Special("it is not a folder", errno.ENOTDIR))
                return False
        except (OSError, ValueError) as error:
            refusal = refusal_of(top, error)
            if refusal.errno != errno.ENOENT or os.path.islink(top):
                self._note(top, refusal)
            return False
        return True

    def _is_inside(self, path: str) -> bool:
        inside = is_below(os.path.realpath(path), self._root)
        if not inside:
            self._note(path, Outside(leads_out(self._root)))
        return inside

    def _folders_in(self, folder: str) -> list[str]:
        """The folders in a new folder; its files are taken, and its links noted for later."""
        try:
            if not self._is_new(os.stat(folder)):
                return []
            with os.scandir(folder) as entries:
                visible = (entry for entry in entries if self._takes_hidden or entry.name[0] != ".")
                return [entry.path for entry in visible if self._is_folder(entry)]
        except OSError as error:
            self._note(folder, unreadable(error))
            return []

    def _is_new(self, status: os.stat_result) -> bool:
        known = (status.st_dev, status.st_ino) in self._seen
        self._seen.add((status.st_dev, status.st_ino))
        return not known

    def _is_folder(self, entry: "os.DirEntry[str]") -> bool:
        """Whether it is a folder to go into; else take the file, or note the link."""
        self._names += 1
        if self._names > MAX_NAMES:
            raise TooLarge(f"it has more than {MAX_NAMES:,} names")
        try:
            entry.name.encode()
            status = entry.stat()
        except UnicodeEncodeError:
            name = os.fsencode(entry.path).decode(errors="backslashreplace")
            self._note(name, Unreadable("its name is not UTF-8"))
            return False
        except OSError as error:
            self._note(entry.path, refusal_of(entry.path, error))
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
            self._note(path, refusal_of(path, error))

    def _take(self, path: str, status: os.stat_result) -> None:
        if not path.endswith(self._suffixes):
            return
        if not stat.S_ISREG(status.st_mode):
            self._note(path, Special(f"it is {kind_of(status.st_mode)}, not a file"))
        elif self._is_new(status) or (status.st_nlink > 1 and not os.path.islink(path)):
            if len(self.files) == self._limit:
                raise TooLarge(f"it has more than {self._limit:,} files")
            self.files.append(Path(path))
