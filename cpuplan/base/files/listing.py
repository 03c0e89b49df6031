"""The files below folders, with everything that could not be listed."""

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.files import (
    Name,
    Outside,
    Special,
    TooLarge,
    Unreadable,
    is_below,
    kind_of,
    leads_out,
    refusal_of,
    unreadable,
)

#: Files below one folder, and names that are read to find them.
MAX_FILES = 100_000
MAX_NAMES = 1_000_000


class Listing(NamedTuple):
    """The files of a folder, sorted, and the paths that could not be listed, with the reasons."""

    files: list[Path]
    problems: list[tuple[Path, Unreadable]]


def list_files(
    *folders: Name,
    within: Name,
    suffixes: tuple[str, ...] = (".yaml", ".yml"),
    limit: int = MAX_FILES,
    hidden: bool = False,
) -> Listing:
    """The files below `folders` whose names end in one of `suffixes`, sorted by path.

    A missing folder has none, and hidden names are left out unless `hidden`. Links that stay
    inside `within` are followed; a file with several paths is listed once, by a path without links
    if it has one.
    """
    walk = _Walk(os.path.realpath(within), suffixes, limit, hidden=hidden)
    walk.walk([os.fspath(folder) for folder in folders])
    return Listing(sorted(walk.files), sorted(walk.problems, key=lambda problem: problem[0]))


class _Walk:
    """One walk: first folders and files without links, so that links to these add nothing."""

    def __init__(self, root: str, suffixes: tuple[str, ...], limit: int, *, hidden: bool) -> None:
        self.files: list[Path] = []
        self.problems: list[tuple[Path, Unreadable]] = []
        self._root, self._suffixes, self._limit = root, suffixes, limit
        self._takes_hidden = hidden
        self._seen: set[tuple[int, int]] = set()
        self._names = 0
        self._folders: list[str] = []  # the top ones, then links
        self._links: list[str] = []  # to files

    def walk(self, tops: Iterable[str]) -> None:
        top = ""
        try:
            self._folders += filter(self._exists, tops)
            while self._folders:
                top = self._folders.pop(0)
                todo = [top] if self._is_inside(top) else []
                while todo:
                    todo += self._folders_in(todo.pop())
            for link in sorted(self._links):
                if self._is_inside(link):
                    self._take_link(link)
        except TooLarge as error:
            self._note(top, error)

    def _note(self, path: str, error: Unreadable) -> None:
        self.problems.append((Path(path), error))

    def _exists(self, top: str) -> bool:
        try:
            if not stat.S_ISDIR(os.stat(top).st_mode):
                self._note(top, Special("it is not a folder", errno.ENOTDIR))
                return False
        except (OSError, ValueError) as error:
            refusal = refusal_of(top, error)
            if refusal.errno != errno.ENOENT or os.path.islink(top):
                self._note(top, refusal)
            return False
        return True

    def _is_inside(self, path: str) -> bool:
        inside = is_below(os.path.realpath(path), self._root)
        if not inside:
            self._note(path, Outside(leads_out(self._root)))
        return inside

    def _folders_in(self, folder: str) -> list[str]:
        """The folders in a new folder; its files are taken, and its links noted for later."""
        try:
            if not self._is_new(os.stat(folder)):
                return []
            with os.scandir(folder) as entries:
                visible = (entry for entry in entries if self._takes_hidden or entry.name[0] != ".")
                return [entry.path for entry in visible if self._is_folder(entry)]
        except OSError as error:
            self._note(folder, unreadable(error))
            return []

    def _is_new(self, status: os.stat_result) -> bool:
        known = (status.st_dev, status.st_ino) in self._seen
        self._seen.add((status.st_dev, status.st_ino))
        return not known

    def _is_folder(self, entry: "os.DirEntry[str]") -> bool:
        """Whether it is a folder to go into; else take the file, or note the link."""
        self._names += 1
        if self._names > MAX_NAMES:
            raise TooLarge(f"it has more than {MAX_NAMES:,} names")
        try:
            entry.name.encode()
            status = entry.stat()
        except UnicodeEncodeError:
            name = os.fsencode(entry.path).decode(errors="backslashreplace")
            self._note(name, Unreadable("its name is not UTF-8"))
            return False
        except OSError as error:
            self._note(entry.path, refusal_of(entry.path, error))
            return False
        if not entry.is_symlink():
            if stat.S_ISDIR(status.st_mode):
                return True
            self._take(entry.path, status)
        elif stat.S_ISDIR(status.st_mode):
            self._folders.append(entry.path)
        elif entry.name.endswith(self._suffixes):
            self._links.append(entry.path)
        return False

    def _take_link(self, path: str) -> None:
        try:
            self._take(path, os.stat(path))
        except OSError as error:
            self._note(path, refusal_of(path, error))

    def _take(self, path: str, status: os.stat_result) -> None:
        if not path.endswith(self._suffixes):
            return
        if not stat.S_ISREG(status.st_mode):
            self._note(path, Special(f"it is {kind_of(status.st_mode)}, not a file"))
        elif self._is_new(status) or (status.st_nlink > 1 and not os.path.islink(path)):
            if len(self.files) == self._limit:
                raise TooLarge(f"it has more than {self._limit:,} files")
            self.files.append(Path(path))
