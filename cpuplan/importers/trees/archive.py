"""Compressed archives: unpacked in memory, whole or not at all."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.files import TooLarge, Unreadable, read_regular
from cpuplan.quantity import to_text

#: Unpacked. A copy of /sys and /proc of 1,920 CPUs has 103 MiB.
MAX_SIZE = 384 * 1024 * 1024
MAX_PACKED = 64 * 1024 * 1024
#: Joined streams: pbzip2 writes one for each 900 kB, bgzip for each 64 KiB.
_MAX_STREAMS = 20_000
#: The largest dictionary of xz's own presets has 64 MiB.
_XZ_MEMORY = 128 * 1024 * 1024
# fed at a time, and 1 MiB taken out: what comes out is never much larger than what is kept
_PIECE = 64 * 1024
_CHUNK = 1024 * 1024
_GZIP, _XZ, _BZIP2 = b"\x1f\x8b", b"\xfd7zXZ\0", b"BZh"


class ArchiveError(Exception):
    """An archive that is not read; holds the diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def damaged(name: str, problem: str) -> ArchiveError:
    """The error for the archive `name`."""
    return ArchiveError(diagnose("CP121", path=name, problem=problem))


def too_large(name: str, limit: int, what: str) -> ArchiveError:
    """The error for the archive `name`."""
    shown = to_text(limit) if what.startswith("bytes") else f"{limit:,}"
    return ArchiveError(diagnose("CP123", path=name, limit=shown, what=what))


def read_file(path: Path, limit: int | None = None) -> bytes:
    """The bytes of a file, as they are: at most `limit`, else MAX_SIZE. Raises ArchiveError."""
    limit = MAX_SIZE if limit is None else limit
    try:
        return read_regular(path, limit=limit)
    except TooLarge:
        raise too_large(str(path), limit, "bytes") from None
    except Unreadable as error:
        raise damaged(str(path), error.problem) from error


def is_archive(start: bytes) -> bool:
    """Whether a file that begins with `start` (512 bytes at least) is an archive or compressed."""
    return start.startswith((_GZIP, _XZ, _BZIP2)) or start[257:262] == b"ustar"


def unpacked_head(start: bytes, limit: int) -> bytes:
    """At most `limit` bytes of what the beginning of a compressed file unpacks to; b"" for none."""
    kind = _kind(start)
    if kind is None:
        return b""
    try:
        unpacked: bytes = _UNPACKERS[kind]().decompress(start, limit)
    except Exception:  # zlib.error, LZMAError, OSError: the modules' errors have no common base
        return b""
    return unpacked


def unpack(data: bytes, name: str) -> bytes:
    """`data` decompressed by its first bytes (gzip, xz, bzip2), else itself. Raises ArchiveError.

    Streams may be joined, as pigz and pbzip2 leave them (RFC 1952, 2.2); what follows the last one
    is ignored, as their own tools do.
    """
    kind = _kind(data)
    if kind is None:
        if len(data) > MAX_SIZE:
            raise too_large(name, MAX_SIZE, "bytes")
        return data
    if len(data) > MAX_PACKED:
        raise too_large(name, MAX_PACKED, "bytes compressed")
    unpacked = io.BytesIO()  # hands its buffer over without copying it
    at = 0
    for _ in range(_MAX_STREAMS):
        at = _unpack_stream(kind, data, at, unpacked, name)
        # padding between streams (xz format, 2.2)
        while kind == "xz" and data[at : at + 4] == bytes(4):
            at += 4
        if _kind(data[at : at + 8]) != kind:
            return unpacked.getvalue()
    raise too_large(name, _MAX_STREAMS, "joined streams")


def _kind(start: bytes) -> str | None:
    kinds = {_GZIP: "gzip", _XZ: "xz", _BZIP2: "bzip2"}
    return next((kind for magic, kind in kinds.items() if start.startswith(magic)), None)


def _unpack_stream(kind: str, data: bytes, at: int, unpacked: io.BytesIO, name: str) -> int:
    """Unpack the stream that begins at `at`; return where it ends."""
    unpacker = _UNPACKERS[kind]()
    try:
        while not unpacker.eof and at < len(data):
            for part in _parts(unpacker, data[at : at + _PIECE]):
                if unpacked.tell() + len(part) > MAX_SIZE:
                    raise too_large(name, MAX_SIZE, "bytes unpacked")
                unpacked.write(part)
            at += _PIECE
    except ArchiveError:
        raise
    # zlib.error, LZMAError, OSError, EOFError: the modules' errors have no common base
    except Exception as error:
        raise damaged(name, f"its {kind} data cannot be unpacked ({error})") from None
    if not unpacker.eof:
        raise damaged(
            name, f"its {kind} data is cut short after {unpacked.tell():,} unpacked bytes"
        )
    return min(at, len(data)) - len(unpacker.unused_data)


def _parts(unpacker: Any, piece: bytes) -> Iterator[bytes]:
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


_UNPACKERS: dict[str, Callable[[], Any]] = {"gzip": _gzip, "xz": _xz, "bzip2": _bzip2}
