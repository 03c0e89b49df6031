"""Koordinator (vectors/koordinator) against the port `cpuplan.upstream.koordinator`."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.conformance.koordinator import koordlet, scheduling, webhooks
from tests.conformance.operations import run_lines

VECTORS = Path(__file__).parents[3].parent / "shared" / "vectors" / "koordinator"
KINDS = {**scheduling.KINDS, **koordlet.KINDS, **webhooks.KINDS}


def run(paths: Iterable[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """(file and id, what differs) of each case."""
    yield from run_lines(paths, VECTORS, KINDS, check=scheduling.check_bug)
