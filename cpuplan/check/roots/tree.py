"""Paths of a tree of files, followed as by a process that has its root (chroot)."""

import errno
import os
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

#: Links on the way to one file, as the kernel (MAXSYMLINKS).
MAX_LINKS = 40
#: Characters of a path, as the kernel (PATH_MAX).
MAX_PATH = 4096

P = TypeVar("P")


class Tree(ABC, Generic[P]):
    """Finds folders by their path, and remembers them: of 2,000 threads each is entered once.

    A place `P` is a folder, reached without links, that knows what is above it.
    """

    def __init__(self) -> None:
        self._folders: dict[str, P] = {}

    @abstractmethod
    def _top(self) -> P:
        """The root. Asked once, or again after all that is remembered was forgotten."""

    @abstractmethod
    def _above(self, place: P) -> P:
        """The folder above; of the root, itself."""

    @abstractmethod
    def _below(self, place: P, name: str) -> P:
        """The folder of that name; NotADirectoryError for a link too."""

    @abstractmethod
    def _target(self, place: P, name: str) -> str | None:
        """The target of the link of that name, None for what is no link."""

    def folder(self, path: str) -> P:
        """The folder at `path`; also those on the way there are remembered."""
        if path in self._folders:
            return self._folders[path]
        if len(path) > MAX_PATH:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        if "" not in self._folders:
            self._folders[""] = self._top()
        known, above, missing = self._folders, path, []
        while above not in known:
            above, _, name = above.rpartition("/")
            missing.append(name)
        place = known[above]
        while missing:
            name = missing.pop()
            place = self._enter(place, name)
            above = f"{above}/{name}" if above else name
            known[above] = place
        return place

    def found(self, path: str) -> tuple[P, str]:
        """The folder and name, without links, of what `path` leads to; `.` for a folder itself."""
        folder, _, name = path.rpartition("/")
        place = self.folder(folder)
        if name in ("", ".", ".."):
            return self.folder(path), "."
        if self._target(place, name) is None:
            return place, name
        return self.resolved(place, name)

    def resolved(self, place: P, path: str) -> tuple[P, str]:
        """The same, with `path` from a folder on."""
        todo = path.split("/")[::-1]
        links = 0
        while todo:
            name = todo.pop()
            if name in ("", "."):
                continue
            if name == "..":
                place = self._above(place)
                continue
            target = self._target(place, name)
            if target is None and not todo:
                return place, name
            if target is None:
                place = self._below(place, name)
                continue
            links += 1
            if links > MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            place = self._folders[""] if target.startswith("/") else place
            todo += target.split("/")[::-1]
        return place, "."

    def _enter(self, place: P, name: str) -> P:
        if name in ("", "."):
            return place
        if name == "..":
            return self._above(place)
        try:
            return self._below(place, name)
        except NotADirectoryError:
            place, name = self.resolved(place, name)
            return place if name == "." else self._below(place, name)
