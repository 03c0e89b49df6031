"""What the script of `cpuplan snapshot` collects: files, and the names of programs."""

from collections.abc import Iterator

from cpuplan.base import nodetext
from cpuplan.base.files import is_plain
from cpuplan.base.roots.reader import Reader
from cpuplan.check.roots.overlay import OverlayReader, Stand, readable

#: Paths of executables, one in a line.
PROGRAMS = "cpuplan/programs"


def reader_of(snapshot: Reader) -> Reader:
    """The snapshot with programs that it only has the names of: a runtime's handlers need some."""
    return OverlayReader(snapshot, dict(_programs(snapshot)))


def _programs(snapshot: Reader) -> Iterator[tuple[str, Stand]]:
    for path in nodetext.lines((readable(snapshot, PROGRAMS) or b"").decode("utf-8", "replace")):
        if is_plain(path):
            yield path, Stand(PROGRAMS, None, 0o755)
