"""A machine of many equal caches, divided into its larger parts, each solved by itself."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias, TypeGuard

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.solve import goals
from cpuplan.solve.constraints import Apart, Constraint, fewest, sets_of
from cpuplan.solve.core_classes import (
    CoreClass,
    Pattern,
    Ways,
    core_classes,
    renamed,
    width,
)
from cpuplan.solve.goals import Aim, Parts
from cpuplan.solve.layout import Slot, slots_of
from cpuplan.solve.model.aims import Row, ranks_of
from cpuplan.solve.model.bounds import Scopes, cliques
from cpuplan.solve.model.counts import Expression
from cpuplan.solve.rules.rule import Problem, scopes_of

#: Problems with fewer unknowns are solved sooner as they are.
_MANY = 150
#: An unknown of the division for so many of the whole is worth the work.
_WORTH = 3


class Block(NamedTuple):
    """A part of the machine with its caches, by the indexes of its kinds."""

    fine: tuple[int, ...]
    coarse: tuple[int, ...]
    cpus: CpuSet
    cells: tuple[CpuSet, ...]  # the caches


class Division(NamedTuple):
    """The kinds with and without single caches, and the parts that they make."""

    fine: list[CoreClass]
    coarse: list[CoreClass]
    ways: list[list[Pattern]]  # of the fine kinds; a coarse kind has those of its fine kinds
    parents: list[int]  # the coarse kind of each fine one
    blocks: list[Block]
    cells: Scopes
    constraints: list[Constraint]  # that say nothing of single caches
    apart: list[list[str]]  # sets of which each cache has one at most

    @property
    def coarse_ways(self) -> list[list[Pattern]]:
        """The ways to use the cores of each coarse kind."""
        by_parent = dict(zip(self.parents, self.ways, strict=True))
        return [by_parent[index] for index in range(len(self.coarse))]


def division_of(problem: Problem, aims: Sequence[Aim]) -> Division | None:
    """How the machine is divided; None where that is not worth the work."""
    cells = tuple(scopes_of(problem.topology, "cache"))
    constraints = list(chain.from_iterable(rule.constraints for rule in problem.rules))
    if len(cells) < 2:
        return None
    if any(getattr(statement, "cores", ()) for statement in (*constraints, *aims)):
        return None  # unlike machines
    inner: list[Constraint] = []
    outer: list[Constraint] = []
    for constraint in constraints:
        is_inner = isinstance(constraint, Apart) and constraint.scopes == cells
        (inner if is_inner else outer).append(constraint)
    fine = core_classes(problem.topology, _distinguished(constraints, aims))
    said = _distinguished(outer, [aim for aim in aims if not is_within(aim, cells)])
    coarse = core_classes(problem.topology, said)
    parents = _parents(fine, coarse)
    if parents is None:
        return None
    ways = Ways(slots_of(problem.names), constraints)
    fine_ways = [ways.of(kind) for kind in fine]
    size = sum(map(len, fine_ways))
    patterns = dict(zip(parents, fine_ways, strict=True))
    if size < _MANY or size < _WORTH * sum(map(len, patterns.values())):
        return None
    blocks = _blocks(fine, parents, cells)
    apart = [names for _, names in cliques(inner)]
    return Division(fine, coarse, fine_ways, parents, blocks, cells, outer, apart)


def is_within(aim: Aim, cells: Scopes) -> TypeGuard[Parts]:
    """Whether the aim is about single caches."""
    return isinstance(aim, Parts) and aim.scopes == cells


def _distinguished(constraints: Iterable[Constraint], aims: Iterable[Aim]) -> Iterable[CpuSet]:
    return chain.from_iterable([*map(sets_of, constraints), *map(goals.sets_of, aims)])


def _parents(fine: Sequence[CoreClass], coarse: Sequence[CoreClass]) -> list[int] | None:
    """The coarse kind of each fine one; None where their threads are not alike."""
    index_of = {}
    for index, kind in enumerate(coarse):
        index_of.update(dict.fromkeys(kind.cores, index))
    parents = [index_of.get(kind.sample) for kind in fine]
    known = [parent for parent in parents if parent is not None]
    is_alike = all(
        kind.groups == coarse[parent].groups for kind, parent in zip(fine, known, strict=False)
    )
    return known if len(known) == len(fine) and is_alike else None


def _blocks(fine: Sequence[CoreClass], parents: Sequence[int], cells: Scopes) -> list[Block]:
    """Kinds that a coarse kind or a cache connects, and the caches that they are in."""
    block_of = list(range(len(fine)))  # the lowest fine kind that is known to be connected
    known: dict[object, int] = {}
    cell_of = {cpu: index for index, cell in enumerate(cells) for cpu in cell.cpus}
    for index, kind in enumerate(fine):
        for key in (("kind", parents[index]), ("cell", cell_of.get(kind.sample[0], -1 - index))):
            _connect(block_of, index, known.setdefault(key, index))
    members: dict[int, list[int]] = {}
    for index in range(len(fine)):
        members.setdefault(_root(block_of, index), []).append(index)
    return [_block(fine, parents, cells, indexes) for indexes in members.values()]


def _connect(block_of: list[int], index: int, known: int) -> None:
    first, second = sorted((_root(block_of, index), _root(block_of, known)))
    block_of[second] = first


def _root(block_of: Sequence[int], index: int) -> int:
    while block_of[index] != index:
        index = block_of[index]
    return index


def _block(
    fine: Sequence[CoreClass], parents: Sequence[int], cells: Scopes, indexes: Sequence[int]
) -> Block:
    cpus = union(CpuSet(core) for index in indexes for core in fine[index].cores)
    inside = tuple(cell.cpus for cell in cells if cell.cpus & cpus)
    coarse = tuple(dict.fromkeys(parents[index] for index in indexes))
    return Block(tuple(indexes), coarse, cpus, inside)


class Rooms:
    """The CPUs that sets can have of caches, by the ways to use the cores of these."""

    def __init__(self, division: Division) -> None:
        self._division = division
        self._most: dict[tuple[str, int], int] = {}
        self._bits = [CpuSet(kind.sample).bits for kind in division.fine]
        self._known: dict[tuple[str, int], tuple[list[int], int]] = {}

    def of(self, name: str, block: int) -> tuple[list[int], int]:
        """Of the caches of a block, the largest first; and of what is in no cache."""
        key = (name, block)
        if key not in self._known:
            part = self._division.blocks[block]
            rooms = [self._room(name, part, cell) for cell in part.cells]
            outside = self._room(name, part, part.cpus - union(part.cells))
            self._known[key] = (sorted(filter(None, rooms), reverse=True), outside)
        return self._known[key]

    def everywhere(self, name: str) -> tuple[list[int], int]:
        """The same of all blocks together."""
        by_block = [self.of(name, index) for index in range(len(self._division.blocks))]
        rooms = chain.from_iterable(inside for inside, _ in by_block)
        return sorted(rooms, reverse=True), sum(outside for _, outside in by_block)

    def fewest(self, name: str, amount: int, block: int | None = None) -> int:
        """The fewest caches, of a block or of all, that hold an amount beside what is in none."""
        inside, outside = self.everywhere(name) if block is None else self.of(name, block)
        return fewest(amount - outside, inside)

    def _room(self, name: str, block: Block, scope: CpuSet) -> int:
        inside = (index for index in block.fine if self._bits[index] & scope.bits)
        return sum(
            len(self._division.fine[index].cores) * self._width(name, index) for index in inside
        )

    def _width(self, name: str, index: int) -> int:
        """The most threads that a set has of a core of a kind."""
        patterns = self._division.ways[index]
        key = (name, id(patterns))
        if key not in self._most:
            self._most[key] = max((width(name, pattern) for pattern in patterns), default=0)
        return self._most[key]


#: The cores of each coarse kind by the way in which they are used.
Used: TypeAlias = Sequence[Mapping[Pattern, int]]


class Part(NamedTuple):
    """A block, and the cores that it uses in each way."""

    at: int  # of the block
    block: Block
    kinds: list[CoreClass]
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
        result = []
        for place, (kind, ways) in enumerate(zip(self.kinds, self.ways, strict=True)):
            ranks = ranks_of(self.slots, ways)
            result.append(Row(place, len(kind.cores), ways, ranks, used[place]))
        return result


def parts_of(
    division: Division, names: Sequence[str], used: Used, equal: Iterable[Sequence[str]]
) -> list[Part]:
    """The blocks of a machine whose coarse kinds are used like this; `equal` sets are by group."""
    groups = [list(filter(set(group).__contains__, names)) for group in equal]
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
    first = _first(sums, [filter(here.__contains__, group) for group in groups])
    return Part(at, block, kinds, ways, sums, mine, slots, first)


def _first(
    sums: Mapping[tuple[int, Pattern], int], groups: Iterable[Iterable[str]]
) -> dict[str, str]:
    """Sets that have the same of each coarse kind by the first of them."""
    first_of: dict[str, str] = {}
    for group in groups:
        by_amounts: dict[object, str] = {}
        for name in group:
            amounts: dict[tuple[int, int], int] = {}
            for (coarse, pattern), number in sums.items():
                if threads := width(name, pattern):
                    key = (coarse, threads)
                    amounts[key] = amounts.get(key, 0) + number
            first_of[name] = by_amounts.setdefault(frozenset(amounts.items()), name)
    return first_of


def form_of(division: Division, part: Part, rooms: Rooms, numbers: Mapping[str, int]) -> object:
    """What `solve` depends on, without the names of partitions: equal parts are solved once."""
    numbered: dict[str, str] = {}
    for name in part.names:
        pool, dot, _ = name.partition(".")
        numbered[name] = f"{pool}.{len(numbered)}" if dot else name

    def way(pattern: Pattern) -> Pattern:
        return renamed(pattern, numbered)

    def listed(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(numbered[name] for name in names if name in numbered)

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
        (numbered[name], number, *map(str, rooms.of(name, part.at)))
        for name, number in numbers.items()
    ]
    apart = [listed(group) for group in division.apart]
    first = [(numbered[name], numbered[first]) for name, first in part.first.items()]
    return tuple(map(tuple, (shape, sums.items(), needs, apart, first)))
