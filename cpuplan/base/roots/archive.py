"""An archive as a root: read once, and what its reader wants of it kept in memory."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cpuplan.base.files import (
    FLAGS,
    TooLarge,
    TooMany,
    Unreadable,
    archives,
    check_kind,
    check_size,
)
from cpuplan.base.files.archives import kind_of_stream, unpacked
from cpuplan.base.roots.members import Member, members
from cpuplan.base.roots.reader import Limits, Status, absent
from cpuplan.base.roots.tree import Tree

MAX_FOLDERS = 100_000
_PIECE = 256 * 1024
_KINDS = {
    b"1": stat.S_IFREG,
    b"2": stat.S_IFLNK,
    b"3": stat.S_IFCHR,
    b"4": stat.S_IFBLK,
    b"5": stat.S_IFDIR,
    b"6": stat.S_IFIFO,
    **dict.fromkeys(archives.FILE_TYPES, stat.S_IFREG),
}


class Keeping(NamedTuple):
    """What of an archive is kept."""

    #: Of all members, also those that are not kept: a bomb ends here.
    unpacked: int
    #: Bytes of all files that are kept.
    kept: int
    #: Bytes of one file, by its name in the archive.
    limit_of: Callable[[str], int]
    #: Whether a file is never asked for, by its name.
    is_log: Callable[[str], bool] = lambda _: False


#: Is told what is not as in other archives: `a device or pipe`, and the name of the member.
Note = Callable[[str, str], None]


class Entry(NamedTuple):
    """A file, link or folder of an archive; `problem` is why a file's bytes are not there."""

    status: Status
    body: bytes = b""
    target: str = ""
    problem: Unreadable | None = None


_IMPLIED = Entry(Status(stat.S_IFDIR | 0o755, 0))


class Index:
    """What is in an archive, by path: of one path the last member counts, as in unpacking.

    Names that are absolute or lead out are left out. Raises Unreadable for an archive that is
    damaged, TooLarge for a bomb.
    """

    def __init__(
        self, pieces: Iterator[bytes], keeping: Keeping, note: Note = lambda _reason, _name: None
    ) -> None:
        first = next(pieces, b"")
        self.entries: dict[str, Entry] = {"": _IMPLIED}
        self._keeping, self._note = keeping, note
        self._kept = 0
        plain = kind_of_stream(first) is None
        whole = unpacked(_with(first, pieces))
        for member in members(whole, self._wants, keeping.unpacked, plain=plain):
            self._add(member)
        self.names = self._names()

    def _wants(self, name: str, size: int) -> bool:
        limit = min(self._keeping.limit_of(name), self._keeping.kept - self._kept)
        if size > limit or self._keeping.is_log(name):
            return False
        self._kept += size
        return True

    def _add(self, member: Member) -> None:
        path, header = archives.path_inside(member.name), member.header
        if path is None:
            is_long = len(member.name) > archives.MAX_NAME
            reason = "a name that is too long" if is_long else "a name that leads out of it"
            self._note(reason, member.name)
        elif path and header.kind == b"1":
            self.entries[path] = self._linked(path, archives.path_inside(member.target))
        elif path:
            self.entries[path] = self._entry(member)

    def _linked(self, path: str, other: str | None) -> Entry:
        """A second name of a member that came before (pax, "typeflag 1")."""
        if other and other in self.entries:
            return self.entries[other]
        if other is None:
            self._note("a hard link that leads out of it", path)
        else:
            self._note("a hard link to a file that is not in it", path)
        problem = Unreadable("it is a hard link to a file that is not in the archive")
        return Entry(Status(stat.S_IFREG, 0), problem=problem)

    def _entry(self, member: Member) -> Entry:
        header = member.header
        kind = _KINDS.get(header.kind)
        if header.kind in archives.FILE_TYPES and member.name.endswith("/"):
            kind = stat.S_IFDIR
        if header.kind in archives.SPECIAL_TYPES:
            self._note("a device or pipe", member.name)
        elif kind is None:
            sparse = header.kind == b"S"
            reason = "a sparse file" if sparse else f"a member of type {header.kind!r}"
            self._note(reason, member.name)
        mode = (kind or stat.S_IFREG) | (stat.S_IMODE(header.mode) if header.mode > 0 else 0)
        problem = _problem(member, self._keeping.limit_of(member.name))
        return Entry(Status(mode, header.mtime), member.body or b"", member.target, problem)

    def _names(self) -> dict[str, dict[str, bool]]:
        """The names in each folder, each with whether it is a folder; also of implied folders."""
        names: dict[str, dict[str, bool]] = {"": {}}
        for path, entry in list(self.entries.items()):
            is_folder = stat.S_ISDIR(entry.status.mode)
            if is_folder:
                names.setdefault(path, {})
            rest, known = path, not path
            while not known:
                rest, _, name = rest.rpartition("/")
                known = rest in names and rest in self.entries
                names.setdefault(rest, {})[name] = is_folder
                is_folder = stat.S_ISDIR(self.entries.setdefault(rest, _IMPLIED).status.mode)
            if len(names) > MAX_FOLDERS:
                raise TooMany(MAX_FOLDERS, "folders")
        return names


