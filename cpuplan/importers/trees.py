"""Files below one root, a folder or an archive, and what of them is not read."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from cpuplan.base.files import TooLarge, TooMany, Unreadable
from cpuplan.base.roots.archive import ArchiveReader, Index, Keeping
from cpuplan.base.roots.folder import FolderReader
from cpuplan.base.roots.tree import BadLink, Budget, Excess, Limits, Meter, Reader
from cpuplan.base.text import quantity_text
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers.packed_files import (
    MAX_SIZE,
    check_packed,
    damaged,
    read_file,
    too_large,
)

#: A sysinfo.tgz of 2,000 CPUs has about 4 MB, its /proc/cpuinfo 3.
MAX_FILE = 64 * 1024 * 1024
#: A server with 10,000 PCI functions takes 100,000 steps for its links; 4,096 CPUs have 222,000
#: files. Several folders of a must-gather are open at a time.
LIMITS = Limits(names=100_000, steps=4_000_000, opened=32, is_chroot=False)
#: A must-gather of 1,000 nodes has 4 GB of their archives.
BUDGET = Budget(questions=2_000_000, names=4_000_000, bytes=8 * 1024 * 1024 * 1024)
_MAX_BELOW = 1000  # folders that are looked into for a system root
_MARKERS = ("sys/devices/system/cpu/", "proc/cpuinfo")
_PIECE = 64 * 1024

_Answer = TypeVar("_Answer")
_MAX_SHOWN = 120  # characters of a path in a message
_MAX_KEPT = 10_000  # paths that are counted


class Refused:
    """What of a tree is not read, by the reason."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._members: dict[str, set[str]] = {}
        self._files: dict[int, set[str]] = {}
        self._folders: dict[str, TooMany] = {}
        self._excess: Excess | None = None

    def add(self, reason: str, path: str) -> None:
        """Note `path`, which `reason` is the noun for: `a device or pipe`."""
        _keep(self._members.setdefault(reason, set()), path)

    def add_large(self, limit: int, path: str) -> None:
        """Note a file of more than `limit` bytes."""
        _keep(self._files.setdefault(limit, set()), path)

    def add_wide(self, problem: TooMany, path: str) -> None:
        """Note a folder of too many names."""
        self._folders.setdefault(path, problem)

    def add_excess(self, excess: Excess) -> None:
        """Note that nothing more is read."""
        self._excess = excess

    def diagnostics(self) -> list[Diagnostic]:
        """One for each reason, with the first path and how many there are."""
        diagnostics = [
            diagnose("CP122", path=self._name, problem=f"{reason}: {_first_of(paths)}")
            for reason, paths in self._members.items()
        ]
        for limit, paths in self._files.items():
            place = f"{self._name}: {_first_of(paths)}"
            diagnostics.append(
                diagnose("CP123", path=place, limit=quantity_text(limit), what="bytes per file")
            )
        for path, problem in self._folders.items():
            what = f"{problem.what} in a folder"
            diagnostics.append(too_large(f"{self._name}: {path}", problem.limit, what).diagnostic)
        if self._excess:
            what = f"{self._excess.what} in all"
            diagnostics.append(too_large(self._name, self._excess.limit, what).diagnostic)
        return diagnostics


def _keep(paths: set[str], path: str) -> None:
    if len(paths) < _MAX_KEPT:
        paths.add(path if len(path) <= _MAX_SHOWN else f"{path[:_MAX_SHOWN]}...")


def _first_of(paths: set[str]) -> str:
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    return min(paths) + more + (" at least" if len(paths) == _MAX_KEPT else "")


