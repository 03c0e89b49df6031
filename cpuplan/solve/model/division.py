"""A machine of many equal caches, divided into its larger parts, so that each is solved by itself.

Statements and goals that say something of single caches are left out first, and what they need of
each part is said by sums instead (`coarse`). What the parts then have of each set is settled, and
the caches of one part have nothing to do with those of another (`inside`).
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple, TypeGuard

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.solve import goals
from cpuplan.solve.constraints import Apart, Constraint, sets_of
from cpuplan.solve.goals import Aim, Parts
from cpuplan.solve.kinds import Kind, Pattern, Ways, kinds_of, width
from cpuplan.solve.layout import slots_of
from cpuplan.solve.model.cliques import Scopes, cliques
from cpuplan.solve.portions import fewest
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

    fine: list[Kind]
    coarse: list[Kind]
    ways: list[list[Pattern]]  # of the fine kinds; a coarse kind has those of its fine kinds
    parents: list[int]  # the coarse kind of each fine one
    blocks: list[Block]
    cells: Scopes
    constraints: list[Constraint]  # that say nothing of single caches
    apart: list[list[str]]  # sets of which each cache has one at most

    @property
    def coarse_ways(self) -> list[list[Pattern]]:
        """The ways to use the cores of each coarse kind."""
        found = dict(zip(self.parents, self.ways, strict=True))
        return [found[index] for index in range(len(self.coarse))]


def division_of(problem: Problem, aims: Sequence[Aim]) -> Division | None:
    """How the machine is divided; None where that is not worth the work."""
    cells = tuple(scopes_of(problem.topology, "cache"))
    constraints = list(chain.from_iterable(rule.constraints for rule in problem.rules))
    if len(cells) < 2 or any(getattr(one, "cores", ()) for one in (*constraints, *aims)):
        return None
    outer = [one for one in constraints if not (isinstance(one, Apart) and one.scopes == cells)]
    inner = [one for one in constraints if isinstance(one, Apart) and one.scopes == cells]
    fine = kinds_of(problem.topology, _distinguished(constraints, aims))
    said = _distinguished(outer, [aim for aim in aims if not is_within(aim, cells)])
    coarse = kinds_of(problem.topology, said)
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


def _parents(fine: Sequence[Kind], coarse: Sequence[Kind]) -> list[int] | None:
    """The coarse kind of each fine one; None where their threads are not alike."""
    index_of = {}
    for index, kind in enumerate(coarse):
        index_of.update(dict.fromkeys(kind.cores, index))
    parents = [index_of.get(kind.sample) for kind in fine]
    found = [parent for parent in parents if parent is not None]
    is_alike = all(
        kind.groups == coarse[parent].groups for kind, parent in zip(fine, found, strict=False)
    )
    return found if len(found) == len(fine) and is_alike else None


def _blocks(fine: Sequence[Kind], parents: Sequence[int], cells: Scopes) -> list[Block]:
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


def _connect(block_of: list[int], one: int, other: int) -> None:
    first, second = sorted((_root(block_of, one), _root(block_of, other)))
    block_of[second] = first


def _root(block_of: Sequence[int], index: int) -> int:
    while block_of[index] != index:
        index = block_of[index]
    return index


def _block(
    fine: Sequence[Kind], parents: Sequence[int], cells: Scopes, indexes: Sequence[int]
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
        found = [self.of(name, index) for index in range(len(self._division.blocks))]
        rooms = chain.from_iterable(inside for inside, _ in found)
        return sorted(rooms, reverse=True), sum(outside for _, outside in found)

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
