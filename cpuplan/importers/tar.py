"""A tar archive as a Tree, read in memory.

The headers are read here because the standard library's tarfile builds an object for each member: a gather-sysinfo
snapshot has up to 19,000, of which a few hundred are wanted. Formats: POSIX.1-1988 and -2001 (ustar, pax), GNU and V7.
"""

from pathlib import Path
from typing import NamedTuple, Protocol

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers.base import LeavesTreeError
from cpuplan.importers.folder import MAX_FILE, resolve

MAX_SIZE = 512 * 1024 * 1024
MAX_MEMBERS = 1_000_000
_BLOCK = 512
_FILES = (b"0", b"\0", b"7")
_MARKERS = ("sys/devices/system/cpu/", "proc/cpuinfo")


class ArchiveError(Exception):
    """An archive that is not read; holds the diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def is_archive(start: bytes) -> bool:
    """Whether a file that begins with `start` (at least 512 bytes of it) is a tar archive or a compressed file."""
    return start.startswith((b"\x1f\x8b", b"\xfd7zXZ\0", b"BZh")) or start[257:262] == b"ustar"


class _Unpacker(Protocol):
    """lzma and bz2 decompressors."""

    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Header(NamedTuple):
    name: str
    type: bytes
    size: int
    target: str


class TarTree:
    """The files of an archive, plain or compressed by gzip, xz or bzip2; `name` is what messages call it.

    The root is the folder that holds `sys/` and `proc/`, at any depth. Raises ArchiveError for an archive that is
    damaged, cut short or too large.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
        self.diagnostics: list[Diagnostic] = []
        self._files: dict[str, tuple[int, int]] = {}
        self._links: dict[str, str] = {}
        self._hard_links: dict[str, str] = {}
        self._children: dict[str, set[str]] | None = None
        self._folders: set[str] = set()
        self._real: dict[str, str | None] = {}
        self._refused: dict[str, list[str]] = {}
        self._data = self._unpack(data)
        self._index()
        self._move_root()
        for problem, members in self._refused.items():
            more = f" and {len(members) - 1} more" if len(members) > 1 else ""
            self.diagnostics.append(diagnose("CP122", path=name, problem=f"{problem}: {members[0]}{more}"))

    @classmethod
    def open(cls, path: Path) -> "TarTree":
        """Read the archive at `path`."""
        try:
            with path.open("rb") as file:
                data = file.read(MAX_SIZE + 1)
        except OSError as error:
            raise ArchiveError(diagnose("CP121", path=path, problem=error.strerror or str(error))) from error
        return cls(data, str(path))

    def read(self, path: str) -> str | None:
        data = self.read_bytes(path)
        return None if data is None else data.decode("utf-8", "replace")

    def read_bytes(self, path: str) -> bytes | None:
        place = self._files.get(path) or self._find(path)
        if place is None or place[1] > MAX_FILE:
            return None
        return self._data[place[0] : place[0] + place[1]]

    def names(self, path: str) -> list[str]:
        if self._children is None:
            self._children = self._list_folders()
        inside = self._resolve(path)
        return [] if inside is None else sorted(self._children.get(inside, ()))

    def link(self, path: str) -> str | None:
        target = self._links.get(path)
        if target is None:
            folder, _, name = path.rpartition("/")
            inside = self._resolve(folder)
            target = None if inside is None else self._links.get(f"{inside}/{name}")
        return target

    def _find(self, path: str) -> tuple[int, int] | None:
        inside = self._resolve(path)
        if inside is None:
            return None
        for _ in range(8):  # a hard link to a hard link is unusual, a ring of them is made up
            if inside in self._files:
                return self._files[inside]
            if inside not in self._hard_links:
                return None
            inside = self._hard_links[inside]
        return None

    def _resolve(self, path: str) -> str | None:
        """The link-free path; None if it leads out of the archive."""
        if path not in self._real:
            folder, _, name = path.rpartition("/")
            above = self._resolve(folder) if folder else ""
            inside = f"{above}/{name}" if above else name
            try:
                self._real[path] = None if above is None else resolve(inside, self._links.get)
            except LeavesTreeError:
                self._real[path] = None
                problem = f"a link that leads out of it, {path}"
                self.diagnostics.append(diagnose("CP122", path=self.name, problem=problem))
        return self._real[path]

    def _list_folders(self) -> dict[str, set[str]]:
        children: dict[str, set[str]] = {"": set()}
        for path in (*self._files, *self._links, *self._hard_links, *self._folders):
            known, rest = False, path
            while rest and not known:
                rest, _, name = rest.rpartition("/")
                known = rest in children
                children.setdefault(rest, set()).add(name)
        return children

    def _unpack(self, data: bytes) -> bytes:
        if len(data) > MAX_SIZE:
            raise self._too_large(MAX_SIZE, "bytes")
        if data.startswith(b"\x1f\x8b"):
            return self._unpack_gzip(data)
        if data.startswith(b"\xfd7zXZ\0"):
            import lzma

            return self._unpack_stream(lzma.LZMADecompressor(), data, lzma.LZMAError)
        if data.startswith(b"BZh"):
            import bz2

            return self._unpack_stream(bz2.BZ2Decompressor(), data, OSError)
        return data

    def _unpack_gzip(self, data: bytes) -> bytes:
        import zlib

        parts = []
        size = 0
        while data.startswith(b"\x1f\x8b"):  # gzip files may be joined (RFC 1952, 2.2)
            unpacker = zlib.decompressobj(31)
            try:
                part = unpacker.decompress(data, MAX_SIZE + 1 - size)
            except zlib.error as error:
                raise self._damaged(f"its gzip data is damaged ({error})") from None
            size += len(part)
            parts.append(part)
            if size > MAX_SIZE:
                raise self._too_large(MAX_SIZE, "bytes unpacked")
            if not unpacker.eof:
                raise self._damaged("it is cut short")
            data = unpacker.unused_data
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _unpack_stream(self, unpacker: _Unpacker, data: bytes, error_type: type[Exception]) -> bytes:
        try:
            unpacked = unpacker.decompress(data, MAX_SIZE + 1)
        except error_type as error:
            raise self._damaged(f"its compressed data is damaged ({error})") from None
        if len(unpacked) > MAX_SIZE:
            raise self._too_large(MAX_SIZE, "bytes unpacked")
        if not unpacker.eof:
            raise self._damaged("it is cut short")
        return unpacked

    def _index(self) -> None:
        """Note where each member's bytes lie. Of two members of one name, the later counts, as when unpacking."""
        data, end = self._data, len(self._data)
        at = members = 0
        long_name = long_target = ""
        while at + _BLOCK <= end and data[at : at + 8] != b"\0\0\0\0\0\0\0\0":
            header = self._header(at)
            at += _BLOCK
            if at + header.size > end:
                raise self._damaged("it is cut short")
            body = data[at : at + header.size] if header.type in b"LKx" else b""
            at += -(-header.size // _BLOCK) * _BLOCK
            members += 1
            if members > MAX_MEMBERS:
                raise self._too_large(MAX_MEMBERS, "members")
            if header.type == b"L":
                long_name = body.rstrip(b"\0").decode("utf-8", "replace")
            elif header.type == b"K":
                long_target = body.rstrip(b"\0").decode("utf-8", "replace")
            elif header.type == b"x":
                records = self._pax_records(body)
                long_name, long_target = records.get("path", long_name), records.get("linkpath", long_target)
            elif header.type != b"g":
                start = at - -(-header.size // _BLOCK) * _BLOCK
                self._add(header, long_name or header.name, long_target or header.target, start)
                long_name = long_target = ""
        if members == 0:
            raise self._damaged("it is no tar archive")

    def _header(self, at: int) -> _Header:
        block = self._data[at : at + _BLOCK]
        name = block[:100].split(b"\0", 1)[0].decode("utf-8", "replace")
        if block[257:263] == b"ustar\0" and block[345]:
            name = block[345:500].split(b"\0", 1)[0].decode("utf-8", "replace") + "/" + name
        kind = block[156:157]
        size = block[124:136]
        try:
            length = int.from_bytes(size[1:]) if size[0] & 0x80 else int(size.strip(b" \0") or b"0", 8)
            if length < 0 or not name:
                raise ValueError
        except ValueError:
            raise self._damaged("it is no tar archive" if at == 0 else "a header in it is damaged") from None
        if kind in (b"1", b"2", b"5"):  # links and folders have no bytes, whatever the size field says (pax, 4.1.1)
            length = 0
        target = block[157:257].split(b"\0", 1)[0].decode("utf-8", "replace") if kind in (b"1", b"2") else ""
        return _Header(name, kind, length, target)

    def _pax_records(self, body: bytes) -> dict[str, str]:
        """Extended header records, `<length> <key>=<value>\\n` each (pax, "pax Extended Header")."""
        records = {}
        while body:
            digits, _, rest = body.partition(b" ")
            if not digits.isdigit() or not 0 < int(digits) <= len(body):
                raise self._damaged("a header in it is damaged")
            key, _, value = rest[: int(digits) - len(digits) - 2].partition(b"=")
            records[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
            body = body[int(digits) :]
        return records

    def _add(self, header: _Header, name: str, target: str, start: int) -> None:
        path = _inside(name)
        if path is None:
            self._refused.setdefault("a name that leads out of it", []).append(name)
        elif not path:
            pass
        elif header.type == b"5" or name.endswith("/"):
            self._folders.add(path)
        elif header.type in _FILES:
            self._links.pop(path, None)
            self._files[path] = (start, header.size)
        elif header.type == b"2":
            self._files.pop(path, None)
            self._links[path] = target
        elif header.type == b"1":
            inside = _inside(target)
            if inside is None:
                self._refused.setdefault("a hard link that leads out of it", []).append(name)
            else:
                self._hard_links[path] = inside
        else:
            what = "a device or pipe" if header.type in (b"3", b"4", b"6") else f"a member of type {header.type!r}"
            self._refused.setdefault(what, []).append(name)

    def _move_root(self) -> None:
        """Make the folder that holds `sys/` and `proc/` the root (`hwloc-gather-topology` adds a folder above them)."""
        found = [path[: path.index(marker)] for path in self._files for marker in _MARKERS if marker in path]
        prefix = min((start for start in found if not start or start.endswith("/")), key=len, default="")
        if not prefix:
            return
        cut = len(prefix)
        self._files = {path[cut:]: place for path, place in self._files.items() if path.startswith(prefix)}
        self._links = {path[cut:]: target for path, target in self._links.items() if path.startswith(prefix)}
        self._hard_links = {
            path[cut:]: target.removeprefix(prefix)
            for path, target in self._hard_links.items()
            if path.startswith(prefix) and target.startswith(prefix)
        }
        self._folders = {path[cut:] for path in self._folders if path.startswith(prefix)}

    def _damaged(self, problem: str) -> ArchiveError:
        return ArchiveError(diagnose("CP121", path=self.name, problem=problem))

    def _too_large(self, limit: int, what: str) -> ArchiveError:
        return ArchiveError(diagnose("CP123", path=self.name, limit=limit, what=what))


def _inside(name: str) -> str | None:
    """A member's name without `.` and doubled slashes; None if it is absolute or goes up."""
    if name.startswith("/"):
        return None
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return None if ".." in parts else "/".join(parts)
