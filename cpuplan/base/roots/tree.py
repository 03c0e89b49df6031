"""What every source of files below one root answers, and paths followed as if the root were `/`."""

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sized
from typing import Generic, NamedTuple, Protocol, TypeVar

from cpuplan.base.files import Unreadable


class Budget(NamedTuple):
    """The most that is asked of one root."""

    #: Files and folders.
    questions: int
    #: Names in the folders that are listed.
    names: int
    bytes: int


class Excess(NamedTuple):
    """A limit that was passed: `asks for` at most so many `files and folders`."""

    verb: str
    limit: int
    what: str


class Meter:
    """Counts the questions to one root, and what was answered."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.asked = 0
        self._names = self._bytes = 0

    def count(self, answer: object) -> Excess | None:
        """Count a question with its answer, None for none; the limit that is passed with it."""
        self.asked += 1
        if isinstance(answer, bytes):
            self._bytes += len(answer)
        elif isinstance(answer, Sized):
            self._names += len(answer)
        if self.asked > self._budget.questions:
            return Excess("asks for", self._budget.questions, "files and folders")
        if self._names > self._budget.names:
            return Excess("lists", self._budget.names, "names")
        if self._bytes > self._budget.bytes:
            return Excess("reads", self._budget.bytes, "bytes")
        return None


class Limits(NamedTuple):
    """What finding a file may cost, and where a link may lead."""

    #: Names in one folder.
    names: int
    #: Names on the way to all that is asked for, those of links too.
    steps: int
    #: Folders that are kept open between two reads; a process may have 1,024 files, or fewer.
    opened: int = 128
    #: Whether `..` of the root is the root, as for a process in it (chroot); else it is refused.
    is_chroot: bool = True


class Status(NamedTuple):
    """What a file is: `st_mode` and the time of its last change, in seconds since 1970."""

    mode: int
    mtime: float


class Reader(Protocol):
    """Reads files below one root; links are followed as if it were `/`.

    Paths have no leading slash. All raise OSError, ValueError (NUL in a name) or Unreadable.
    """

    def read(self, path: str, limit: int) -> bytes:
        """The bytes of a regular file of at most `limit` bytes."""
        ...

    def entries(self, path: str) -> list[tuple[str, bool]]:
        """The names in a folder, ascending, each with whether it is a folder and no link."""
        ...

    def identity(self, path: str) -> Hashable:
        """What tells a folder from all others, by whatever path it is reached."""
        ...

    def status(self, path: str) -> Status:
        """Of what the path leads to."""
        ...

    def link(self, path: str) -> str | None:
        """The target of a link, as written; None for anything else."""
        ...

    def plain(self, path: str) -> str:
        """The path of a file without links."""
        ...


class BadLink(Unreadable):
    """A link that is not followed; its `noun` completes `the root has ...`."""

    def __init__(self, problem: str, noun: str, number: int | None = None) -> None:
        super().__init__(problem, number)
        self.noun = noun
        #: The path of the folder that it leads to; empty where it leads to what was asked for.
        self.path = ""


def absent() -> FileNotFoundError:
    """The system's answer for a file that is not there."""
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


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
