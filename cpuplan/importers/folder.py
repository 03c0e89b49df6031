"""A folder as a Tree: a live host's root, or a copy of one with links that may point anywhere."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers.base import LeavesTreeError
from cpuplan.quantity import to_text

#: No file of /sys or /proc that is read here comes near; a sysinfo.tgz of 2,000 CPUs has about 4 MB.
MAX_FILE = 64 * 1024 * 1024
_MAX_LINKS = 40  # as the kernel (MAXSYMLINKS)
_MAX_BELOW = 1000  # folders that are looked into for a system root
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def resolve(path: str, link: Callable[[str], str | None]) -> str:
    """`path` without links, `.` and `..`, as seen from a process whose root is the tree's.

    `link` gives the target of the link at a link-free path. Raises LeavesTreeError for `..` above the root, and for
    more than 40 links.
    """
    done: list[str] = []
    todo = path.split("/")[::-1]
    links = 0
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not done:
                raise LeavesTreeError(path)
            done.pop()
            continue
        target = link("/".join([*done, part]))
        if target is None:
            done.append(part)
            continue
        links += 1
        if links > _MAX_LINKS:
            raise LeavesTreeError(path)
        if target.startswith("/"):
            done.clear()
        todo += target.split("/")[::-1]
    return "/".join(done)


def _readable(name: str) -> str:
    """A file's name as Unicode; where its bytes are none, one that leads nowhere."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "replace")


class FolderTree:
    """The files below the folder `root`; `name` is what messages call it."""

    def __init__(self, root: Path, name: str | None = None) -> None:
        self.name = str(root) if name is None else name
        self.diagnostics: list[Diagnostic] = []
        self._root = os.fspath(root).rstrip("/") + "/"
        self._folders: dict[str, str | None] = {"": ""}  # link-free paths of folders, None for what is refused

    def read(self, path: str) -> str | None:
        data = self.read_bytes(path)
        return None if data is None else data.decode("utf-8", "replace")

    def read_bytes(self, path: str) -> bytes | None:
        folder, _, name = path.rpartition("/")
        inside = self._folder(folder)
        if inside is None:
            return None
        try:
            descriptor = os.open(f"{self._root}{inside}/{name}", _FLAGS)
        except OSError:
            return self._read_link(f"{inside}/{name}")
        try:
            return self._read_open(descriptor, path)
        except OSError:  # sysfs answers reads of some files with EINVAL or ENODATA
            return None
        finally:
            os.close(descriptor)

    def names(self, path: str) -> list[str]:
        inside = self._folder(path)
        try:
            return [] if inside is None else sorted(map(_readable, os.listdir(self._root + inside)))
        except OSError:
            return []

    def link(self, path: str) -> str | None:
        folder, _, name = path.rpartition("/")
        inside = self._folder(folder)
        target = None if inside is None else self._readlink(f"{inside}/{name}")
        return target and _readable(target)

    def _folder(self, path: str) -> str | None:
        """The link-free path of a folder; remembered, since nearly all files share their folders with others."""
        known = self._folders
        if path in known:
            return known[path]
        above, _, name = path.rpartition("/")
        inside = self._folder(above)
        if inside is not None:
            inside = f"{inside}/{name}" if inside else name
            if name in (".", "..") or self._readlink(inside) is not None:
                inside = self._resolve(f"{path}")
        known[path] = inside
        return inside

    def _resolve(self, path: str) -> str | None:
        try:
            return resolve(path, self._readlink)
        except LeavesTreeError:
            what = f"a link that leads out of it, {path}"
            self.diagnostics.append(diagnose("CP122", path=self.name, problem=what))
            return None

    def _readlink(self, inside: str) -> str | None:
        try:
            return os.readlink(self._root + inside)
        except OSError:
            return None

    def _read_link(self, inside: str) -> bytes | None:
        """The file that the link at `inside` leads to; None if it is none."""
        if self._readlink(inside) is None:
            return None
        target = self._resolve(inside)
        return None if target is None else self.read_bytes(target)

    def _read_open(self, descriptor: int, path: str) -> bytes | None:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        parts = []
        size = 0
        while part := os.read(descriptor, 1 << 18):
            parts.append(part)
            size += len(part)
            if size > MAX_FILE:
                place = f"{self.name}: {path}"
                self.diagnostics.append(diagnose("CP123", path=place, limit=to_text(MAX_FILE), what="bytes per file"))
                return None
        return b"".join(parts)


def system_root(path: Path) -> Path | None:
    """`path` or the folder in it that holds `sys/devices/system/cpu` or `proc/cpuinfo`."""
    for root in (path, *_folders(path)):
        if (root / "sys/devices/system/cpu").is_dir() or (root / "proc/cpuinfo").is_file():
            return root
    return None


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(each for each in path.iterdir() if each.is_dir() and not each.is_symlink())[:_MAX_BELOW]
    except OSError:
        return []
