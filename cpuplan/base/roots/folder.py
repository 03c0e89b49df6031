"""A folder as a root: that of a live host, `/host` of a container, or a copy."""

import errno
import os
import stat
import weakref
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Self

from cpuplan.base.files import FLAGS, TooMany, Unreadable, check_kind, note, read_open
from cpuplan.base.roots.tree import Limits, Status, Tree

_LISTED = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FOLDER = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


class _Place(NamedTuple):
    """An open folder, by its name in the one above; the root has none above it."""

    descriptor: int
    name: str
    above: "_Place | None"


class FolderReader(Tree[_Place]):
    """Reads below one folder, name by name from open ones (O_PATH), so that no change leads out."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        super().__init__(limits)
        self._path = folder
        self._open: list[int] = []
        weakref.finalize(self, _close, self._open)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all folders; the next read opens them again."""
        self._folders.clear()
        _close(self._open)

    def read(self, path: str, limit: int) -> bytes:
        note(f"{self._path}/{path}")
        place, name, status = self._status(path)
        # Before it is opened: opening some devices has an effect.
        check_kind(status.st_mode)
        if not status.st_nlink:
            # A file that a container has by itself stays the old one when another takes its name.
            problem = "it was replaced after it was mounted here: restart this pod"
            raise Unreadable(problem, errno.ESTALE)
        descriptor = os.open(name, FLAGS | os.O_NOFOLLOW, dir_fd=place.descriptor)
        try:
            return read_open(descriptor, limit)
        finally:
            os.close(descriptor)

    def entries(self, path: str) -> list[tuple[str, bool]]:
        descriptor = os.open(".", _LISTED, dir_fd=self.folder(path).descriptor)
        try:
            with os.scandir(descriptor) as entries:
                first = list(islice(entries, self._limits.names + 1))
                names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in first]
        finally:
            os.close(descriptor)
        if len(names) > self._limits.names:
            raise TooMany(self._limits.names, "names")
        return sorted(names)

    def identity(self, path: str) -> tuple[int, int]:
        status = os.fstat(self.folder(path).descriptor)
        return status.st_dev, status.st_ino

    def status(self, path: str) -> Status:
        status = self._status(path)[2]
        return Status(status.st_mode, status.st_mtime)

    def link(self, path: str) -> str | None:
        folder, _, name = path.rpartition("/")
        return self._target(self.folder(folder), name)

    def plain(self, path: str) -> str:
        above: _Place | None
        above, name, _ = self._status(path)
        names = [] if name == "." else [name]
        while above is not None and above.above is not None:
            names.append(above.name)
            above = above.above
        return "/".join(reversed(names))

    def folder(self, path: str) -> _Place:
        if path not in self._folders and len(self._open) > self._limits.opened:
            self.close()
        return super().folder(path)

    def _status(self, path: str) -> tuple[_Place, str, os.stat_result]:
        """Where `path` leads to, and what is there; of what is no link, with one question."""
        folder, _, name = path.rpartition("/")
        place = self.folder(folder)
        if name in ("", ".", ".."):
            place, name = self.folder(path), "."
        status = os.stat(name, dir_fd=place.descriptor, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            place, name = self.resolved(place, name)
            status = os.stat(name, dir_fd=place.descriptor, follow_symlinks=False)
        return place, name, status

    def _top(self) -> _Place:
        self._open.append(os.open(self._path, os.O_PATH | os.O_CLOEXEC))
        return _Place(self._open[-1], "", None)

    def _above(self, place: _Place) -> _Place | None:
        return place.above

    def _below(self, place: _Place, name: str) -> _Place:
        self._open.append(os.open(name, _FOLDER, dir_fd=place.descriptor))
        return _Place(self._open[-1], name, place)

    def _target(self, place: _Place, name: str) -> str | None:
        try:
            return os.readlink(name, dir_fd=place.descriptor)
        except OSError as error:
            if error.errno == errno.EINVAL:
                return None
            raise


def _close(descriptors: list[int]) -> None:
    while descriptors:
        os.close(descriptors.pop())
