"""Unpacking: joined streams, and no more memory than what is kept."""

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from cpuplan.base.files import archives
from cpuplan.importers import packed_files
from cpuplan.importers.hwloc import reader as hwloc
from cpuplan.importers.packed_files import ArchiveError, read_file, unpack

PACKERS: list[Callable[[bytes], bytes]] = [gzip.compress, lzma.compress, bz2.compress]
DATA = bytes(range(256)) * 2000


@pytest.mark.parametrize("pack", PACKERS)
@pytest.mark.parametrize("tail", [b"", b"\0" * 8, b"something else"])
def test_joined_streams(pack: Callable[[bytes], bytes], tail: bytes) -> None:
    """pbzip2, pigz and `cat a.xz b.xz` join streams; what follows them is ignored."""
    assert unpack(pack(DATA[:300]) + pack(b"") + pack(DATA[300:]) + tail, "a") == DATA


def test_padding_between_xz_streams() -> None:
    assert unpack(lzma.compress(b"a") + bytes(8) + lzma.compress(b"b"), "a") == b"ab"


@pytest.mark.parametrize("pack", PACKERS)
def test_cut_anywhere(pack: Callable[[bytes], bytes]) -> None:
    packed = pack(DATA)
    for end in range(12, len(packed), 37):
        with pytest.raises(ArchiveError) as caught:
            unpack(packed[:end], "a")
        assert caught.value.diagnostic.code == "CP121"


@pytest.mark.parametrize("pack", PACKERS)
def test_bombs(pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_files, "MAX_SIZE", len(DATA))
    assert unpack(pack(DATA), "a") == DATA
    for bomb in (pack(DATA + b"x"), pack(DATA) + pack(b"x")):
        with pytest.raises(ArchiveError, match="exceeds the limit of 500Ki bytes unpacked"):
            unpack(bomb, "a")


def test_many_empty_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_STREAMS", 3)
    assert unpack(gzip.compress(b"") * 2, "a") == b""
    with pytest.raises(ArchiveError, match="exceeds the limit of 3 joined streams"):
        unpack(gzip.compress(b"") * 4, "a")


def test_compressed_size(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(DATA)
    monkeypatch.setattr(packed_files, "MAX_PACKED", len(packed) - 1)
    with pytest.raises(ArchiveError, match="bytes compressed"):
        unpack(packed, "a")


def test_a_dictionary_larger_than_any_archive() -> None:
    """xz reserves as much memory as the header asks for, up to 4 GiB."""
    assert unpack(_with_dictionary(22), "a") == b"a"
    with pytest.raises(ArchiveError, match="its xz data cannot be unpacked"):
        unpack(_with_dictionary(30), "a")


def _with_dictionary(bits: int) -> bytes:
    """An xz stream of "a" that asks for so many bits of memory.

    Its header is changed: a compressor would take the memory itself, a gigabyte of it.
    """
    packed = bytearray(lzma.compress(b"a", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 4096}]))
    start = 12  # of the block's header, after that of the stream
    end = start + (packed[start] + 1) * 4 - 4
    assert packed[start + 2 : start + 5] == b"\x21\x01\x00"  # LZMA2, a byte: 4 KiB
    packed[start + 4] = (bits - 12) * 2
    packed[end : end + 4] = zlib.crc32(packed[start:end]).to_bytes(4, "little")
    return bytes(packed)


def test_a_file_without_an_end(tmp_path: Path) -> None:
    """It is not read: reading all of a sparse file of a terabyte ended with exit 70."""
    path = tmp_path / "a.xml"
    path.touch()
    os.truncate(path, 1 << 40)
    assert [diagnostic.code for diagnostic in hwloc.read(path).diagnostics] == ["CP123"]
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ArchiveError, match="it is a pipe"):
        read_file(path)
