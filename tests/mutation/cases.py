"""The nodes whose facts are changed: captured ones, and made ones for what no guest runs."""

from collections.abc import Sequence
from functools import cache

from cpuplan.base.roots.archive import ArchiveReader, Index, pieces_of
from cpuplan.check.roots.limits import KEEPING, LIMITS
from cpuplan.check.roots.root import Kind
from tests import captured
from tests.mutation import made, shared_hosts
from tests.mutation.image import Image
from tests.mutation.mutation import Case


def names() -> Sequence[str]:
    """All cases."""
    return (*captured.names(), *made.MADE, *shared_hosts.names())


@cache
def case(name: str) -> Case:
    """A node that holds everything."""
    if name in made.MADE:
        return made.case(name)
    if name in shared_hosts.NODES:
        return shared_hosts.case(name)
    reader = ArchiveReader(Index(pieces_of(str(captured.archive(name))), KEEPING), LIMITS)
    expected = captured.expected(name)
    return Case(name, Image(reader, Kind.SNAPSHOT).but(captured.compiled(expected)), expected)
