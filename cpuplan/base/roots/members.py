"""The members of a tar archive, read once from its beginning to its end."""

import errno
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cpuplan.base.files import TooLarge, TooMany, Unreadable, archives

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
