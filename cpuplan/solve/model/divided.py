"""The best layout of a divided machine: of its parts first, then of the caches of each part.

What single caches need is said by sums, until it is known what a part has of each set.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, islice, pairwise

from cpuplan.solve import budget
from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.constraints import Amount
from cpuplan.solve.core_classes import Pattern, width
from cpuplan.solve.goals import Aim
from cpuplan.solve.layout import Scope, Slot
from cpuplan.solve.model.aims import Row, Settled, merged, placed, reach, rows, settle
from cpuplan.solve.model.bounds import Bounds, keep_apart, nest, separate
from cpuplan.solve.model.counts import Counts, Expression, demand
from cpuplan.solve.model.division import Division, Part, Rooms, form_of, is_within, parts_of
from cpuplan.solve.rules.rule import Problem
from cpuplan.solve.symmetry import Forms, exchangeable


class Coarse(Counts):
    """The counts of the larger parts, and the numbers of caches in each that sets are on."""

    def __init__(self, division: Division) -> None:
        sizes = [
            constraint for constraint in division.constraints if isinstance(constraint, Amount)
        ]
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
        names = packed_sets(self._division, aims)
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
                self._leave(
                    index, group, left, [name for name in beside if not _meets(name, group)]
                )

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
            pairs = enumerate(pairwise(rooms), 1)
            steps = [0, *(at for at, (room, next_room) in pairs if room > next_room)]
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
    counts.share(counts.crowded(), packed_sets(division, aims))
    return counts, bounds


def outer_aims(division: Division, aims: Iterable[Aim]) -> list[Aim]:
    """The aims that are not about single caches."""
    return [aim for aim in aims if not is_within(aim, division.cells)]


def packed_sets(division: Division, aims: Iterable[Aim]) -> list[str]:
    """The sets that are on as few caches as possible."""
    return [aim.name for aim in aims if is_within(aim, division.cells)]


def solve_inside(
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


#: Of the limit, since another search may be needed.
_SHARE = 0.5


class ContradictionError(Exception):
    """The rules contradict each other for the parts alone."""


def slots(
    problem: Problem, aims: Sequence[Aim], division: Division
) -> tuple[dict[int, Slot], bool] | None:
    """The slots of all CPUs, and whether they are proven to be the canonical ones.

    None where the best for the parts is not possible for their caches, or was not found in time:
    then nothing is known. Raises ContradictionError.
    """
    limit = budget.current()
    with limit.at_most(limit.left * _SHARE):
        return _slots(problem, aims, division)


def _slots(
    problem: Problem, aims: Sequence[Aim], division: Division
) -> tuple[dict[int, Slot], bool] | None:
    try:
        counts, bounds = coarse_of(division, aims)
        gaps = reach(counts, bounds, aims)
        if gaps is None:
            raise ContradictionError
        if gaps:
            return None
        nest(counts, division.constraints, outer_aims(division, aims))
        counts.fill()
        limits = counts.limits(aims)
        counts.share(limits, limits)
        settled = settle(counts, rows(counts, problem.names))
        return _inside(problem, aims, division, counts, settled)
    except UndecidedError:
        return None


def _inside(
    problem: Problem, aims: Sequence[Aim], division: Division, counts: Coarse, settled: Settled
) -> tuple[dict[int, Slot], bool] | None:
    """The caches of each part; None where one of them has no layout."""
    parts = divided(problem, division, settled.values)
    numbers = _numbers(parts, counts.limits(aims), counts.rooms)
    if numbers is None:
        return None
    slots: dict[int, Slot] = {}
    is_proven = settled.is_proven
    known: dict[object, Settled | None] = {}
    for part, most in zip(parts, numbers, strict=True):
        form = form_of(division, part, counts.rooms, most)
        if form not in known:
            known[form] = solve_inside(division, part, counts.rooms, most)
        inner = known[form]
        if inner is None:
            return None
        is_proven &= inner.is_proven
        slots.update(placed(part.kinds, part.ways, inner.values))
    return slots, is_proven


def _numbers(
    parts: Sequence[Part], limits: Mapping[str, int], rooms: Rooms
) -> list[dict[str, int]] | None:
    """The most caches of each part that sets are on; None where parts could divide them."""
    numbers: list[dict[str, int]] = [{} for _ in parts]
    for name, most in limits.items():
        mine = [part for part in parts if part.taken(name)]
        if len(mine) == 1:
            numbers[mine[0].at][name] = most
            continue
        needed = {part.at: rooms.fewest(name, part.taken(name), part.at) for part in mine}
        if sum(needed.values()) != most:
            return None
        for at, number in needed.items():
            numbers[at][name] = number
    return numbers


def divided(problem: Problem, division: Division, values: Iterable[int]) -> list[Part]:
    """The parts that have these numbers of cores of each coarse kind."""
    numbers = iter(values)
    used = [
        dict(zip(ways, islice(numbers, len(ways)), strict=True)) for ways in division.coarse_ways
    ]
    equal = exchangeable(problem.rules, Forms(problem.rules))
    return parts_of(division, problem.names, used, equal)


def settle_whole(counts: Counts, problem: Problem, division: Division) -> bool:
    """Settle the counts of the whole machine as those of its parts; whether that is proven."""
    level = rows(counts, problem.names)
    sums = settle(counts, _summed(level, division))
    parts = divided(problem, division, sums.values)
    mine = [_rows_of(part, level) for part in parts]
    is_proven = sums.is_proven
    if any(part.has_equals for part in parts):
        like = (merged(some, part.first) for part, some in zip(parts, mine, strict=True))
        is_proven &= settle(counts, list(chain.from_iterable(like))).is_proven
    return settle(counts, list(chain.from_iterable(mine))).is_proven and is_proven


def _summed(level: Sequence[Row], division: Division) -> list[Row]:
    """Rows of the coarse kinds."""
    result = []
    for index, kind in enumerate(division.coarse):
        mine = [row for row, parent in zip(level, division.parents, strict=True) if parent == index]
        used = list(map(sum, zip(*[row.used for row in mine], strict=True)))
        result.append(Row(index, len(kind.cores), mine[0].ways, mine[0].ranks, used))
    return result


def _rows_of(part: Part, level: Sequence[Row]) -> list[Row]:
    """The rows of a part, with the ways that it uses."""
    used = []
    for fine, ways in zip(part.block.fine, part.ways, strict=True):
        variables = dict(zip(level[fine].ways, level[fine].used, strict=True))
        used.append([variables[pattern] for pattern in ways])
    return part.rows(used)
