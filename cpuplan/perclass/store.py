"""A folder of results whose names are digests of their inputs.

Each has its names in it, and a digest of itself. What is damaged, or may have been written by
somebody else, is as if it were not there.
"""

import os
import stat
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from cpuplan.files import cached

#: Results that are kept, and their bytes together; the oldest go first.
MOST = 100_000
MOST_BYTES = 512 * 1024 * 1024
#: Of one result.
_LIMIT = 8 * 1024 * 1024
_DIGEST = 32


class Store:
    """A folder that nobody else can write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def is_safe(self) -> bool:
        """Whether the folder is one's own, or is not there yet."""
        place = self._folder
        return not os.path.lexists(place) or cached.is_own(place, kind=stat.S_IFDIR)

    def find(self, name: str) -> bytes | None:
        """The bytes that were saved by a name; None if there are none, or not whole."""
        found = cached.read(self._folder / name, _LIMIT)
        if not found or sha256(memoryview(found)[_DIGEST:]).digest() != found[:_DIGEST]:
            return None
        names, _, data = found[_DIGEST:].partition(b"\n")
        return data if name.encode() in names.split() else None

    def save(self, names: Sequence[str], data: bytes) -> None:
        """Keep bytes by all these names, if that is possible."""
        if names:
            first, *others = (self._folder / name for name in names)
            content = " ".join(names).encode() + b"\n" + data
            cached.write(first, sha256(content).digest() + content, *others)

    def prune(self) -> None:
        """Take the oldest results out, where there are too many; another run may do the same."""
        try:
            entries = [(entry.stat(), entry.path) for entry in os.scandir(self._folder)]
        except OSError:
            return
        entries.sort(key=lambda entry: entry[0].st_mtime_ns, reverse=True)
        size = 0
        for number, (about, path) in enumerate(entries, 1):
            size += about.st_size // max(1, about.st_nlink)  # a result may have two names
            if number > MOST or size > MOST_BYTES:
                Path(path).unlink(missing_ok=True)
