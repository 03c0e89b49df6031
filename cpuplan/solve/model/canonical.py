"""The canonical one of all layouts that reach the aims: low cores go to the first sets.

Its sum of places of cores times ranks of their sets is the largest. Of several such layouts it is
the one whose first kinds have more cores in their first patterns.
"""

from collections.abc import Sequence
from typing import Any

from cpuplan.cpuset import CpuSet
from cpuplan.solve.effort import UndecidedError
from cpuplan.solve.kinds import place
from cpuplan.solve.layout import Slot, slots_of
from cpuplan.solve.model.counts import Counts, Expression
from cpuplan.solve.model.search import PROOFS, SHORT_PROOF


def canonical(counts: Counts, names: Sequence[str]) -> tuple[dict[str, CpuSet], bool]:
    """The layout of the sets of these names, and whether it is proven to be the canonical one.

    The aims are reached before.
    """
    places = _places(counts, names)
    reached = counts.minimise(places, PROOFS)
    is_proven = reached is not None and reached.value == reached.least
    values = [counts.value(variable) for variable in counts.variables]
    try:
        if _is_only(counts, places, values):
            return placed(counts, names, values), is_proven
        while better := _before(counts, values):
            values = better
    except UndecidedError:
        is_proven = False
    return placed(counts, names, values), is_proven


def placed(counts: Counts, names: Sequence[str], values: Sequence[int]) -> dict[str, CpuSet]:
    """The layout that uses these numbers of cores of each kind in each way."""
    numbers = iter(values)
    slots: dict[int, Slot] = {}
    for kind, patterns in zip(counts.kinds, counts.ways, strict=True):
        slots.update(place(kind, [(pattern, next(numbers)) for pattern in patterns]))
    layout = {}
    for name in names:
        layout[name] = CpuSet(cpu for cpu, slot in slots.items() if name in slot)
    return layout


def _places(counts: Counts, names: Sequence[str]) -> Expression:
    """Minus the places of cores times the ranks of their sets."""
    rank = {slot: index for index, slot in enumerate(slots_of(names))}
    weights = []
    for index, patterns in enumerate(counts.ways):
        weights += [-index * sum(map(rank.__getitem__, pattern)) for pattern in patterns]
    return counts.cp_model.LinearExpr.weighted_sum(counts.variables, weights)


def _is_only(counts: Counts, places: Expression, values: Sequence[int]) -> bool:
    """Whether it is soon proven that no other layout is as good."""
    try:
        return counts.find_soon(_others(counts, places, values), SHORT_PROOF) is None
    except UndecidedError:
        return False


def _others(counts: Counts, places: Expression, values: Sequence[int]) -> Any:
    """The model of all other layouts that are as good: mostly there is none.

    Their sum of places is no better, and so no aim, but its bound is what rules them out soonest.
    """
    model = counts.model.clone()
    model.clear_hints()
    numbers = iter(values)
    differences: list[Expression] = []
    for kind, used in zip(counts.kinds, counts.used, strict=True):
        taken = [(variable, value) for variable in used if (value := next(numbers))]
        if len(taken) == 1:
            differences.append(len(kind.cores) - taken[0][0])
            continue
        for variable, value in taken:  # one of them is smaller where another one is larger
            is_less = model.new_bool_var("")
            model.add(variable <= value - 1).only_enforce_if(is_less)
            differences.append(is_less)
    model.add(counts.sum(differences) >= 1)
    model.minimize(places)
    return model


def _before(counts: Counts, values: Sequence[int]) -> list[int] | None:
    """A solution in which the first of the variables that differ is larger; None if there is none.

    That variable is the first possible one, and as large as possible, so it differs only once.
    """
    model = counts.model.clone()
    model.clear_hints()
    larger: list[Expression] = []  # each: this is the first variable that differs
    same: Expression = 1  # no variable so far differs
    gain = model.new_int_var(1, len(counts.everything), "")
    numbers = iter(values)
    for kind, used in zip(counts.kinds, counts.used, strict=True):
        left = len(kind.cores)
        for variable in used:
            value = next(numbers)
            if left > value:
                first, after = model.new_bool_var(""), model.new_bool_var("")
                model.add(variable >= value + gain).only_enforce_if(first)
                model.add(variable == value).only_enforce_if(after)
                model.add(first + after == same)
                larger.append(first)
                same = after
            elif value:  # it can only be smaller, and is not where nothing differs before
                fixed = model.add(variable == value)
                if larger:
                    fixed.only_enforce_if(same)
            left -= value
    if not larger:
        return None
    model.add_exactly_one(larger)
    index = counts.cp_model.LinearExpr.weighted_sum(larger, range(len(larger)))
    model.minimize(index * (len(counts.everything) + 1) - gain)
    found = counts.find(model, ways=PROOFS)
    if found is None:
        return None
    return [int(found.solver.value(variable)) for variable in counts.variables]
