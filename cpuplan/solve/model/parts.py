"""What the parts of a divided machine have of each set."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

from cpuplan.solve.kinds import Kind, Pattern, width
from cpuplan.solve.layout import Slot, slots_of
from cpuplan.solve.model.canonical import Row, ranks_of
from cpuplan.solve.model.counts import Expression
from cpuplan.solve.model.division import Block, Division, Rooms

#: The cores of each coarse kind by the way in which they are used.
Used: TypeAlias = Sequence[Mapping[Pattern, int]]


class Part(NamedTuple):
    """A block, and the cores that it uses in each way."""

    at: int  # of the block
    block: Block
    kinds: list[Kind]
    ways: list[list[Pattern]]  # those that are used
    sums: dict[tuple[int, Pattern], int]  # the cores of a coarse kind that are used in a way
    names: list[str]  # of the sets that it has
    slots: list[Slot]  # that it has, in the order in which cores are given away
    first: dict[str, str]  # of sets that can be exchanged here the first one

    @property
    def has_equals(self) -> bool:
        """Whether some sets can be exchanged."""
        return len(set(self.first.values())) < len(self.first)

    def taken(self, name: str) -> int:
        """The CPUs of a set."""
        cores = self.sums.items()
        return sum(number * width(name, pattern) for (_, pattern), number in cores)

    def rows(self, used: Sequence[Sequence[Expression]]) -> list[Row]:
        """Rows with these numbers of cores for the ways of each kind."""
        found = []
        for place, (kind, ways) in enumerate(zip(self.kinds, self.ways, strict=True)):
            ranks = ranks_of(self.slots, ways)
            found.append(Row(place, len(kind.cores), ways, ranks, used[place]))
        return found


def parts_of(
    division: Division, names: Sequence[str], used: Used, equal: Iterable[Sequence[str]]
) -> list[Part]:
    """The blocks of a machine whose coarse kinds are used like this; `equal` sets are by group."""
    groups = [[name for name in names if name in group] for group in equal]
    return [_part(division, index, names, used, groups) for index in range(len(division.blocks))]


def _part(
    division: Division,
    at: int,
    names: Sequence[str],
    used: Used,
    groups: Sequence[Sequence[str]],
) -> Part:
    block = division.blocks[at]
    sums: dict[tuple[int, Pattern], int] = {}
    for coarse in block.coarse:
        taken = ((pattern, number) for pattern, number in used[coarse].items() if number)
        sums.update({(coarse, pattern): number for pattern, number in taken})
    ways = []
    for fine in block.fine:
        parent = division.parents[fine]
        ways.append([pattern for pattern in division.ways[fine] if (parent, pattern) in sums])
    held = set(chain.from_iterable(pattern for _, pattern in sums))
    slots = [slot for slot in slots_of(names) if slot in held]
    here = set(chain.from_iterable(held))
    mine = [name for name in names if name in here]
    kinds = [division.fine[fine] for fine in block.fine]
    first = _first(sums, [[name for name in group if name in here] for group in groups])
    return Part(at, block, kinds, ways, sums, mine, slots, first)


def _first(
    sums: Mapping[tuple[int, Pattern], int], groups: Iterable[Iterable[str]]
) -> dict[str, str]:
    """Sets that have the same of each coarse kind by the first of them."""
    found: dict[str, str] = {}
    for group in groups:
        by_amounts: dict[object, str] = {}
        for name in group:
            amounts: dict[tuple[int, int], int] = {}
            for (coarse, pattern), number in sums.items():
                if threads := width(name, pattern):
                    key = (coarse, threads)
                    amounts[key] = amounts.get(key, 0) + number
            found[name] = by_amounts.setdefault(frozenset(amounts.items()), name)
    return found


def form_of(division: Division, part: Part, rooms: Rooms, numbers: Mapping[str, int]) -> object:
    """What `solve` depends on, without the names of partitions: equal parts are solved once."""
    renamed: dict[str, str] = {}
    for name in part.names:
        pool, dot, _ = name.partition(".")
        renamed[name] = f"{pool}.{len(renamed)}" if dot else name

    def way(pattern: Pattern) -> Pattern:
        return tuple(tuple(renamed.get(name, name) for name in slot) for slot in pattern)

    def listed(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(renamed[name] for name in names if name in renamed)

    parents = [division.parents[fine] for fine in part.block.fine]
    places = {parent: at for at, parent in enumerate(dict.fromkeys(parents))}
    cells = {cpu: at for at, cell in enumerate(part.block.cells) for cpu in cell}
    shape = []
    for kind, parent, ways in zip(part.kinds, parents, part.ways, strict=True):
        cell = cells.get(kind.sample[0])
        shape.append((len(kind.cores), kind.groups, places[parent], cell, tuple(map(way, ways))))
    sums = {
        (places[parent], way(pattern)): number for (parent, pattern), number in part.sums.items()
    }
    needs = [
        (renamed[name], number, *map(str, rooms.of(name, part.at)))
        for name, number in numbers.items()
    ]
    apart = [listed(group) for group in division.apart]
    first = [(renamed[name], renamed[first]) for name, first in part.first.items()]
    return tuple(map(tuple, (shape, sums.items(), needs, apart, first)))
