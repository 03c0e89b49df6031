"""A folder as a Tree: a live host's root, or a copy of one with links that may point anywhere."""

import errno
import os
from pathlib import Path

from cpuplan.base.files import FLAGS, TooLarge, Unreadable, note, read_open
from cpuplan.importers.trees.links import LeavesTreeError, Links
from cpuplan.importers.trees.tree import MAX_FILE, Refused

_MAX_BELOW = 1000  # folders that are looked into for a system root
_FLAGS = FLAGS | os.O_NOFOLLOW


def _readable(name: str) -> str:
    """A file's name as Unicode; where its bytes are none, one that leads nowhere."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "replace")


class FolderTree:
    """The files below the folder `root`; `name` is what messages call it."""

    def __init__(self, root: Path, name: str | None = None) -> None:
        self.name = str(root) if name is None else name
        self.refused = Refused(self.name)
        self._root = os.fspath(root).rstrip("/") + "/"
        self._links = Links()
        # link-free paths of folders, None for what is refused
        self._folders: dict[str, str | None] = {"": ""}

    def read(self, path: str, limit: int = MAX_FILE) -> str | None:
        data = self.read_bytes(path, limit)
        return None if data is None else data.decode("utf-8", "replace")

    def read_bytes(self, path: str, limit: int = MAX_FILE) -> bytes | None:
        descriptor = self._open(path)
        if descriptor is None:
            return None
        try:
            note(self._root + path)
            return read_open(descriptor, limit)
        except TooLarge:
            self.refused.add_large(limit, path)
            return None
        except (OSError, Unreadable):  # sysfs answers reads of some files with EINVAL or ENODATA
            return None
        finally:
            os.close(descriptor)

    def names(self, path: str) -> list[str]:
        inside = self._folder(path)
        try:
            return [] if inside is None else sorted(map(_readable, os.listdir(self._root + inside)))
        except OSError as error:
            self._note(error, path)
            return []

    def link(self, path: str) -> str | None:
        folder, _, name = path.rpartition("/")
        inside = self._folder(folder)
        target = None if inside is None else self._readlink(f"{inside}/{name}")
        return target and _readable(target)

    def _open(self, path: str) -> int | None:
        """A descriptor of the file that `path` leads to."""
        folder, _, name = path.rpartition("/")
        inside = self._folder(folder)
        if inside is None:
            return None
        try:
            return os.open(f"{self._root}{inside}/{name}", _FLAGS)
        except OSError as error:
            if error.errno != errno.ELOOP:  # what O_NOFOLLOW answers for a link
                self._note(error, path)
                return None
        target = self._resolve(f"{inside}/{name}", path)
        try:
            return None if target is None else os.open(self._root + target, _FLAGS)
        except OSError as error:
            self._note(error, path)
            return None

    def _folder(self, path: str) -> str | None:
        """The link-free path of a folder, remembered: nearly all files share their folders."""
        known = self._folders
        if path in known:
            return known[path]
        above, _, name = path.rpartition("/")
        inside = self._folder(above)
        if inside is not None:
            inside = f"{inside}/{name}" if inside else name
            if name in (".", "..") or self._readlink(inside) is not None:
                inside = self._resolve(inside, path)
        known[path] = inside
        return inside

    def _resolve(self, inside: str, path: str) -> str | None:
        """The link-free path of `inside`, which stands for `path` in messages."""
        try:
            return self._links.resolve(inside, self._readlink)
        except LeavesTreeError as reason:
            self.refused.add(str(reason), path)
            return None

    def _readlink(self, inside: str) -> str | None:
        try:
            return os.readlink(self._root + inside)
        except (OSError, ValueError):  # ValueError: a NUL
            return None

    def _note(self, error: OSError, path: str) -> None:
        """Say what may not be read; all else reads like what is missing."""
        if isinstance(error, PermissionError):
            self.refused.add("files without read permission", path)


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
