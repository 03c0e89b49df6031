"""The members of a tar archive, read once from its beginning to its end."""

import errno
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cpuplan.base.files import TooLarge, Unreadable, tar

#: Unpacked, of all members: a sosreport has logs of some GiB. A bomb ends here.
MAX_BYTES = 8 * 1024 * 1024 * 1024


class Member(NamedTuple):
    """One member, as its header says; `body` is None where it is not wanted."""

    name: str
    header: tar.Header
    target: str
    body: bytes | None


def members(
    pieces: Iterator[bytes],
    wanted: Callable[[str, int], bool],
    limit: int | None = None,
    *,
    plain: bool,
) -> Iterator[Member]:
    """The members in their order; `wanted` is asked with name and size.

    Compression tells whether an archive is whole; of a plain one, only the checksums of its headers
    and the empty block at its end do. Raises Unreadable for what is damaged, TooLarge for a bomb.
    """
    stream = _Stream(pieces, limit or MAX_BYTES)
    name = target = last = ""  # name and target are of the next member, where they are long
    extensions = count = 0
    while (block := stream.take(tar.BLOCK)).strip(b"\0"):
        header = _header(block, last, checked=plain or not count)
        count += 1
        if count > tar.MAX_MEMBERS:
            raise TooLarge(f"it has more than {tar.MAX_MEMBERS:,} members")
        if header.kind in b"LKx":
            extensions += header.size
            if extensions > tar.MAX_EXTENSIONS or header.size > tar.MAX_EXTENSION:
                raise TooLarge(f"its names have more than {tar.MAX_EXTENSIONS:,} bytes")
            name, target = _extended(header, stream.body(header.size), name, target)
            continue
        last = name or header.name
        if header.kind == b"S":
            stream.skip_map(block)
        body = stream.body(header.size) if wanted(last, header.size) else None
        if body is None:
            stream.skip(header.size + -header.size % tar.BLOCK)
        if header.kind != b"g":
            yield Member(last, header, target or header.target, body)
            name = target = ""
    if not count or len(block) < tar.BLOCK:
        raise _cut(last) if count else Unreadable("it is not a tar archive")


def _header(block: bytes, last: str, *, checked: bool) -> tar.Header:
    if len(block) < tar.BLOCK:
        raise _cut(last) if last else Unreadable("it is not a tar archive")
    header = tar.header(block)
    if header.size < 0 or not header.name or (checked and not tar.is_sum(block, header.checksum)):
        where = f"the header after {tar.clipped(last)} is damaged"
        raise Unreadable(where if last else "it is not a tar archive")
    return header


def _extended(header: tar.Header, body: bytes, name: str, target: str) -> tuple[str, str]:
    """Long name and target for the next member, of GNU tar (L, K) or pax (x)."""
    if header.kind == b"L":
        return tar.long_text(body), target
    if header.kind == b"K":
        return name, tar.long_text(body)
    try:
        records = dict(tar.records(body))
    except ValueError as error:
        raise Unreadable(f"an extended header is damaged at {str(error)!r}") from None
    return records.get("path", name), records.get("linkpath", target)


def _cut(last: str) -> Unreadable:
    return Unreadable(f"it is cut short after {tar.clipped(last)}")


class _Stream:
    """Bytes that come in pieces."""

    def __init__(self, pieces: Iterator[bytes], limit: int) -> None:
        self._pieces, self._limit = pieces, limit
        self._data = b""
        self._at = self._total = 0

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

    def body(self, size: int) -> bytes:
        """A member's bytes, without the rest of their last block."""
        padded = size + -size % tar.BLOCK
        taken = self.take(padded)
        if len(taken) < size:
            raise Unreadable("it is cut short", errno.EIO)
        return taken[:size] if padded > size else taken

    def skip(self, size: int) -> None:
        """Pass over bytes, without keeping them."""
        missing = self._at + size - len(self._data)
        while missing > 0:
            if not self._next():
                raise Unreadable("it is cut short", errno.EIO)
            missing -= len(self._data)
        self._at = len(self._data) + missing

    def skip_map(self, block: bytes) -> None:
        """Pass over GNU tar's map of a sparse file; each block tells whether there is a next."""
        more = block[482]
        while more:
            block = self.take(tar.BLOCK)
            more = len(block) == tar.BLOCK and block[504]

    def _next(self) -> bool:
        """Whether there is another piece, which is then the data."""
        piece = next(self._pieces, b"")
        self._total += len(piece)
        if self._total > self._limit:
            raise TooLarge(f"it has more than {self._limit:,} bytes unpacked")
        if piece:
            self._data, self._at = piece, 0
        return bool(piece)
