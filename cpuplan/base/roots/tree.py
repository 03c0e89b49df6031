"""Paths of a tree of files, followed as if its root were `/`."""

import errno
import os
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from cpuplan.base.roots.reader import BadLink, Limits

#: Links on the way to one file, as the kernel (MAXSYMLINKS).
MAX_LINKS = 40
#: Characters of a path, as the kernel (PATH_MAX), and of the target of a link.
MAX_PATH = 4096
MAX_TARGET = 1024

P = TypeVar("P")


class Tree(ABC, Generic[P]):
    """Finds folders by their path, and remembers them: of 2,000 threads each is entered once.

    A place `P` is a folder, reached without links, that knows what is above it.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._folders: dict[str, P] = {}
        self._steps = 0

    @abstractmethod
    def _top(self) -> P:
        """The root. Asked once, or again after all that is remembered was forgotten."""

    @abstractmethod
    def _above(self, place: P) -> P | None:
        """The folder above; None for the root."""

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
            above = f"{above}/{name}" if above else name
            try:
                place = self._enter(place, name)
            except BadLink as problem:
                problem.path = above
                raise
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
            self._step()
            if name in ("", "."):
                continue
            if name == "..":
                place = self._up(place)
                continue
            target = self._target(place, name)
            if target is None and not todo:
                return place, name
            if target is None:
                place = self._below(place, name)
                continue
            links += 1
            if links > MAX_LINKS:
                noun = "a link that leads to itself"
                raise BadLink("its links are circular", noun, errno.ELOOP)
            if len(target) > MAX_TARGET:
                problem = f"a link to it has more than {MAX_TARGET:,} characters"
                raise BadLink(problem, "a link that is too long", errno.ENAMETOOLONG)
            place = self._folders[""] if target.startswith("/") else place
            todo += target.split("/")[::-1]
        return place, "."

    def _enter(self, place: P, name: str) -> P:
        self._step()
        if name in ("", "."):
            return place
        if name == "..":
            return self._up(place)
        try:
            return self._below(place, name)
        except NotADirectoryError:
            place, name = self.resolved(place, name)
            return place if name == "." else self._below(place, name)

    def _up(self, place: P) -> P:
        above = self._above(place)
        if above is None and not self._limits.is_chroot:
            raise BadLink("a link to it leads out of its root", "a link that leads out of it")
        return place if above is None else above

    def _step(self) -> None:
        self._steps += 1
        if self._steps > self._limits.steps:
            problem = f"it is behind more than {self._limits.steps:,} names and links of its root"
            raise BadLink(problem, "too many links", errno.ELOOP)
