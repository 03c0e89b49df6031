"""Compressed streams, told apart by their first bytes, and the headers of tar archives.

Compressed streams may be joined, as pigz and pbzip2 leave them (RFC 1952, 2.2); what follows the
last one is ignored, as their own tools do.

Headers of tar archives are read here because the standard library's tarfile builds an object for
each member: a gather-sysinfo snapshot has up to 19,000, of which a few hundred are wanted.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from cpuplan.base.files import TooLarge, TooMany, Unreadable

#: Joined streams: pbzip2 writes one for each 900 kB, bgzip for each 64 KiB.
MAX_STREAMS = 20_000
#: The largest dictionary of xz's own presets has 64 MiB.
_XZ_MEMORY = 128 * 1024 * 1024
#: Taken out at a time: what comes out is never much larger than what is kept.
_CHUNK = 1024 * 1024
#: Unpacked bytes that any stream may have, and those for each packed byte beyond: the files of a
#: machine of 960 CPUs have 47 MiB and shrink to 1/250 by xz, logs of some GiB to 1/20.
MAX_SMALL = 512 * 1024 * 1024
MAX_RATIO = 100
_GZIP, _XZ, _BZIP2 = b"\x1f\x8b", b"\xfd7zXZ\0", b"BZh"


def is_archive(start: bytes) -> bool:
    """Whether a file that begins with `start` (512 bytes at least) is an archive or compressed."""
    return start.startswith((_GZIP, _XZ, _BZIP2)) or start[257:262] == b"ustar"


def kind_of_stream(start: bytes) -> str | None:
    """The name of the compression; None for none."""
    kinds = {_GZIP: "gzip", _XZ: "xz", _BZIP2: "bzip2"}
    return next((kind for magic, kind in kinds.items() if start.startswith(magic)), None)


def unpacked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """What a stream unpacks to, in chunks of 1 MiB at most; itself if it is not compressed.

    Raises Unreadable for a stream that is damaged or cut short, TooLarge for a bomb.
    """
    meter = _Meter()
    pieces = meter.packed(pieces)
    rest = next(pieces, b"")
    kind = kind_of_stream(rest)
    if kind is None:
        yield rest
        yield from pieces
        return
    for _ in range(MAX_STREAMS):
        unpacker = UNPACKERS[kind]()
        while not unpacker.eof:
            if not rest:
                raise Unreadable(f"its {kind} data is cut short")
            yield from meter.unpacked(_chunks(unpacker, rest, kind))
            rest = unpacker.unused_data if unpacker.eof else next(pieces, b"")
        rest = _start_of_next(rest, pieces, kind)
        if kind_of_stream(rest) != kind:
            return
    raise TooMany(MAX_STREAMS, "joined streams")


class _Meter:
    """Counts what goes into a stream and what comes out: a bomb is small and unpacks for long."""

    def __init__(self) -> None:
        self._in = self._out = 0

    def packed(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """The same pieces."""
        for piece in pieces:
            self._in += len(piece)
            yield piece

    def unpacked(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The same chunks, as far as a stream of so many bytes may have them."""
        for chunk in chunks:
            self._out += len(chunk)
            if self._out > max(MAX_SMALL, MAX_RATIO * self._in):
                ratio = f"more than {MAX_RATIO} bytes for each packed one"
                raise TooLarge(f"it has more than {MAX_SMALL:,} bytes unpacked, and {ratio}")
            yield chunk


def _start_of_next(rest: bytes, pieces: Iterator[bytes], kind: str) -> bytes:
    """What follows a stream: without padding (xz format, 2.2), and enough to be recognized."""
    while True:
        rest = rest.lstrip(b"\0") if kind == "xz" else rest
        if len(rest) >= len(_XZ):
            return rest
        more = next(pieces, b"")
        if not more:
            return rest
        rest += more


def _chunks(unpacker: Any, piece: bytes, kind: str) -> Iterator[bytes]:
    try:
        yield from chunks(unpacker, piece)
    # zlib.error, LZMAError, OSError, EOFError: the modules' errors have no common base
    except Exception as error:
        raise Unreadable(f"its {kind} data cannot be unpacked ({error})") from None


def chunks(unpacker: Any, piece: bytes) -> Iterator[bytes]:
    """What `piece` unpacks to, in chunks."""
    while True:
        part = unpacker.decompress(piece, _CHUNK)
        # zlib gives back what it did not take, the others keep it
        piece = getattr(unpacker, "unconsumed_tail", b"")
        if part:
            yield part
        if unpacker.eof or not (part or piece):
            return


