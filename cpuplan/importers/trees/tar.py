"""A tar archive as a Tree, read in memory."""

from pathlib import Path

from cpuplan.base.files import tar
from cpuplan.base.files.tar import BLOCK, FILES, MAX_NAME, SPECIAL, clipped, inside
from cpuplan.importers.trees.archive import damaged, read_file, too_large, unpack
from cpuplan.importers.trees.links import LeavesTreeError, Links
from cpuplan.importers.trees.tree import MAX_FILE, Refused

MAX_FOLDERS = 100_000
_MAX_RECORDS = 2_000_000
_MARKERS = ("sys/devices/system/cpu/", "proc/cpuinfo")


class TarTree:
    """The files of an archive, plain or compressed by gzip, xz or bzip2; `name` is for messages.

    The root is the folder that holds `sys/` and `proc/`, at any depth. Raises ArchiveError for an
    archive that is damaged, cut short or too large.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
        self.refused = Refused(name)
        self._files: dict[str, tuple[int, int]] = {}  # where a member's bytes lie: start and size
        self._symlinks: dict[str, str] = {}
        self._folders: set[str] = set()
        # link-free paths of folders, None for what is refused
        self._real: dict[str, str | None] = {}
        self._links = Links()
        self._extensions = self._records = 0
        self._data = unpack(data, name)
        self._index(plain=self._data is data)
        self._prefix = self._find_root()
        self._children = self._list_folders()

    @classmethod
    def open(cls, path: Path) -> "TarTree":
        """Read the archive at `path`."""
        return cls(read_file(path), str(path))

    def read(self, path: str, limit: int = MAX_FILE) -> str | None:
        data = self.read_bytes(path, limit)
        return None if data is None else data.decode("utf-8", "replace")

    def read_bytes(self, path: str, limit: int = MAX_FILE) -> bytes | None:
        inside = self._resolve(path)
        place = None if inside is None else self._files.get(self._prefix + inside)
        if place is None:
            return None
        if place[1] > limit:
            self.refused.add_large(limit, path)
            return None
        return self._data[place[0] : place[0] + place[1]]

    def names(self, path: str) -> list[str]:
        inside = self._folder(path)
        if inside is None:
            return []
        return sorted(self._children.get((self._prefix + inside).rstrip("/"), ()))

    def link(self, path: str) -> str | None:
        folder, _, name = path.rpartition("/")
        inside = self._folder(folder)
        if inside is None:
            return None
        return self._target(f"{inside}/{name}" if inside else name)

    def _target(self, inside: str) -> str | None:
        return self._symlinks.get(self._prefix + inside)

    def _folder(self, path: str) -> str | None:
        """The link-free path of a folder, remembered: nearly all files share their folders."""
        if path not in self._real:
            self._real[path] = self._resolve(path) if path else ""
        return self._real[path]

    def _resolve(self, path: str) -> str | None:
        """The link-free path; None if it leads out of the archive."""
        folder, _, name = path.rpartition("/")
        above = self._folder(folder)
        if above is None:
            return None
        inside = f"{above}/{name}" if above else name
        if self._target(inside) is None and name not in (".", ".."):
            return inside
        try:
            return self._links.resolve(inside, self._target)
        except LeavesTreeError as reason:
            self.refused.add(str(reason), path)
            return None

    def _list_folders(self) -> dict[str, set[str]]:
        """What is in each folder, also in those that are not members."""
        children: dict[str, set[str]] = {"": set()}
        for path in (*self._files, *self._symlinks, *self._folders):
            known, rest = False, path
            while rest and not known:
                rest, _, name = rest.rpartition("/")
                known = rest in children
                children.setdefault(rest, set()).add(name)
            if len(children) > MAX_FOLDERS:
                raise too_large(self.name, MAX_FOLDERS, "folders")
        return children

    def _index(self, *, plain: bool) -> None:
        """Note where each member's bytes lie; of one name the last counts, as in unpacking.

        Compression tells whether an archive is whole; of a plain one, only the checksums of its
        headers and the empty block at its end do.
        """
        data, end = self._data, len(self._data)
        at = members = 0
        name = target = ""  # of the next member, where they are too long for its header
        last = ""
        while at + BLOCK <= end and (data[at] or data.count(0, at, at + BLOCK) < BLOCK):
            header = self._header(at, last, plain)
            kind, size = header.kind, header.size
            body = at + BLOCK * (1 + self._sparse_blocks(at, kind))
            at = body + size + -size % BLOCK
            if body + size > end:
                raise damaged(
                    self.name,
                    f"it is cut short in {clipped(name or header.name)}, which has {size:,} bytes",
                )
            members += 1
            if members > tar.MAX_MEMBERS:
                raise too_large(self.name, tar.MAX_MEMBERS, "members")
            if kind in b"LKx":
                name, target = self._extend(kind, body, size, name, target)
            elif kind != b"g":
                last = name or header.name
                self._add(last, kind, target or header.target, body, size)
                name = target = ""
        if members == 0:
            raise damaged(self.name, "it is not a tar archive")
        if plain and at + BLOCK > end:
            raise damaged(self.name, f"it is cut short after {clipped(last)}")

    def _header(self, at: int, last: str, plain: bool) -> tar.Header:
        """The header at `at`; `last` is the member before it."""
        header = tar.header(self._data, at)
        bad_sum = plain and not tar.is_sum(self._data, header.checksum, at)
        if header.size < 0 or not header.name or bad_sum:
            where = f"the header after {clipped(last)}, at byte {at:,}, is damaged"
            raise damaged(self.name, where if at else "it is not a tar archive")
        return header

    def _sparse_blocks(self, at: int, kind: bytes) -> int:
        """The number of blocks of GNU tar's sparse map after the header; each tells of the next."""
        if kind != b"S":
            return 0
        blocks, more = 0, at + 482
        while more < len(self._data) and self._data[more]:
            blocks += 1
            more = at + blocks * BLOCK + 504
        return blocks

    def _extend(self, kind: bytes, at: int, size: int, name: str, target: str) -> tuple[str, str]:
        """Long name and target for the next member, of GNU tar (L, K) or pax (x)."""
        self._extensions += size
        if self._extensions > tar.MAX_EXTENSIONS:
            raise too_large(
                self.name, tar.MAX_EXTENSIONS, "bytes of long names and extended headers"
            )
        if kind in b"LK":
            text = tar.long_text(self._data[at : at + min(size, 4 * MAX_NAME + 4)])
            return (text, target) if kind == b"L" else (name, text)
        if size > tar.MAX_EXTENSION:
            raise damaged(
                self.name, f"an extended header of {size:,} bytes, at byte {at:,}, is not a header"
            )
        records = self._pax_records(self._data[at : at + size])
        return records.get("path", name), records.get("linkpath", target)

    def _pax_records(self, body: bytes) -> dict[str, str]:
        """The records of an extended header."""
        records = {}
        try:
            for key, value in tar.records(body):
                self._records += 1
                if self._records > _MAX_RECORDS:
                    raise too_large(self.name, _MAX_RECORDS, "records in extended headers")
                records[key] = value
        except ValueError as error:
            problem = f"an extended header is damaged at {str(error)!r}"
            raise damaged(self.name, problem) from None
        return records

    def _add(self, name: str, kind: bytes, target: str, start: int, size: int) -> None:
        path = inside(name)
        if path is None:
            long = len(name) > MAX_NAME
            self.refused.add(
                "a name that is too long" if long else "a name that leads out of it", name
            )
        elif not path:
            pass
        elif kind in FILES and name[-1] != "/":
            self._symlinks.pop(path, None)
            self._files[path] = (start, size)
        elif kind == b"5" or kind in FILES:
            self._folders.add(path)
        elif kind == b"2":
            self._files.pop(path, None)
            self._symlinks[path] = target
        elif kind == b"1":
            self._add_hard_link(path, inside(target))
        else:
            what = {b"S": "a sparse file", **dict.fromkeys(SPECIAL, "a device or pipe")}.get(kind)
            self.refused.add(what or f"a member of type {kind!r}", name)

    def _add_hard_link(self, path: str, other: str | None) -> None:
        """A second name of a member that came before (pax, "typeflag 1")."""
        if other is None:
            self.refused.add("a hard link that leads out of it", path)
        elif other in self._files:
            self._symlinks.pop(path, None)
            self._files[path] = self._files[other]
        elif other in self._symlinks:
            self._files.pop(path, None)
            self._symlinks[path] = self._symlinks[other]
        else:
            self.refused.add("a hard link to a file that is not in it", path)

    def _find_root(self) -> str:
        """The names' part before `sys/` and `proc/`: `hwloc-gather-topology` adds a folder."""
        starts = []
        for path in self._files:
            for marker in _MARKERS:
                start, separator, _ = path.partition(marker)
                if separator and (not start or start.endswith("/")):
                    starts.append(start)
        return min(starts, key=len, default="")
