"""A node's root in memory, of which copies differ in a few files."""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.roots.tree import Reader, Status, absent
from cpuplan.check.roots.limits import MAX_FILE
from cpuplan.check.roots.root import Kind, Root


class Link(NamedTuple):
    """A symbolic link."""

    target: str


class Mode(NamedTuple):
    """The file as it is, with other permissions."""

    mode: int


class File(NamedTuple):
    """A new text, with permissions."""

    text: str
    mode: int = 0o644


#: What is at a path instead; None: nothing.
Content = str | File | Link | Mode | None


class Image:
    """Reads one root with changes by path, without a leading slash."""

    def __init__(self, reader: Reader, kind: Kind, changes: Mapping[str, Content] | None = None):
        self._reader, self._kind = reader, kind
        self._changes = dict(changes or {})
        self._added: dict[str, dict[str, bool]] = {}
        for path, content in self._changes.items():
            if content is not None:
                self._add(path)

    def _add(self, path: str) -> None:
        is_folder = False
        while path:
            path, _, name = path.rpartition("/")
            self._added.setdefault(path, {})[name] = is_folder
            is_folder = True

    def but(self, changes: Mapping[str, Content]) -> "Image":
        """A copy with further changes, at the places that links lead to."""
        resolved = {self._place(path): content for path, content in changes.items()}
        return Image(self._reader, self._kind, {**self._changes, **resolved})

    def root(self) -> Root:
        """What `check` reads."""
        return Root(Path("/node"), self, self._kind)

    def text(self, path: str) -> str | None:
        """The text of a file; None where there is none."""
        return self.root().read(path)

    def names(self, folder: str) -> list[str]:
        """What is in a folder."""
        return self.root().names(folder)

    def read(self, path: str, limit: int = MAX_FILE) -> bytes:
        content = self._content(path)
        if isinstance(content, str):
            return content.encode()
        if isinstance(content, File):
            return content.text.encode()
        if isinstance(content, Link):
            return self.read(content.target.lstrip("/"), limit)
        return self._reader.read(path, limit)

    def entries(self, path: str) -> list[tuple[str, bool]]:
        place = self._place(path)
        self._refuse_removed(place)
        try:
            names = dict(self._reader.entries(place))
        except FileNotFoundError:
            if place not in self._added:
                raise
            names = {}
        names |= self._added.get(place, {})
        start = f"{place}/" if place else ""
        gone = [name for name in names if self._changes.get(start + name, "") is None]
        return sorted((name, kind) for name, kind in names.items() if name not in gone)

    def identity(self, path: str) -> str:
        self._refuse_removed(self._place(path))
        return self._place(path)

    def status(self, path: str) -> Status:
        content = self._content(path)
        if isinstance(content, Link):
            return self.status(content.target.lstrip("/"))
        if self._place(path) in self._added:
            return Status(stat.S_IFDIR | 0o755, 0)
        try:
            known = self._reader.status(path)
        except FileNotFoundError:
            if content is None:
                raise
            known = Status(stat.S_IFREG | 0o644, 0)
        if isinstance(content, Mode | File):
            return Status(stat.S_IFREG | content.mode, known.mtime)
        return known

    def link(self, path: str) -> str | None:
        content = self._changes.get(path.strip("/"))
        if isinstance(content, Link):
            return content.target
        self._refuse_removed(self._place(path))
        if self._content(path) is not None or self._place(path) in self._added:
            return None
        return self._reader.link(path)

    def plain(self, path: str) -> str:
        return self._place(path)

    def _content(self, path: str) -> Content:
        place = self._place(path)
        self._refuse_removed(place)
        return self._changes.get(place)

    def _place(self, path: str) -> str:
        path = path.strip("/")
        if path in self._changes:
            return path
        try:
            return self._reader.plain(path)
        except OSError:
            return path

    def _refuse_removed(self, place: str) -> None:
        while place:
            if place in self._changes:
                if self._changes[place] is None:
                    raise absent()
                return
            place = place.rpartition("/")[0]
