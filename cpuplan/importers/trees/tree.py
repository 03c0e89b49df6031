"""Files below one root, and what of them is not read."""

from typing import Protocol

from cpuplan.base.quantity import to_text
from cpuplan.diagnostics import Diagnostic, diagnose

#: A sysinfo.tgz of 2,000 CPUs has about 4 MB, its /proc/cpuinfo 3.
MAX_FILE = 64 * 1024 * 1024
_MAX_SHOWN = 120  # characters of a path in a message
_MAX_KEPT = 10_000  # paths that are counted


class Refused:
    """What of a tree is not read, by the reason."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._members: dict[str, set[str]] = {}
        self._files: dict[int, set[str]] = {}

    def add(self, reason: str, path: str) -> None:
        """Note `path`, which `reason` is the noun for: `a device or pipe`."""
        _keep(self._members.setdefault(reason, set()), path)

    def add_large(self, limit: int, path: str) -> None:
        """Note a file of more than `limit` bytes."""
        _keep(self._files.setdefault(limit, set()), path)

    def diagnostics(self) -> list[Diagnostic]:
        """One for each reason, with the first path and how many there are."""
        diagnostics = [
            diagnose("CP122", path=self._name, problem=f"{reason}: {_first_of(paths)}")
            for reason, paths in self._members.items()
        ]
        for limit, paths in self._files.items():
            place = f"{self._name}: {_first_of(paths)}"
            diagnostics.append(
                diagnose("CP123", path=place, limit=to_text(limit), what="bytes per file")
            )
        return diagnostics


def _keep(paths: set[str], path: str) -> None:
    if len(paths) < _MAX_KEPT:
        paths.add(path if len(path) <= _MAX_SHOWN else f"{path[:_MAX_SHOWN]}...")


def _first_of(paths: set[str]) -> str:
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    return min(paths) + more + (" at least" if len(paths) == _MAX_KEPT else "")


class Tree(Protocol):
    """Files under one root, a folder or an archive; nothing outside of it is read.

    Paths are relative, with `/`.

    Symbolic links are followed as if the root were `/`. What is missing, unreadable or refused
    reads as None or [].
    """

    name: str
    refused: Refused

    def read(self, path: str, limit: int = MAX_FILE) -> str | None:
        """The text of a file; None for one of more than `limit` bytes too."""
        ...

    def read_bytes(self, path: str, limit: int = MAX_FILE) -> bytes | None: ...

    def names(self, path: str) -> list[str]:
        """What is in a folder, sorted."""
        ...

    def link(self, path: str) -> str | None:
        """The target of a symbolic link, as written."""
        ...
