"""What is wrong with a Hardware document, and the sequences of ids in it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from cpuplan.diagnostics.source import Field


class Problem(NamedTuple):
    """What is wrong at `field` (below `spec`): a code of `codes.TOPOLOGY` and its values."""

    code: str
    field: Field
    values: dict[str, Any]


def count_ids(field: Field, sequence: str, wanted: int, what: str) -> Iterator[Problem]:
    """A problem if `sequence` has not `wanted` ids, or a run of it goes backwards."""
    count = sum(last - first + 1 for first, last in _runs(sequence))
    if count != wanted or any(last < first for first, last in _runs(sequence)):
        yield Problem("CP306", field, {"count": max(count, 0), "what": what, "wanted": wanted})


def _runs(sequence: str) -> Iterator[tuple[int, int]]:
    for item in sequence.split(","):
        first, _, last = ("-1", "", "") if item == "-1" else item.partition("-")
        yield int(first), int(last or first)


def numbers(sequence: str) -> list[int]:
    """The numbers of `0-2,0-2`, in order."""
    return [number for first, last in _runs(sequence) for number in range(first, last + 1)]
