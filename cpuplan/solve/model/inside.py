"""The caches of one part of a divided machine, when it is known what the part has of each set."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from cpuplan.solve.kinds import Pattern, width
from cpuplan.solve.model.canonical import Row, Settled, merged, settle
from cpuplan.solve.model.counts import Counts, Expression
from cpuplan.solve.model.division import Division, Rooms
from cpuplan.solve.model.parts import Part


def solve(
    division: Division, part: Part, rooms: Rooms, numbers: Mapping[str, int]
) -> Settled | None:
    """The canonical numbers of cores for the ways of each kind of a part; None if there is none.

    `numbers` has the caches of the part that sets are on at most.
    """
    counts = Counts(part.kinds, part.ways)
    _sum_up(counts, division, part)
    for group in division.apart:
        mine = [name for name in group if name in part.names]
        for cell in part.block.cells:
            counts.model.add_at_most_one(counts.present(name, cell) for name in mine)
    for name, number in numbers.items():
        _pack(counts, part, name, number, rooms)
    if not counts.solve():
        return None
    return settle_part(counts, division, part, part.rows(counts.used))


def settle_part(counts: Counts, division: Division, part: Part, level: Sequence[Row]) -> Settled:
    """The canonical numbers: of equal sets together, and then of each."""
    if not part.has_equals:
        return settle(counts, level)
    like = merged(level, part.first)
    together = settle(counts, like)
    _hold(counts, division, part, like, together.values)
    values, is_proven = settle(counts, level)
    return Settled(values, is_proven and together.is_proven)


def _sum_up(counts: Counts, division: Division, part: Part) -> None:
    """All fine kinds of a coarse one have together what it has."""
    sums: dict[tuple[int, Pattern], list[Expression]] = {}
    for fine, ways, used in zip(part.block.fine, part.ways, counts.used, strict=True):
        for pattern, variable in zip(ways, used, strict=True):
            sums.setdefault((division.parents[fine], pattern), []).append(variable)
    for key, variables in sums.items():
        counts.model.add(counts.sum(variables) == part.sums[key])


def _pack(counts: Counts, part: Part, name: str, number: int, rooms: Rooms) -> None:
    """A set is on so many caches, and so has of each what does not fit into the others."""
    cells = part.block.cells
    counts.model.add(counts.sum(counts.present(name, cell) for cell in cells) <= number)
    inside, outside = rooms.of(name, part.at)
    least = part.taken(name) - outside - sum(inside[: max(number - 1, 0)])
    if least > 0:
        for cell in cells:
            counts.model.add(counts.taken(name, cell) >= least * counts.present(name, cell))


def _hold(
    counts: Counts, division: Division, part: Part, level: Sequence[Row], values: Iterable[int]
) -> None:
    """Of equal sets that are apart, one has all that they have together of a cache."""
    numbers = iter(values)
    taken: dict[tuple[str, int], int] = {}
    cell_of = {cpu: at for at, cell in enumerate(part.block.cells) for cpu in cell}
    for row, kind in zip(level, part.kinds, strict=True):
        cell = cell_of.get(kind.sample[0], -1)
        for pattern in row.ways:
            number = next(numbers)
            for name in set(chain.from_iterable(pattern)):
                key = (name, cell)
                taken[key] = taken.get(key, 0) + number * width(name, pattern)
    for group in division.apart:
        firsts = [part.first.get(name, name) for name in group]
        for name, first in zip(group, firsts, strict=True):
            if firsts.count(first) == 1:
                continue
            for at, cpus in enumerate(part.block.cells):
                held = taken.get((first, at), 0) * counts.present(name, cpus)
                counts.model.add(counts.taken(name, cpus) == held)
