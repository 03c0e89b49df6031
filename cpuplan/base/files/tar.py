"""Headers of tar archives: POSIX.1-1988 and -2001 (ustar, pax), GNU and V7.

They are read here because the standard library's tarfile builds an object for each member: a
gather-sysinfo snapshot has up to 19,000, of which a few hundred are wanted.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

BLOCK = 512
#: Characters of a name; the longest path in /sys, a device behind ten PCI bridges, has 300.
MAX_NAME = 1024
#: An extended header, which may hold attributes of some 64 KiB, and all of an archive.
MAX_EXTENSION = 1024 * 1024
MAX_EXTENSIONS = 64 * 1024 * 1024
#: Members; 4,096 CPUs have 222,000 files. Headers count that only bring a long name, too.
MAX_MEMBERS = 300_000
FILES = (b"0", b"\0", b"7")
SPECIAL = (b"3", b"4", b"6")
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


def header(data: bytes, at: int = 0) -> Header:
    """The header in the block at `at`."""
    raw_name, mode, raw_size, mtime, checksum, kind, raw_target, magic, prefix = (
        _HEADER.unpack_from(data, at)
    )
    name: str = raw_name.partition(b"\0")[0].decode("utf-8", "replace")
    if magic == b"ustar\0" and prefix[0]:
        name = f"{text(prefix)}/{name}"
    # Links and folders have no bytes, whatever the size field says.
    size = 0 if kind in b"125" else number(raw_size)
    target = text(raw_target) if kind in b"12" else ""
    return Header(name, kind, size, target, number(checksum), number(mode), number(mtime))


def is_sum(data: bytes, checksum: int, at: int = 0) -> bool:
    """Whether the bytes of a header, with blanks in place of its checksum, add up to it."""
    return sum(data[at : at + 148]) + 8 * 0x20 + sum(data[at + 156 : at + BLOCK]) == checksum


def records(body: bytes) -> Iterator[tuple[str, str]]:
    """Records `<length> <key>=<value>\\n` of an extended header (pax).

    Raises ValueError with the beginning of one that is damaged.
    """
    at = 0
    while at < len(body):
        digits = body[at : body.find(b" ", at, at + 8)]
        length = int(digits) if digits.isdigit() else 0
        if not 0 < length <= len(body) - at:
            raise ValueError(clipped(text(body[at : at + 40])))
        key, _, value = body[at + len(digits) + 1 : at + length - 1].partition(b"=")
        yield key.decode("utf-8", "replace"), value.decode("utf-8", "replace")
        at += length


def long_text(body: bytes) -> str:
    """The long name in a member of GNU tar: of one too long, as much as shows that it is."""
    return text(body[: 4 * MAX_NAME + 4])  # a character has four bytes at most


def text(data: bytes) -> str:
    """Text up to the first NUL."""
    return data.partition(b"\0")[0].decode("utf-8", "replace")


def number(digits: bytes) -> int:
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


def inside(name: str) -> str | None:
    """A member's name without `.` and doubled slashes; None if absolute, too long or outside."""
    if len(name) > MAX_NAME:
        return None
    if "/." not in name and "//" not in name and name[:1] not in (".", "/"):
        return name.rstrip("/")
    if name.startswith("/"):
        return None
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return None if ".." in parts else "/".join(parts)
