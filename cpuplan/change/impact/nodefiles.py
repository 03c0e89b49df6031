"""Files that come, change and go."""

from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.change.impact.objects import How


class FileChange(NamedTuple):
    """A file and what becomes of it."""

    path: str
    how: How


def file_changes(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> tuple[FileChange, ...]:
    """The files in which two trees differ, by path."""
    found = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old != new:
            how = How.CHANGES
            if old is None or new is None:
                how = How.COMES if old is None else How.GOES
            found.append(FileChange(path, how))
    return tuple(found)