def _with(first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from pieces


def _problem(member: Member, limit: int) -> Unreadable | None:
    """Why a file's bytes are not kept."""
    header = member.header
    if header.kind == b"S":
        return Unreadable("it is a sparse file")
    if header.kind not in _KINDS:
        return Unreadable(f"it is a member of type {header.kind.decode('latin-1')!r}")
    if member.body is not None or header.kind not in archives.FILE_TYPES:
        return None
    if header.size > limit:
        return TooMany(limit, "bytes", errno.EFBIG)
    return TooLarge("it is among logs, or beyond what is kept of an archive", errno.EFBIG)


class ArchiveReader(Tree[str]):
    """Reads an archive; `top` is the folder in it that is the root. Places are link-free paths."""

    def __init__(self, index: Index, limits: Limits, top: str = "") -> None:
        super().__init__(limits)
        self._index, self._path = index, top

    def read(self, path: str, limit: int) -> bytes:
        entry = self._entry(path)
        check_kind(entry.status.mode)
        if entry.problem:
            raise entry.problem
        check_size(len(entry.body), limit)
        return entry.body

    def entries(self, path: str) -> list[tuple[str, bool]]:
        names = self._index.names.get(self.folder(path), {})
        if len(names) > self._limits.names:
            raise TooMany(self._limits.names, "names")
        return sorted(names.items())

    def identity(self, path: str) -> str:
        return self.folder(path)

    def status(self, path: str) -> Status:
        return self._entry(path).status

    def link(self, path: str) -> str | None:
        folder, _, name = path.rpartition("/")
        place = _join(self.folder(folder), name)
        self._known(place)
        return self._target(place, "")

    def plain(self, path: str) -> str:
        place, name = self.found(path)
        whole = place if name == "." else _join(place, name)
        self._known(whole)
        return whole[len(self._path) :].lstrip("/")

    def _entry(self, path: str) -> Entry:
        place, name = self.found(path)
        return self._known(place if name == "." else _join(place, name))

    def _known(self, place: str) -> Entry:
        entry = self._index.entries.get(place)
        if entry is None:
            raise absent()
        return entry

    def _top(self) -> str:
        return self._path

    def _above(self, place: str) -> str | None:
        return None if place == self._path else place.rpartition("/")[0]

    def _below(self, place: str, name: str) -> str:
        below = _join(place, name)
        if not stat.S_ISDIR(self._known(below).status.mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return below

    def _target(self, place: str, name: str) -> str | None:
        entry = self._index.entries.get(_join(place, name))
        return entry.target if entry and stat.S_ISLNK(entry.status.mode) else None


def _join(place: str, name: str) -> str:
    return f"{place}/{name}" if place and name else place or name


def pieces_of(path: str) -> Iterator[bytes]:
    """The bytes of a regular file, in pieces. Raises OSError and Unreadable."""
    descriptor = os.open(path, FLAGS)
    try:
        check_kind(os.fstat(descriptor).st_mode)
        while piece := os.read(descriptor, _PIECE):
            yield piece
    finally:
        os.close(descriptor)
