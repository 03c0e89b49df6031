"""A folder of results whose names are digests of their inputs.

Each has its names in it, and a digest that only this user's cpuplan makes (`files.cached`). What is
damaged, or was written by somebody else, is as if it were not there.
"""

import os
import zlib
from collections.abc import Sequence
from pathlib import Path

from cpuplan.base.files.cached import Sealed

#: Results that are kept, and their bytes together; the oldest go first.
MOST = 100_000
MOST_BYTES = 512 * 1024 * 1024
#: Of one result, as it is kept and as it is.
_LIMIT = 8 * 1024 * 1024
_LIMIT_UNPACKED = 32 * 1024 * 1024
#: Of zlib, which makes a fifth of a result in a tenth of a millisecond.
_LEVEL = 1


class Store:
    """A folder that nobody else can write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = Sealed(folder)

    @property
    def is_safe(self) -> bool:
        """Whether the folder is one's own, or is not there yet, and what it holds can be proven."""
        return self._files.is_usable

    def find(self, name: str) -> bytes | None:
        """The bytes that were saved by a name; None if there are none, or not whole."""
        packed = self._files.read(name, _LIMIT)
        return _inflated(packed) if packed else None

    def save(self, names: Sequence[str], data: bytes) -> None:
        """Keep bytes by all these names, if that is possible."""
        packed = zlib.compress(data, _LEVEL)
        if len(data) <= _LIMIT_UNPACKED and len(packed) <= _LIMIT:
            self._files.write(names, packed)

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


def _inflated(packed: bytes) -> bytes | None:
    """The bytes that were packed, all of them and no more than a result has; None for others."""
    inflating = zlib.decompressobj()
    try:
        data = inflating.decompress(packed, _LIMIT_UNPACKED)
    except zlib.error:
        return None
    return data if inflating.eof and not inflating.unused_data else None
