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
from cpuplan.base.roots.tree import Limits, Status, Tree, absent

#: Records of extended headers, of all members.
MAX_RECORDS = 2_000_000


class Member(NamedTuple):
    """One member, as its header says; `body` is None where it is not wanted."""

    name: str
    header: archives.Header
    target: str
    body: bytes | None


def members(
    pieces: Iterator[bytes], wanted: Callable[[str, int], bool], limit: int, *, plain: bool
) -> Iterator[Member]:
    """The members in their order; `wanted` is asked with name and size.

    Compression has a checksum at its end that tells whether an archive is whole; of a plain one,
    only the checksums of its headers do. Both end with an empty block, unless the disk was full
    behind a pipe. Raises Unreadable for what is damaged, TooLarge for a bomb: more than `limit`
    bytes unpacked.
    """
    stream = _Stream(pieces, limit)
    extensions = _Extensions()
    last, count = "", 0
    while (block := stream.take(archives.BLOCK)).strip(b"\0"):
        at = stream.at - len(block)
        header = _header(block, last, at, checked=plain or not count)
        count += 1
        if count > archives.MAX_MEMBERS:
            raise TooMany(archives.MAX_MEMBERS, "members")
        if header.kind in b"LKx":
            extensions.add(header, stream, at)
            continue
        last = extensions.name or header.name
        if header.kind == b"S":
            stream.skip_map(block)
        body = stream.body(header.size, last) if wanted(last, header.size) else None
        if body is None:
            stream.skip(header.size, last)
        if header.kind != b"g":
            yield Member(last, header, extensions.target or header.target, body)
            extensions.name = extensions.target = ""
    if not count:
        raise Unreadable("it is not a tar archive")
    if len(block) < archives.BLOCK:
        raise _cut_after(last)
    if not plain:
        stream.drain()


def _header(block: bytes, last: str, at: int, *, checked: bool) -> archives.Header:
    """The header at byte `at`; `last` is the member before it."""
    if len(block) < archives.BLOCK:
        raise _cut_after(last) if last else Unreadable("it is not a tar archive")
    header = archives.read_header(block)
    if (
        header.size < 0
        or not header.name
        or (checked and not archives.is_sum(block, header.checksum))
    ):
        where = f"the header after {archives.clipped(last)}, at byte {at:,}, is damaged"
        raise Unreadable(where if at else "it is not a tar archive")
    return header


def _cut_after(last: str) -> Unreadable:
    return Unreadable(f"it is cut short after {archives.clipped(last)}")


class _Extensions:
    """Long name and target of the next member, of GNU tar (L, K) or pax (x)."""

    def __init__(self) -> None:
        self.name = self.target = ""
        self._bytes = self._records = 0

    def add(self, header: archives.Header, stream: "_Stream", at: int) -> None:
        """Read the header's bytes; it stands at byte `at`."""
        self._bytes += header.size
        if self._bytes > archives.MAX_EXTENSIONS:
            raise TooMany(archives.MAX_EXTENSIONS, "bytes of long names and extended headers")
        if header.size > archives.MAX_EXTENSION:
            problem = f"of {header.size:,} bytes, at byte {at:,}, is not a header"
            raise Unreadable(f"an extended header {problem}")
        body = stream.body(header.size, "an extended header")
        if header.kind == b"L":
            self.name = archives.long_text(body)
        elif header.kind == b"K":
            self.target = archives.long_text(body)
        else:
            records = self._read(body)
            self.name = records.get("path", self.name)
            self.target = records.get("linkpath", self.target)

    def _read(self, body: bytes) -> dict[str, str]:
        """The records of an extended header of pax."""
        records = {}
        try:
            for key, value in archives.pax_records(body):
                self._records += 1
                if self._records > MAX_RECORDS:
                    raise TooMany(MAX_RECORDS, "records in extended headers")
                records[key] = value
        except ValueError as error:
            raise Unreadable(f"an extended header is damaged at {str(error)!r}") from None
        return records


class _Stream:
    """Bytes that come in pieces."""

    def __init__(self, pieces: Iterator[bytes], limit: int) -> None:
        self._pieces, self._limit = pieces, limit
        self._data = b""
        self._at = self._total = 0

    @property
    def at(self) -> int:
        """How many bytes were taken."""
        return self._total - len(self._data) + self._at

    def take(self, size: int) -> bytes:
        """The next bytes; fewer at the end."""
        end = self._at + size
        if end > len(self._data):
            parts = [self._data[self._at :]]
            missing = end - len(self._data)
            while missing > 0 and self._next():
                parts.append(self._data[:missing])
                missing -= len(parts[-1])
            self._at = len(parts[-1]) if len(parts) > 1 else len(self._data)
            return b"".join(parts)
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def body(self, size: int, name: str) -> bytes:
        """A member's bytes, without the rest of their last block."""
        padded = size + -size % archives.BLOCK
        taken = self.take(padded)
        if len(taken) < size:
            raise _cut_in(name, size)
        return taken[:size] if padded > size else taken

    def skip(self, size: int, name: str) -> None:
        """Pass over a member's bytes, without keeping them."""
        missing = self._at + size + -size % archives.BLOCK - len(self._data)
        while missing > 0:
            if not self._next():
                raise _cut_in(name, size)
            missing -= len(self._data)
        self._at = len(self._data) + missing

    def skip_map(self, block: bytes) -> None:
        """Pass over GNU tar's map of a sparse file; each block tells whether there is a next."""
        more = block[482]
        while more:
            block = self.take(archives.BLOCK)
            more = len(block) == archives.BLOCK and block[504]

    def drain(self) -> None:
        """Pass over all that is left."""
        while self._next():
            pass

    def _next(self) -> bool:
        """Whether there is another piece, which is then the data."""
        try:
            piece = next(self._pieces, b"")
        except TooLarge:
            raise
        except Unreadable as error:
            problem = f"{error.problem} after {self._total:,} unpacked bytes"
            raise Unreadable(problem, error.errno) from None
        self._total += len(piece)
        if self._total > self._limit:
            raise TooMany(self._limit, "bytes unpacked")
        if piece:
            self._data, self._at = piece, 0
        return bool(piece)


def _cut_in(name: str, size: int) -> Unreadable:
    problem = f"it is cut short in {archives.clipped(name)}, which has {size:,} bytes"
    return Unreadable(problem, errno.EIO)


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