def _gzip() -> Any:
    import zlib

    return zlib.decompressobj(31)


def _xz() -> Any:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


def _bzip2() -> Any:
    import bz2

    return bz2.BZ2Decompressor()


#: What unpacks one stream, by its name.
UNPACKERS: dict[str, Callable[[], Any]] = {"gzip": _gzip, "xz": _xz, "bzip2": _bzip2}


BLOCK = 512
#: Characters of a name; the longest path in /sys, a device behind ten PCI bridges, has 300.
MAX_NAME = 1024
#: An extended header, which may hold attributes of some 64 KiB, and all of an archive.
MAX_EXTENSION = 1024 * 1024
MAX_EXTENSIONS = 64 * 1024 * 1024
#: Members; 4,096 CPUs have 222,000 files. Headers count that only bring a long name, too.
MAX_MEMBERS = 300_000
FILE_TYPES = (b"0", b"\0", b"7")
SPECIAL_TYPES = (b"3", b"4", b"6")
#: name, mode, size, time, checksum, type, link target, magic, prefix (pax, "ustar Interchange
#: Format").
_HEADER = struct.Struct("100s8s16x12s12s8sc100s6s82x155s12x")


class Header(NamedTuple):
    """A member's header; a number that is none is -1, and so is the size of a damaged one."""

    name: str
    kind: bytes
    size: int
    target: str
    checksum: int
    mode: int
    mtime: int


def read_header(data: bytes, at: int = 0) -> Header:
    """The header in the block at `at`."""
    raw_name, mode, raw_size, mtime, checksum, kind, raw_target, magic, prefix = (
        _HEADER.unpack_from(data, at)
    )
    name: str = raw_name.partition(b"\0")[0].decode("utf-8", "replace")
    if magic == b"ustar\0" and prefix[0]:
        name = f"{header_text(prefix)}/{name}"
    # Links and folders have no bytes, whatever the size field says.
    size = 0 if kind in b"125" else header_number(raw_size)
    target = header_text(raw_target) if kind in b"12" else ""
    return Header(
        name, kind, size, target, header_number(checksum), header_number(mode), header_number(mtime)
    )


def is_sum(data: bytes, checksum: int, at: int = 0) -> bool:
    """Whether the bytes of a header, with blanks in place of its checksum, add up to it."""
    return sum(data[at : at + 148]) + 8 * 0x20 + sum(data[at + 156 : at + BLOCK]) == checksum


def pax_records(body: bytes) -> Iterator[tuple[str, str]]:
    """Records `<length> <key>=<value>\\n` of an extended header (pax).

    Raises ValueError with the beginning of one that is damaged.
    """
    at = 0
    while at < len(body):
        digits = body[at : body.find(b" ", at, at + 8)]
        length = int(digits) if digits.isdigit() else 0
        if not 0 < length <= len(body) - at:
            raise ValueError(clipped(header_text(body[at : at + 40])))
        key, _, value = body[at + len(digits) + 1 : at + length - 1].partition(b"=")
        yield key.decode("utf-8", "replace"), value.decode("utf-8", "replace")
        at += length


def long_text(body: bytes) -> str:
    """The long name in a member of GNU tar: of one too long, as much as shows that it is."""
    return header_text(body[: 4 * MAX_NAME + 4])  # a character has four bytes at most


def header_text(data: bytes) -> str:
    """Text up to the first NUL."""
    return data.partition(b"\0")[0].decode("utf-8", "replace")


def header_number(digits: bytes) -> int:
    """A number field; -1 for what is none."""
    if digits[0] & 0x80:
        # GNU tar writes sizes from 8 GiB on in base 256: the first bit says so.
        return int.from_bytes(digits[1:])
    try:
        return int(digits.strip(b" \0") or b"0", 8)
    except ValueError:
        return -1


def clipped(name: str) -> str:
    """A name for messages."""
    return name if len(name) <= 80 else f"{name[:80]}..."


def path_inside(name: str) -> str | None:
    """A member's name without `.` and doubled slashes; None if absolute, too long or outside."""
    if len(name) > MAX_NAME:
        return None
    if "/." not in name and "//" not in name and name[:1] not in (".", "/"):
        return name.rstrip("/")
    if name.startswith("/"):
        return None
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return None if ".." in parts else "/".join(parts)
