"""The canonical one of all layouts that reach the aims: low cores go to the first sets.

Its sum of places of cores times ranks of their sets is the largest. Of several such layouts it is
the one whose first kinds have more cores in their first patterns. Where a machine is divided
(`division`), this is said first of what its parts have of each set, then of the caches of each
part with equal sets as one set, and then of single sets.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.solve import effort
from cpuplan.solve.effort import UndecidedError
from cpuplan.solve.kinds import Kind, Pattern, place
from cpuplan.solve.layout import Slot, slots_of
from cpuplan.solve.model.counts import Counts, Expression
from cpuplan.solve.model.search import SHORT_PROOF, TIE_PROOFS


class Row(NamedTuple):
    """The cores of one kind, or of several that are counted together, and how they are used."""

    place: int  # from the lowest cores on
    cores: int
    ways: Sequence[Pattern]
    ranks: Sequence[int]  # of the ways: cores in the lower places are for the lower ones
    used: Sequence[Expression]


class Settled(NamedTuple):
    """The values of all rows, and whether it is proven that they are the canonical ones."""

    values: list[int]
    is_proven: bool


def ranks_of(slots: Sequence[Slot], ways: Iterable[Pattern]) -> list[int]:
    """The ranks of ways to use a core: the sums of those of its threads, which have these slots."""
    rank = {slot: index for index, slot in enumerate(slots)}
    return [sum(map(rank.__getitem__, pattern)) for pattern in ways]


def rows(counts: Counts, names: Sequence[str]) -> list[Row]:
    """A row for each kind; the names are those of all sets."""
    slots = slots_of(names)
    known: dict[int, list[int]] = {}  # many kinds have the same ways
    found = []
    for index, (kind, ways) in enumerate(zip(counts.kinds, counts.ways, strict=True)):
        if id(ways) not in known:
            known[id(ways)] = ranks_of(slots, ways)
        found.append(Row(index, len(kind.cores), ways, known[id(ways)], counts.used[index]))
    return found


def merged(level: Iterable[Row], first: Mapping[str, str]) -> list[Row]:
    """The rows in which sets that can be exchanged are one, by the name of the first of them."""
    found = []
    for row in level:
        sums: dict[Pattern, list[Expression]] = {}
        ranks: dict[Pattern, int] = {}
        for pattern, rank, used in zip(row.ways, row.ranks, row.used, strict=True):
            like = tuple(tuple(first.get(name, name) for name in slot) for slot in pattern)
            sums.setdefault(like, []).append(used)
            ranks.setdefault(like, rank)
        used = [same[0] if len(same) == 1 else sum(same) for same in sums.values()]
        found.append(Row(row.place, row.cores, list(sums), list(ranks.values()), used))
    return found


def settle(counts: Counts, level: Sequence[Row]) -> Settled:
    """Give the rows their canonical values for good. The aims are reached before.

    There is a solution already: where the limit ends before, the rows have its values.
    """
    with effort.current().ties():
        return _settled(counts, level)


def _settled(counts: Counts, level: Sequence[Row]) -> Settled:
    places = _places(counts, level)
    reached = counts.minimise(places, TIE_PROOFS)
    if reached is None:
        raise UndecidedError
    is_proven = reached.value == reached.least
    values = _values(counts, level)
    try:
        if not _is_only(counts, level, places, values):
            while _has_before(counts, level, values):
                values = _values(counts, level)
    except UndecidedError:
        is_proven = False
    used = chain.from_iterable(row.used for row in level)
    for expression, value in zip(used, values, strict=True):
        counts.model.add(expression == value)
    return Settled(values, is_proven)


def placed(
    kinds: Iterable[Kind], ways: Iterable[Sequence[Pattern]], values: Iterable[int]
) -> dict[int, Slot]:
    """The slots of CPUs, where so many cores of each kind are used in each way."""
    numbers = iter(values)
    slots: dict[int, Slot] = {}
    for kind, patterns in zip(kinds, ways, strict=True):
        slots.update(place(kind, [(pattern, next(numbers)) for pattern in patterns]))
    return slots


def layout_of(slots: Mapping[int, Slot], names: Sequence[str]) -> dict[str, CpuSet]:
    """The sets of these names, by the slots of all CPUs."""
    layout = {}
    for name in names:
        layout[name] = CpuSet(cpu for cpu, slot in slots.items() if name in slot)
    return layout


def _places(counts: Counts, level: Sequence[Row]) -> Expression:
    """Minus the places of cores times the ranks of their sets."""
    used: list[Expression] = []
    weights: list[int] = []
    for row in level:
        used += row.used
        weights += [-row.place * rank for rank in row.ranks]
    return counts.cp_model.LinearExpr.weighted_sum(used, weights)


def _is_only(
    counts: Counts, level: Sequence[Row], places: Expression, values: Sequence[int]
) -> bool:
    """Whether it is soon proven that no other layout is as good."""
    others = _others(counts, level, places, values)
    try:
        return others is None or counts.find_soon(others, SHORT_PROOF) is None
    except UndecidedError:
        return False


def _others(
    counts: Counts, level: Sequence[Row], places: Expression, values: Sequence[int]
) -> Any | None:
    """The model of all other layouts that are as good: mostly there is none.

    Their sum of places is no better, and so no aim, but its bound is what rules them out soonest.
    None where each row can be used in one way only.
    """
    model = counts.model.clone()
    model.clear_hints()
    numbers = iter(values)
    differences: list[Expression] = []
    for row in level:
        taken = [(expression, value) for expression in row.used if (value := next(numbers))]
        if len(taken) == 1:
            if len(row.used) > 1:
                differences.append(row.cores - taken[0][0])
            continue
        for expression, value in taken:  # one of them is smaller where another one is larger
            is_less = model.new_bool_var("")
            model.add(expression <= value - 1).only_enforce_if(is_less)
            differences.append(is_less)
    if not differences:
        return None
    model.add(counts.sum(differences) >= 1)
    model.minimize(places)
    return model


def _values(counts: Counts, level: Iterable[Row]) -> list[int]:
    """The numbers of cores in the last solution, row by row."""
    return [counts.value(expression) for row in level for expression in row.used]


def _has_before(counts: Counts, level: Sequence[Row], values: Sequence[int]) -> bool:
    """Find a solution in which the first of the values that differ is larger, if there is one.

    That value is the first possible one, and as large as possible, so it differs only once.
    """
    model = counts.model.clone()
    model.clear_hints()
    larger: list[Expression] = []  # each: this is the first value that differs
    same: Expression = 1  # no value so far differs
    gain = model.new_int_var(1, len(counts.everything), "")
    numbers = iter(values)
    for row in level:
        left = row.cores
        for expression in row.used:
            value = next(numbers)
            if left > value:
                first, after = model.new_bool_var(""), model.new_bool_var("")
                model.add(expression >= value + gain).only_enforce_if(first)
                model.add(expression == value).only_enforce_if(after)
                model.add(first + after == same)
                larger.append(first)
                same = after
            elif value:  # it can only be smaller, and is not where nothing differs before
                fixed = model.add(expression == value)
                if larger:
                    fixed.only_enforce_if(same)
            left -= value
    if not larger:
        return False
    model.add_exactly_one(larger)
    index = counts.cp_model.LinearExpr.weighted_sum(larger, range(len(larger)))
    model.minimize(index * (len(counts.everything) + 1) - gain)
    found = counts.find(model, ways=TIE_PROOFS)
    if found is not None:
        counts.solver = found.solver
    return found is not None
