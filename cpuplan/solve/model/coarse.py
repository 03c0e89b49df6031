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
from cpuplan.solve.model.division import Division, Rooms, fewest, is_within


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
            if needed := fewest(least, *self.rooms.of(name, index)):
                is_on = 1 if self.least(name, cpus) > 0 else self.present(name, cpus)
                self.model.add(number >= needed * is_on)

    def limits(self, aims: Iterable[Aim]) -> dict[str, int]:
        """The numbers of caches that sets are on in the last solution, for which there are aims."""
        cells = self._division.cells
        names = packed(self._division, aims)
        return {name: self.value(self.parts(name, cells)) for name in names}

    def share(self, aims: Iterable[Aim]) -> None:
        """A set beside others that are apart has their caches only as far as these leave it room.

        Where it is on few caches, it needs some that none of the others is on.
        """
        limits = self.limits(aims)
        for index, block in enumerate(self._division.blocks):
            for group in self._division.apart:
                left = max(self._left(name, index, limits) for name in group)
                for name in limits:
                    rooms, outside = self.rooms.of(name, index)
                    if name not in group and rooms and rooms[0] > left:
                        numbers = [self._number(other, index) for other in group]
                        free = len(block.cells) - self.sum(numbers)
                        beside = left * self._number(name, index)
                        taken = self.taken(name, block.cpus)
                        self.model.add(taken <= outside + beside + (rooms[0] - left) * free)

    def _left(self, name: str, index: int, limits: Mapping[str, int]) -> int:
        """The most CPUs of a cache that a set leaves to others where it is."""
        size = max(len(cell) for cell in self._division.blocks[index].cells)
        if name not in limits:
            return size - 1
        rooms, outside = self.rooms.everywhere(name)
        least = self.least(name) - outside - sum(rooms[: max(limits[name] - 1, 0)])
        return size - max(least, 1)

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
        return fewest(self._coarse.least(name), *self._coarse.rooms.everywhere(name))


def coarse_of(division: Division) -> tuple[Coarse, Bounds]:
    """The counts of the parts, with all that the rules say of them."""
    counts = Coarse(division)
    for constraint in division.constraints:
        demand(counts, constraint)
    bounds = CoarseBounds(counts, division)
    keep_apart(counts, bounds, division.constraints)
    return counts, bounds


def outer(division: Division, aims: Iterable[Aim]) -> list[Aim]:
    """The aims that are not about single caches."""
    return [aim for aim in aims if not is_within(aim, division.cells)]


def packed(division: Division, aims: Iterable[Aim]) -> list[str]:
    """The sets that are on as few caches as possible."""
    return [aim.name for aim in aims if is_within(aim, division.cells)]
