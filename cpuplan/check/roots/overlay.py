"""Files that outputs of commands stand for, over what a report has of a node."""

import stat
from collections.abc import Hashable, Mapping
from typing import NamedTuple

from cpuplan.base.files import Unreadable, check_size
from cpuplan.base.roots.reader import Reader, Status, absent
from cpuplan.check.roots.limits import MAX_FILE, limit_of


class Stand(NamedTuple):
    """The bytes of a file, None where only its name is known, and where the report has them."""

    source: str
    body: bytes | None
    mode: int = 0o644


class OverlayReader:
    """Reads a report, and where it lacks a file, what stands for it."""

    def __init__(self, reader: Reader, stands: Mapping[str, Stand]) -> None:
        self._reader = reader
        self._stands = stands
        self._names: dict[str, dict[str, bool]] = {}
        for path in stands:
            rest, is_folder = path, False
            while rest:
                rest, _, name = rest.rpartition("/")
                names = self._names.setdefault(rest, {})
                if names.get(name) == is_folder:
                    break
                names[name] = is_folder
                is_folder = True

    def read(self, path: str, limit: int = MAX_FILE) -> bytes:
        try:
            return self._reader.read(path, limit)
        except FileNotFoundError:
            body = self._stand(path).body
            if body is None:
                raise Unreadable("only its name was collected") from None
            check_size(len(body), limit)
            return body

    def entries(self, path: str) -> list[tuple[str, bool]]:
        more = self._names.get(path.strip("/"))
        if more is None:
            return self._reader.entries(path)
        try:
            return sorted({**more, **dict(self._reader.entries(path))}.items())
        except FileNotFoundError:
            return sorted(more.items())

    def identity(self, path: str) -> Hashable:
        try:
            return self._reader.identity(path)
        except FileNotFoundError:
            if path.strip("/") not in self._names:
                raise
            return path.strip("/")

    def status(self, path: str) -> Status:
        try:
            return self._reader.status(path)
        except FileNotFoundError:
            if path.strip("/") in self._names:
                return Status(stat.S_IFDIR | 0o755, 0)
            stand = self._stand(path)
            source = self._reader.status(stand.source)
            return Status(stat.S_IFREG | stand.mode, source.mtime)

    def link(self, path: str) -> str | None:
        try:
            return self._reader.link(path)
        except FileNotFoundError:
            return None

    def plain(self, path: str) -> str:
        try:
            return self._reader.plain(path)
        except FileNotFoundError:
            return self._stand(path).source

    def _stand(self, path: str) -> Stand:
        stand = self._stands.get(path.strip("/"))
        if stand is None:
            raise absent()
        return stand


def readable(reader: Reader, path: str) -> bytes | None:
    """The bytes of a file of a report; None if there is none that can be read."""
    try:
        return reader.read(path, limit_of(path))
    except (OSError, ValueError, Unreadable):
        return None