class Tree:
    """Files under one root, a folder or an archive; nothing outside of it is read.

    Paths are relative, with `/`.

    Symbolic links are followed as if the root were `/`. What is missing, unreadable or refused
    reads as None or []; `name` is what messages call the root.
    """

    def __init__(self, name: str, reader: Reader, refused: Refused) -> None:
        self.name = name
        self.refused = refused
        self._reader = reader
        self._meter = Meter(BUDGET)
        self._is_spent = False

    def read(self, path: str, limit: int = MAX_FILE) -> str | None:
        """The text of a file; None for one of more than `limit` bytes too."""
        data = self.read_bytes(path, limit)
        return None if data is None else data.decode("utf-8", "replace")

    def read_bytes(self, path: str, limit: int = MAX_FILE) -> bytes | None:
        """The same as bytes."""
        try:
            return self._ask(lambda asked: self._reader.read(asked, limit), path)
        except TooLarge:
            self.refused.add_large(limit, path)
            return None

    def names(self, path: str) -> list[str]:
        """What is in a folder, sorted."""
        try:
            entries = self._ask(self._reader.entries, path) or []
        except TooMany as problem:
            self.refused.add_wide(problem, path)
            return []
        return sorted(_readable(name) for name, _ in entries)

    def link(self, path: str) -> str | None:
        """The target of a symbolic link, as written."""
        target = self._ask(self._reader.link, path)
        return target and _readable(target)

    def _ask(self, question: Callable[[str], _Answer], path: str) -> _Answer | None:
        """The answer of the reader; None for what it refuses, and once too much was asked."""
        if self._is_spent:
            return None
        answer: _Answer | None = None
        try:
            answer = question(path)
        except BadLink as problem:
            self.refused.add(problem.noun, problem.path or path)
        except PermissionError:
            self.refused.add("files without read permission", path)
        except TooLarge:
            self._count(None)
            raise
        except (OSError, ValueError, Unreadable):
            pass  # sysfs answers reads of some files with EINVAL or ENODATA
        return answer if self._count(answer) else None

    def _count(self, answer: object) -> bool:
        """Count an answer; whether there may be more."""
        excess = self._meter.count(answer)
        if excess:
            self._is_spent = True
            self.refused.add_excess(excess)
        return not excess


class FolderTree(Tree):
    """The files below a folder: a live host's root, or a copy with links that may lead anywhere."""

    def __init__(self, root: Path, name: str | None = None) -> None:
        name = str(root) if name is None else name
        super().__init__(name, FolderReader(root, LIMITS), Refused(name))


class TarTree(Tree):
    """The files of an archive, plain or compressed by gzip, xz or bzip2.

    The root is the folder that holds `sys/` and `proc/`, at any depth. Raises ArchiveError for an
    archive that is damaged, cut short or too large.
    """

    def __init__(self, data: bytes, name: str) -> None:
        refused = Refused(name)
        index = _index_of(data, name, refused)
        super().__init__(name, ArchiveReader(index, LIMITS, _root_in(index)), refused)

    @classmethod
    def open(cls, path: Path) -> "TarTree":
        """Read the archive at `path`."""
        return cls(read_file(path), str(path))


def _index_of(data: bytes, name: str, refused: Refused) -> Index:
    check_packed(data, name)
    pieces = (data[at : at + _PIECE] for at in range(0, len(data), _PIECE))
    keeping = Keeping(unpacked=MAX_SIZE, kept=MAX_SIZE, limit_of=lambda _: MAX_FILE)
    try:
        return Index(pieces, keeping, refused.add)
    except TooMany as error:
        raise too_large(name, error.limit, error.what) from None
    except Unreadable as error:
        raise damaged(name, error.problem) from None


def _root_in(index: Index) -> str:
    """The folder that holds `sys/` and `proc/`: `hwloc-gather-topology` adds one."""
    starts = []
    for path, entry in index.entries.items():
        if not stat.S_ISREG(entry.status.mode) or entry.problem:
            continue
        for marker in _MARKERS:
            start, separator, _ = path.partition(marker)
            if separator and (not start or start.endswith("/")):
                starts.append(start)
    return min(starts, key=len, default="").rstrip("/")


def system_root(path: Path) -> Path | None:
    """`path` or the folder in it that holds `sys/devices/system/cpu` or `proc/cpuinfo`."""
    for root in (path, *_folders(path)):
        if os.path.isdir(root / "sys/devices/system/cpu") or os.path.isfile(root / "proc/cpuinfo"):
            return root
    return None


def _folders(path: Path) -> list[Path]:
    try:
        with os.scandir(path) as entries:
            return sorted(Path(entry) for entry in entries if entry.is_dir(follow_symlinks=False))[
                :_MAX_BELOW
            ]
    except OSError:
        return []


def _readable(name: str) -> str:
    """A file's name as Unicode; where its bytes are none, one that leads nowhere."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "replace")
