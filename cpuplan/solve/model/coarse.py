"""The larger parts of a divided machine: what single caches need is said by sums.

A set that has so many CPUs of a part is on so many of its caches at least, and sets that are apart
are on no more caches together than there are. Each layout of the machine is one of its parts, so
what is proven of the parts holds for the machine.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

from cpuplan.solve.constraints import Amount
from cpuplan.solve.goals import Aim
from cpuplan.solve.layout import Scope
from cpuplan.solve.model.bounds import Bounds
from cpuplan.solve.model.cliques import keep_apart
from cpuplan.solve.model.counts import Counts, Expression
from cpuplan.solve.model.demands import demand
from cpuplan.solve.model.division import Division, Rooms, is_within
from cpuplan.solve.model.nested import separate


class Coarse(Counts):
    """The counts of the larger parts, and the numbers of caches in each that sets are on."""

    def __init__(self, division: Division) -> None:
        sizes = [one for one in division.constraints if isinstance(one, Amount)]
        super().__init__(division.coarse, division.coarse_ways, sizes)
        self._division = division
        self.rooms = Rooms(division)
        self._numbers: dict[tuple[str, int], Expression] = {}
        for names in division.apart:
            for index, block in enumerate(division.blocks):
                numbers = [self._number(name, index) for name in names]
                self.between(self.sum(numbers), 0, len(block.cells))

    def parts(self, name: str, scopes: tuple[Scope, ...]) -> Expression:
        if scopes != self._division.cells:
            return super().parts(name, scopes)
        return self.sum(self._number(name, index) for index in range(len(self._division.blocks)))

    def tells(self, scopes: tuple[Scope, ...]) -> bool:
        return scopes != self._division.cells

    def fill(self) -> None:
        """What a set has at least of a part that it is on needs some of the caches there."""
        for (name, index), number in self._numbers.items():
            cpus = self._division.blocks[index].cpus
            least = max(self.fills.get((name, cpus.bits), 0), self.least(name, cpus))
            if needed := self.rooms.fewest(name, least, index):
                is_on = 1 if self.least(name, cpus) > 0 else self.present(name, cpus)
                self.model.add(number >= needed * is_on)

    def limits(self, aims: Iterable[Aim]) -> dict[str, int]:
        """The numbers of caches that sets are on in the last solution, for which there are aims."""
        cells = self._division.cells
        names = packed(self._division, aims)
        return {name: self.value(self.parts(name, cells)) for name in names}

    def crowded(self) -> dict[str, int]:
        """The most caches that sets are on, which leave to each other what all of them need."""
        most: dict[str, int] = {}
        cells = len(self._division.cells)
        for group in self._division.apart:
            needed = {name: self.needed(name) for name in group}
            free = cells - sum(needed.values())
            most |= {name: number + free for name, number in needed.items() if number}
        return most

    def needed(self, name: str) -> int:
        """The fewest caches that a set is on for its size."""
        return self.rooms.fewest(name, self.least(name))

    def share(self, limits: Mapping[str, int], names: Iterable[str]) -> None:
        """State what sets leave to others of caches, where they are on so many of them at most.

        The others are those with these `names`.
        """
        least = {name: self._least(name, limits) for name in limits}
        others = list(names)
        for index in range(len(self._division.blocks)):
            self._exclude(index, least)
            for group in self._division.apart:
                left = self._size(index) - min(least.get(name, 1) for name in group)
                beside = [name for name in others if name not in group]
                self._leave(index, group, left, [one for one in beside if not _meets(one, group)])

    def _exclude(self, index: int, least: Mapping[str, int]) -> None:
        """Of sets that have more than half of each of their caches, a cache has one at most."""
        size = self._size(index)
        large = separate(name for name, cpus in least.items() if 2 * cpus > size)
        numbers = [self._number(name, index) for name in large]
        self.between(self.sum(numbers), 0, len(self._division.blocks[index].cells))

    def _leave(self, index: int, group: Sequence[str], left: int, names: Iterable[str]) -> None:
        """Other sets have so much of a cache at most on which a set of the group is."""
        block = self._division.blocks[index]
        free = len(block.cells) - self.sum(self._number(name, index) for name in group)
        for name in names:
            rooms, outside = self.rooms.of(name, index)
            if rooms and rooms[0] > left:
                beside = left * self._number(name, index)
                most = outside + beside + (rooms[0] - left) * free
                self.model.add(self.taken(name, block.cpus) <= most)

    def _least(self, name: str, limits: Mapping[str, int]) -> int:
        """What a set has at least of each cache that it is on."""
        rooms, outside = self.rooms.everywhere(name)
        others = sum(rooms[: max(limits[name] - 1, 0)])
        return max(self.least(name) - outside - others, 1)

    def _size(self, index: int) -> int:
        """The CPUs of the largest cache of a part."""
        return max(len(cell) for cell in self._division.blocks[index].cells)

    def _number(self, name: str, index: int) -> Expression:
        """The caches of a part that a set is on: no fewer than have room for what it has there."""
        key = (name, index)
        if key not in self._numbers:
            rooms, outside = self.rooms.of(name, index)
            number = self.model.new_int_var(0, len(rooms), "")
            taken = self.taken(name, self._division.blocks[index].cpus)
            held = list(accumulate(rooms, initial=outside))
            steps = [0, *(at for at, (one, other) in enumerate(pairwise(rooms), 1) if one > other)]
            for at in steps if rooms else []:
                self.model.add(taken <= held[at] + rooms[at] * (number - at))
            self._numbers[key] = number
        return self._numbers[key]


class CoarseBounds(Bounds):
    """Bounds of parts and of their caches."""

    def __init__(self, counts: Coarse, division: Division) -> None:
        super().__init__(counts, division.constraints)
        self._coarse, self._division = counts, division

    def fewest(self, name: str, scopes: Sequence[Scope]) -> int:
        if tuple(scopes) != self._division.cells:
            return super().fewest(name, scopes)
        return self._coarse.needed(name)


def _meets(name: str, others: Iterable[str]) -> bool:
    """Whether a set has CPUs in common with one of others: a pool with its partition."""
    pool, dot, _ = name.partition(".")
    return any(other == pool if dot else other.partition(".")[0] == pool for other in others)


def coarse_of(division: Division, aims: Iterable[Aim]) -> tuple[Coarse, Bounds]:
    """The counts of the parts, with all that the rules say of them."""
    counts = Coarse(division)
    for constraint in division.constraints:
        demand(counts, constraint)
    bounds = CoarseBounds(counts, division)
    keep_apart(counts, bounds, division.constraints)
    counts.share(counts.crowded(), packed(division, aims))
    return counts, bounds


def outer(division: Division, aims: Iterable[Aim]) -> list[Aim]:
    """The aims that are not about single caches."""
    return [aim for aim in aims if not is_within(aim, division.cells)]


def packed(division: Division, aims: Iterable[Aim]) -> list[str]:
    """The sets that are on as few caches as possible."""
    return [aim.name for aim in aims if is_within(aim, division.cells)]
