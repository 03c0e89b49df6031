"""Aims, reached one by one in their order; then the canonical one of all layouts that reach them.

In the canonical layout low cores go to the first sets.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.solve import budget
from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.constraints import slots_by_core
from cpuplan.solve.core_classes import CoreClass, Pattern, place, renamed
from cpuplan.solve.goals import Aim, Gap, Moved, Parts, Smallest, SplitCores, Total
from cpuplan.solve.layout import Scope, Slot, slots_of
from cpuplan.solve.model.bounds import Bounds
from cpuplan.solve.model.counts import Counts, Expression, Reached
from cpuplan.solve.model.engine import AT_ONCE, SHORT_PROOF, TIE_PROOFS, WAYS


def reach(counts: Counts, bounds: Bounds, aims: Sequence[Aim]) -> list[Gap] | None:
    """Come as near each aim as the earlier ones allow; None if the rules contradict each other.

    Returns what is not proven best within the limit. One after the other: an objective that weighs
    several takes the solver very long to prove best. An aim that the last solution reaches as far
    as arithmetic allows needs no solver.
    """
    measured = [_measure(counts, aim) for aim in aims]
    leasts = [_least(bounds, aim) for aim in aims]
    bounded = [
        (expression, least)
        for expression, least in zip(measured, leasts, strict=True)
        if least is not None
    ]
    if not counts.solve_near(bounded):
        return None
    # Unlike machines have many aims, each of which is reached in milliseconds.
    ways = (AT_ONCE, *WAYS) if any(kind.is_divided for kind in counts.kinds) else WAYS
    gaps = []
    parts: dict[tuple[str, tuple[Scope, ...]], int] = {}
    for aim, expression, known in zip(aims, measured, leasts, strict=True):
        least = known
        if isinstance(aim, Smallest):  # places that are settled by now say more of it
            least = -bounds.most_of_each(aim.name, aim.scopes, parts)
            counts.model.add(expression >= least)
        value = _value(counts, aim, expression)
        reached = Reached(value, value)
        if least is None or value > least:
            reached = counts.minimise(expression, ways) or reached
        else:
            counts.model.add(expression == value)
        bound = _higher(least, reached.least)
        if _value(counts, aim, expression) != bound:
            gaps.append(Gap(aim, bound))
        if isinstance(aim, Parts):
            if counts.tells(aim.scopes):
                _fill(counts, aim, reached.value)
            parts[aim.name, aim.scopes] = reached.value
    return gaps


def _value(counts: Counts, aim: Aim, expression: Expression) -> int:
    """The measure in the last solution, whose variable for the smallest scope may be smaller."""
    if isinstance(aim, Smallest):
        taken = (counts.taken(aim.name, scope.cpus) for scope in aim.scopes)
        return -min(map(counts.value, taken))
    return counts.value(expression)


def _higher(known: int | None, other: int | None) -> int | None:
    """The better of two lower bounds, each of which may be unknown."""
    return max((bound for bound in (known, other) if bound is not None), default=None)


def _fill(counts: Counts, aim: Parts, number: int) -> None:
    """A set on so many scopes, and no fewer, has of each what does not fit into the others."""
    scopes = [scope.cpus for scope in aim.scopes]
    rooms = [counts.room(aim.name, scope) for scope in scopes]
    outside = counts.room(aim.name, counts.everything - union(scopes))
    for index, scope in enumerate(scopes):
        others = sorted((*rooms[:index], *rooms[index + 1 :]), reverse=True)
        least = counts.least(aim.name) - outside - sum(others[: number - 1])
        if least > 0:
            has = counts.present(aim.name, scope)
            counts.model.add(counts.taken(aim.name, scope) >= least * has)
            counts.fills[aim.name, scope.bits] = least


def _least(bounds: Bounds, aim: Aim) -> int | None:
    """A value that the measure of an aim is never less than, if it is known."""
    match aim:
        case Parts(name=name, scopes=scopes):
            return bounds.fewest(name, scopes)
        case Moved() | SplitCores():
            return 0
        case _:
            return None


def _measure(counts: Counts, aim: Aim) -> Expression:
    """The value of `Aim.measure` for a layout, up to a constant."""
    everything = counts.everything
    match aim:
        case Moved():
            return _moved(counts, aim)
        case SplitCores():
            return _split_cores(counts, aim)
        case Parts(name=name, scopes=scopes):
            return counts.parts(name, scopes)
        case Smallest(name=name, scopes=scopes):
            least = counts.model.new_int_var(0, len(everything), "")
            for scope in scopes:
                counts.model.add(least <= counts.taken(name, scope.cpus))
            return -least
        case Total(name=name, sign=sign):
            return sign * counts.taken(name, everything)


def _moved(counts: Counts, aim: Moved) -> Expression:
    old: dict[int, set[str]] = {cpu: set() for cpu in counts.everything}
    for name, cpus in aim.committed:
        for cpu in cpus & counts.everything:
            old[cpu].add(name)

    def moved(pattern: Pattern, threads: Sequence[int]) -> int:
        return sum(set(slot) != old[cpu] for slot, cpu in zip(pattern, threads, strict=True))

    return counts.weighted(moved, counts.everything)


def _split_cores(counts: Counts, aim: SplitCores) -> Expression:
    def split(pattern: Pattern, threads: Sequence[int]) -> int:
        parts = slots_by_core(aim.cores, threads, pattern) if aim.cores else [pattern]
        return sum(len(set(part)) > 1 for part in parts)

    return counts.weighted(split, counts.everything)


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
    result = []
    for index, (kind, ways) in enumerate(zip(counts.kinds, counts.ways, strict=True)):
        if id(ways) not in known:
            known[id(ways)] = ranks_of(slots, ways)
        result.append(Row(index, len(kind.cores), ways, known[id(ways)], counts.used[index]))
    return result


def merged(level: Iterable[Row], first: Mapping[str, str]) -> list[Row]:
    """The rows in which sets that can be exchanged are one, by the name of the first of them."""
    result = []
    for row in level:
        sums: dict[Pattern, list[Expression]] = {}
        ranks: dict[Pattern, int] = {}
        for pattern, rank, used in zip(row.ways, row.ranks, row.used, strict=True):
            like = renamed(pattern, first)
            sums.setdefault(like, []).append(used)
            ranks.setdefault(like, rank)
        used = [same[0] if len(same) == 1 else sum(same) for same in sums.values()]
        result.append(Row(row.place, row.cores, list(sums), list(ranks.values()), used))
    return result


def settle(counts: Counts, level: Sequence[Row]) -> Settled:
    """Give the rows their canonical values for good. The aims are reached before.

    There is a solution already: where the limit ends before, the rows have its values.
    """
    with budget.current().ties():
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
    kinds: Iterable[CoreClass], ways: Iterable[Sequence[Pattern]], values: Iterable[int]
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
    solution = counts.find(model, ways=TIE_PROOFS)
    if solution is not None:
        counts.solver = solution.solver
    return solution is not None
