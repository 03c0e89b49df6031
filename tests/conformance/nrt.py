"""NodeResourceTopology (vectors/nrt) against the port `cpuplan.nrt`."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.conformance.operations import Judge, run_lines

VECTORS = Path(__file__).parents[2].parent / "shared" / "vectors" / "nrt"
KINDS: dict[str, Judge] = {}


def run(paths: Iterable[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """(file and id, what differs) of each case."""
    yield from run_lines(paths, VECTORS, KINDS)
