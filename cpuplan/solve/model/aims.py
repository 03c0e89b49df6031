"""Aims, reached one by one in their order."""

from collections.abc import Sequence

from cpuplan.base.cpuset import union
from cpuplan.solve.constraints import slots_by_core
from cpuplan.solve.goals import Aim, Gap, Moved, Parts, Smallest, SplitCores, Total
from cpuplan.solve.kinds import Pattern
from cpuplan.solve.layout import Scope
from cpuplan.solve.model.bounds import Bounds
from cpuplan.solve.model.counts import Counts, Expression, Reached
from cpuplan.solve.model.search import AT_ONCE, WAYS


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


def _higher(one: int | None, other: int | None) -> int | None:
    """The better of two lower bounds, each of which may be unknown."""
    return max((bound for bound in (one, other) if bound is not None), default=None)


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
