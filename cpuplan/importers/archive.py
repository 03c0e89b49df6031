"""Compressed archives: unpacked in memory, whole or not at all."""

from typing import Protocol

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.quantity import to_text

MAX_SIZE = 512 * 1024 * 1024


class ArchiveError(Exception):
    """An archive that is not read; holds the diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class _Unpacker(Protocol):
    """lzma and bz2 decompressors."""

    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def damaged(name: str, problem: str) -> ArchiveError:
    """The error for the archive `name`."""
    return ArchiveError(diagnose("CP121", path=name, problem=problem))


def too_large(name: str, limit: int, what: str) -> ArchiveError:
    """The error for the archive `name`."""
    return ArchiveError(
        diagnose("CP123", path=name, limit=to_text(limit) if what.startswith("bytes") else limit, what=what)
    )


def is_archive(start: bytes) -> bool:
    """Whether a file that begins with `start` (at least 512 bytes of it) is a tar archive or a compressed file."""
    return start.startswith((b"\x1f\x8b", b"\xfd7zXZ\0", b"BZh")) or start[257:262] == b"ustar"


def unpack(data: bytes, name: str) -> bytes:
    """`data` decompressed: gzip, xz or bzip2, by its first bytes; else `data` itself. Raises ArchiveError."""
    if len(data) > MAX_SIZE:
        raise too_large(name, MAX_SIZE, "bytes")
    if data.startswith(b"\x1f\x8b"):
        return _unpack_gzip(data, name)
    if data.startswith(b"\xfd7zXZ\0"):
        import lzma

        return _unpack_stream(lzma.LZMADecompressor(), data, name)
    if data.startswith(b"BZh"):
        import bz2

        return _unpack_stream(bz2.BZ2Decompressor(), data, name)
    return data


def _unpack_gzip(data: bytes, name: str) -> bytes:
    import zlib

    parts = []
    size = 0
    while data.startswith(b"\x1f\x8b"):  # gzip files may be joined (RFC 1952, 2.2)
        unpacker = zlib.decompressobj(31)
        try:
            part = unpacker.decompress(data, MAX_SIZE + 1 - size)
        except zlib.error as error:
            raise damaged(name, f"its gzip data is damaged ({error})") from None
        size += len(part)
        parts.append(part)
        if size > MAX_SIZE:
            raise too_large(name, MAX_SIZE, "bytes unpacked")
        if not unpacker.eof:
            raise damaged(name, "it is cut short")
        data = unpacker.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _unpack_stream(unpacker: _Unpacker, data: bytes, name: str) -> bytes:
    try:
        unpacked = unpacker.decompress(data, MAX_SIZE + 1)
    except Exception as error:  # LZMAError, OSError, EOFError: the modules' own errors have no common base
        raise damaged(name, f"its compressed data is damaged ({error})") from None
    if len(unpacked) > MAX_SIZE:
        raise too_large(name, MAX_SIZE, "bytes unpacked")
    if not unpacker.eof:
        raise damaged(name, "it is cut short")
    return unpacked
