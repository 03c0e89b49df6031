"""An archive as the root of a node: read once, and what is small enough kept in memory."""

import errno
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.base.files import FLAGS, TooLarge, Unreadable, check_kind, check_size, tar
from cpuplan.base.files.packed import kind_of_stream, unpacked
from cpuplan.check.roots.members import Member, members
from cpuplan.check.roots.reader import MAX_FILE, MAX_NAMES, Status, absent, limit_of
from cpuplan.check.roots.tree import Tree

#: Of all files that are kept; a node of 2,000 threads has some MiB.
MAX_KEPT = 256 * 1024 * 1024
MAX_FOLDERS = 100_000
#: A must-gather has an archive of each node: of 2,000 CPUs some 4 MiB.
NESTED = "sysinfo.tgz"
MAX_NESTED = 16 * 1024 * 1024
#: Unpacked, as `import` reads it: 1,920 CPUs need 103 MiB.
MAX_NESTED_UNPACKED = 384 * 1024 * 1024
#: Folders of sosreports and must-gathers that hold most of their bytes, and no node's files.
_LOGS = frozenset({"audit_logs", "host_service_logs", "journal", "namespaces", "sos_logs"})
_PIECE = 256 * 1024
_KINDS = {
    b"1": stat.S_IFREG,
    b"2": stat.S_IFLNK,
    b"3": stat.S_IFCHR,
    b"4": stat.S_IFBLK,
    b"5": stat.S_IFDIR,
    b"6": stat.S_IFIFO,
    **dict.fromkeys(tar.FILES, stat.S_IFREG),
}


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

    def __init__(self, pieces: Iterator[bytes], limit: int | None = None) -> None:
        first = next(pieces, b"")
        self.entries: dict[str, Entry] = {"": _IMPLIED}
        self._kept = 0
        plain = kind_of_stream(first) is None
        whole = unpacked(_with(first, pieces))
        for member in members(whole, self._wants, limit, plain=plain):
            self._add(member)
        self.names = self._names()

    def _wants(self, name: str, size: int) -> bool:
        limit = MAX_NESTED if name.endswith(f"/{NESTED}") else limit_of(name)
        if size > min(limit, MAX_KEPT - self._kept) or not _LOGS.isdisjoint(name.split("/")):
            return False
        self._kept += size
        return True

    def _add(self, member: Member) -> None:
        path, header = tar.inside(member.name), member.header
        kind = _KINDS.get(header.kind)
        if path and header.kind == b"1":
            other = tar.inside(member.target)
            problem = Unreadable("it is a hard link to a file that is not in the archive")
            lost = Entry(Status(stat.S_IFREG, 0), problem=problem)
            self.entries[path] = self.entries.get(other or "", lost) if other else lost
        elif path:
            if header.kind in tar.FILES and member.name.endswith("/"):
                kind = stat.S_IFDIR
            mode = (kind or stat.S_IFREG) | (stat.S_IMODE(header.mode) if header.mode > 0 else 0)
            self.entries[path] = Entry(
                Status(mode, header.mtime), member.body or b"", member.target, _problem(member)
            )

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
                raise TooLarge(f"it has more than {MAX_FOLDERS:,} folders")
        return names


def _with(first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from pieces


def _problem(member: Member) -> Unreadable | None:
    """Why a file's bytes are not kept."""
    header = member.header
    if header.kind == b"S":
        return Unreadable("it is a sparse file")
    if header.kind not in _KINDS:
        return Unreadable(f"it is a member of type {header.kind.decode('latin-1')!r}")
    if member.body is not None or header.kind not in tar.FILES:
        return None
    limit = limit_of(member.name)
    if header.size > limit:
        return TooLarge(f"it has more than {limit:,} bytes", errno.EFBIG)
    return TooLarge("it is among logs, or beyond what is kept of an archive", errno.EFBIG)


class ArchiveReader(Tree[str]):
    """Reads an archive; `top` is the folder in it that is the root. Places are link-free paths."""

    def __init__(self, index: Index, top: str = "") -> None:
        super().__init__()
        self._index, self._path = index, top

    def read(self, path: str, limit: int = MAX_FILE) -> bytes:
        entry = self._entry(path)
        check_kind(entry.status.mode)
        if entry.problem:
            raise entry.problem
        check_size(len(entry.body), limit)
        return entry.body

    def entries(self, path: str) -> list[tuple[str, bool]]:
        names = self._index.names.get(self.folder(path), {})
        if len(names) > MAX_NAMES:
            raise TooLarge(f"it has more than {MAX_NAMES:,} names")
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

    def _above(self, place: str) -> str:
        return place if place == self._path else place.rpartition("/")[0]

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
