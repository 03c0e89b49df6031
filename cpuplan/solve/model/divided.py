"""The best layout of a divided machine: of its parts first, then of the caches of each part."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from cpuplan.solve import effort
from cpuplan.solve.alike import exchangeable
from cpuplan.solve.alike.forms import Forms
from cpuplan.solve.effort import UndecidedError
from cpuplan.solve.goals import Aim
from cpuplan.solve.layout import Slot
from cpuplan.solve.model import inside
from cpuplan.solve.model.aims import reach
from cpuplan.solve.model.canonical import Row, Settled, merged, placed, rows, settle
from cpuplan.solve.model.coarse import Coarse, coarse_of, outer
from cpuplan.solve.model.counts import Counts
from cpuplan.solve.model.division import Division, Rooms
from cpuplan.solve.model.nested import nest
from cpuplan.solve.model.parts import Part, form_of, parts_of
from cpuplan.solve.rules.rule import Problem

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
    limit = effort.current()
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
        nest(counts, division.constraints, outer(division, aims))
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
    found: dict[int, Slot] = {}
    is_proven = settled.is_proven
    known: dict[object, Settled | None] = {}
    for part, most in zip(parts, numbers, strict=True):
        form = form_of(division, part, counts.rooms, most)
        if form not in known:
            known[form] = inside.solve(division, part, counts.rooms, most)
        inner = known[form]
        if inner is None:
            return None
        is_proven &= inner.is_proven
        found.update(placed(part.kinds, part.ways, inner.values))
    return found, is_proven


def _numbers(
    parts: Sequence[Part], limits: Mapping[str, int], rooms: Rooms
) -> list[dict[str, int]] | None:
    """The most caches of each part that sets are on; None where parts could divide them."""
    found: list[dict[str, int]] = [{} for _ in parts]
    for name, most in limits.items():
        mine = [part for part in parts if part.taken(name)]
        if len(mine) == 1:
            found[mine[0].at][name] = most
            continue
        needed = {part.at: rooms.fewest(name, part.taken(name), part.at) for part in mine}
        if sum(needed.values()) != most:
            return None
        for at, number in needed.items():
            found[at][name] = number
    return found


def divided(problem: Problem, division: Division, values: Iterable[int]) -> list[Part]:
    """The parts that have these numbers of cores of each coarse kind."""
    numbers = iter(values)
    used = [{pattern: next(numbers) for pattern in ways} for ways in division.coarse_ways]
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
    found = []
    for index, kind in enumerate(division.coarse):
        mine = [row for row, parent in zip(level, division.parents, strict=True) if parent == index]
        used = [sum(same) for same in zip(*(row.used for row in mine), strict=True)]
        found.append(Row(index, len(kind.cores), mine[0].ways, mine[0].ranks, used))
    return found


def _rows_of(part: Part, level: Sequence[Row]) -> list[Row]:
    """The rows of a part, with the ways that it uses."""
    used = []
    for fine, ways in zip(part.block.fine, part.ways, strict=True):
        variables = dict(zip(level[fine].ways, level[fine].used, strict=True))
        used.append([variables[pattern] for pattern in ways])
    return part.rows(used)
