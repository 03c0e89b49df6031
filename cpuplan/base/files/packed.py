"""Compressed streams: gzip, xz and bzip2, told apart by their first bytes.

Streams may be joined, as pigz and pbzip2 leave them (RFC 1952, 2.2); what follows the last one is
ignored, as their own tools do.
"""

from collections.abc import Callable, Iterator
from typing import Any

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
#: Bytes that tell one from the other, and from a tar archive.
START = 512


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
