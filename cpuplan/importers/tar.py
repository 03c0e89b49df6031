"""A tar archive as a Tree, read in memory.

The headers are read here because the standard library's tarfile builds an object for each member: a gather-sysinfo
snapshot has up to 19,000, of which a few hundred are wanted. Formats: POSIX.1-1988 and -2001 (ustar, pax), GNU and V7.
"""

import struct
from os import fstat
from pathlib import Path

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers.archive import MAX_SIZE, ArchiveError, damaged, too_large, unpack
from cpuplan.importers.base import LeavesTreeError
from cpuplan.importers.folder import MAX_FILE, resolve

MAX_MEMBERS = 1_000_000
_BLOCK = 512
#: name, size, type, link target, magic, prefix (pax, "ustar Interchange Format").
_HEADER = struct.Struct("100s24x12s20xc100s6s82x155s12x")
_MAX_EXTENSION = 64 * 1024  # a long name or an extended header
_FILES = (b"0", b"\0", b"7")
_SPECIAL = (b"3", b"4", b"6")
_MARKERS = ("sys/devices/system/cpu/", "proc/cpuinfo")


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
        self._data = unpack(data, name)
        self._index(plain=self._data is data)
        self._move_root()
        for problem, members in self._refused.items():
            more = f" and {len(members) - 1} more" if len(members) > 1 else ""
            self.diagnostics.append(diagnose("CP122", path=name, problem=f"{problem}: {members[0]}{more}"))

    @classmethod
    def open(cls, path: Path) -> "TarTree":
        """Read the archive at `path`."""
        try:
            with path.open("rb") as file:
                if fstat(file.fileno()).st_size > MAX_SIZE:
                    raise too_large(str(path), MAX_SIZE, "bytes")
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

    def _index(self, *, plain: bool) -> None:
        """Note where each member's bytes lie. Of two members of one name, the later counts, as when unpacking.

        Compression tells whether an archive is whole; of a plain one, only the empty block at its end does.
        """
        data, end = self._data, len(self._data)
        at = members = 0
        name = target = ""  # of the next member, where they are too long for its header
        while at + _BLOCK <= end and data[at] | data[at + 1]:
            short_name, kind, size, short_target = self._header(at)
            at += _BLOCK
            if at + size > end:
                raise damaged(self.name, "it is cut short")
            members += 1
            if members > MAX_MEMBERS:
                raise too_large(self.name, MAX_MEMBERS, "members")
            if kind in b"LKx":
                name, target = self._extend(kind, at, size, name, target)
            elif kind != b"g":
                self._add(name or short_name, kind, target or short_target, at, size)
                name = target = ""
            at += size + -size % _BLOCK
        if members == 0:
            raise damaged(self.name, "it is no tar archive")
        if plain and at + _BLOCK > end:
            raise damaged(self.name, "it is cut short")

    def _header(self, at: int) -> tuple[str, bytes, int, str]:
        """Name, type, size and link target of the member whose header is at `at`."""
        raw_name, raw_size, kind, raw_target, magic, prefix = _HEADER.unpack_from(self._data, at)
        name: str = raw_name.partition(b"\0")[0].decode("utf-8", "replace")
        if magic == b"ustar\0" and prefix[0]:
            name = f"{_text(prefix)}/{name}"
        if kind in b"125":  # links and folders have no bytes, whatever the size field says
            return name, kind, 0, _text(raw_target) if kind != b"5" else ""
        try:
            # GNU tar writes sizes from 8 GiB on in base 256: the first bit says so.
            size = int.from_bytes(raw_size[1:]) if raw_size[0] & 0x80 else int(raw_size.strip(b" \0") or b"0", 8)
        except ValueError:
            size = -1
        if size < 0 or not name:
            raise damaged(self.name, "a header in it is damaged" if at else "it is no tar archive")
        return name, kind, size, ""

    def _extend(self, kind: bytes, at: int, size: int, name: str, target: str) -> tuple[str, str]:
        """Long name and target for the next member, of GNU tar (L, K) or pax (x)."""
        if size > _MAX_EXTENSION:
            raise damaged(self.name, "a header in it is damaged")
        body = self._data[at : at + size]
        if kind == b"L":
            return _text(body), target
        if kind == b"K":
            return name, _text(body)
        records = self._pax_records(body)
        return records.get("path", name), records.get("linkpath", target)

    def _pax_records(self, body: bytes) -> dict[str, str]:
        """Extended header records, `<length> <key>=<value>\\n` each (pax, "pax Extended Header")."""
        records = {}
        at = 0
        while at < len(body):
            digits = body[at : body.find(b" ", at, at + 8)]
            length = int(digits) if digits.isdigit() else 0
            if not 0 < length <= len(body) - at:
                raise damaged(self.name, "a header in it is damaged")
            key, _, value = body[at + len(digits) + 1 : at + length - 1].partition(b"=")
            records[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
            at += length
        return records

    def _add(self, name: str, kind: bytes, target: str, start: int, size: int) -> None:
        path = _inside(name)
        if path is None:
            self._refuse("a name that leads out of it", name)
        elif not path:
            pass
        elif kind in _FILES and name[-1] != "/":
            self._files[path] = (start, size)
        elif kind == b"5" or kind in _FILES:
            self._folders.add(path)
        elif kind == b"2":
            self._files.pop(path, None)
            self._links[path] = target
        elif kind == b"1":
            inside = _inside(target)
            if inside is None:
                self._refuse("a hard link that leads out of it", name)
            else:
                self._hard_links[path] = inside
        else:
            self._refuse("a device or pipe" if kind in _SPECIAL else f"a member of type {kind!r}", name)

    def _refuse(self, what: str, name: str) -> None:
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


def _text(data: bytes) -> str:
    """Text up to the first NUL."""
    return data.partition(b"\0")[0].decode("utf-8", "replace")


def _inside(name: str) -> str | None:
    """A member's name without `.` and doubled slashes; None if it is absolute or goes up."""
    if "/." not in name and "//" not in name and name[:1] not in (".", "/"):
        return name.rstrip("/")
    if name.startswith("/"):
        return None
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return None if ".." in parts else "/".join(parts)
