"""Files that may be compressed: unpacked in memory, whole or not at all."""

import io
from pathlib import Path

from cpuplan.base.files import TooLarge, TooMany, Unreadable, archives, read_regular
from cpuplan.base.files.archives import UNPACKERS, kind_of_stream
from cpuplan.base.text import quantity_text
from cpuplan.diagnostics import Diagnostic, diagnose

#: Unpacked. A copy of /sys and /proc of 1,920 CPUs has 103 MiB.
MAX_SIZE = 384 * 1024 * 1024
MAX_PACKED = 64 * 1024 * 1024
#: Fed to what unpacks, at a time.
_PIECE = 64 * 1024


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
    shown = quantity_text(limit) if what.startswith("bytes") else f"{limit:,}"
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


def unpacked_head(start: bytes, limit: int) -> bytes:
    """At most `limit` bytes of what the beginning of a compressed file unpacks to; b"" for none."""
    kind = kind_of_stream(start)
    if kind is None:
        return b""
    try:
        unpacked: bytes = UNPACKERS[kind]().decompress(start, limit)
    except Exception:  # zlib.error, LZMAError, OSError: the modules' errors have no common base
        return b""
    return unpacked


def check_packed(data: bytes, name: str) -> None:
    """Raise ArchiveError for more bytes than are kept, or unpacked."""
    if kind_of_stream(data) is None:
        if len(data) > MAX_SIZE:
            raise too_large(name, MAX_SIZE, "bytes")
    elif len(data) > MAX_PACKED:
        raise too_large(name, MAX_PACKED, "bytes compressed")


def unpack(data: bytes, name: str) -> bytes:
    """`data` decompressed by its first bytes (gzip, xz, bzip2), else itself. Raises ArchiveError.

    Streams may be joined, as pigz and pbzip2 leave them (RFC 1952, 2.2); what follows the last one
    is ignored, as their own tools do.
    """
    check_packed(data, name)
    if kind_of_stream(data) is None:
        return data
    whole = io.BytesIO()  # hands its buffer over without copying it
    try:
        for chunk in archives.unpacked(
            data[at : at + _PIECE] for at in range(0, len(data), _PIECE)
        ):
            if whole.tell() + len(chunk) > MAX_SIZE:
                raise too_large(name, MAX_SIZE, "bytes unpacked")
            whole.write(chunk)
    except TooMany as error:
        raise too_large(name, error.limit, error.what) from None
    except Unreadable as error:
        raise damaged(name, f"{error.problem} after {whole.tell():,} unpacked bytes") from None
    return whole.getvalue()
