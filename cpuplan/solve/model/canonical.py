"""Of all layouts that reach the aims, the one that gives low cores to the first sets.

The places of cores times the ranks of their sets are as much as can be together. Should several
layouts have that in common, the one is taken whose first kinds have more cores in their first
patterns.
"""

from collections.abc import Sequence

from cpuplan.cpuset import CpuSet
from cpuplan.solve.kinds import place
from cpuplan.solve.layout import Slot, in_slots, slots_of
from cpuplan.solve.model.counts import Counts, Expression


def canonical(counts: Counts, names: Sequence[str]) -> dict[str, CpuSet] | None:
    """The layout of the sets of these names; None when the rules contradict each other."""
    if not counts.minimise(_places(counts, names)):
        return None
    values = [counts.value(variable) for variable in counts.variables]
    while better := _before(counts, values):
        values = better
    return placed(counts, names, values)


def placed(counts: Counts, names: Sequence[str], values: Sequence[int]) -> dict[str, CpuSet]:
    """The layout that uses so many cores of each kind in each way."""
    at = iter(values)
    slots: dict[int, Slot] = {}
    for kind, patterns in zip(counts.kinds, counts.ways, strict=True):
        slots.update(place(kind, [(pattern, next(at)) for pattern in patterns]))
    return dict(in_slots(slots, names))


def _places(counts: Counts, names: Sequence[str]) -> Expression:
    """The places of cores times the ranks of their sets, smallest where low cores go to the first
    sets.
    """
    rank = {slot: index for index, slot in enumerate(slots_of(names))}
    weights = [
        -index * sum(rank[slot] for slot in pattern)
        for index, patterns in enumerate(counts.ways)
        for pattern in patterns
    ]
    return counts.cp_model.LinearExpr.weighted_sum(counts.variables, weights)


def _before(counts: Counts, values: Sequence[int]) -> list[int] | None:
    """A solution in which the first of the variables that differ is larger; None if there is none.

    It is the first that can be, and as large as can be: each variable is the one that differs once
    at most.
    """
    model = counts.model.clone()
    model.clear_hints()
    larger: list[Expression] = []  # each says: this is the first variable that differs
    same: Expression = 1  # no variable so far differs
    gain = model.new_int_var(1, len(counts.everything), "")
    at = iter(values)
    for kind, used in zip(counts.kinds, counts.used, strict=True):
        left = len(kind.cores)
        for variable in used:
            value = next(at)
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
    solver = counts.new_solver()
    if not counts.is_solved(solver, model):
        return None
    return [int(solver.value(variable)) for variable in counts.variables]
