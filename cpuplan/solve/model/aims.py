"""Aims, reached in their order: several at once where one objective can weigh them."""

import math
from collections.abc import Iterator, Sequence

from cpuplan.solve.constraints import slots_by_core
from cpuplan.solve.goals import Aim, Moved, Parts, Smallest, SplitCores, Total
from cpuplan.solve.kinds import Pattern
from cpuplan.solve.model.counts import Counts, Expression

#: The largest sum of the weighted aims of one objective: exact even in bounds with floating point.
_MOST_WEIGHT = 2**45


def reach(counts: Counts, aims: Sequence[Aim]) -> bool:
    """Come as near each aim as the earlier ones allow; False if the rules contradict each other."""
    return all(_reach_together(counts, chunk) for chunk in _chunks(counts, aims))


def _chunks(counts: Counts, aims: Sequence[Aim]) -> Iterator[list[Aim]]:
    """Neighbouring aims of one sort, as many as one objective can weigh.

    Aims of different sorts are not weighed together: proving such an objective best takes the
    solver very long.
    """
    chunk: list[Aim] = []
    for aim in aims:
        weight = math.prod(_width(counts, member) for member in (*chunk, aim))
        if chunk and (weight > _MOST_WEIGHT or type(aim) is not type(chunk[0])):
            yield chunk
            chunk = []
        chunk.append(aim)
    if chunk:
        yield chunk


def _width(counts: Counts, aim: Aim) -> int:
    """The number of values that the measure of an aim can have."""
    return 1 + (len(aim.scopes) if isinstance(aim, Parts) else len(counts.everything))


def _reach_together(counts: Counts, aims: Sequence[Aim]) -> bool:
    measured = [_measure(counts, aim) for aim in aims]
    weight, weighted = 1, []
    for aim, expression in zip(reversed(aims), reversed(measured), strict=True):
        weighted.append(expression * weight)
        weight *= _width(counts, aim)
    if not counts.minimise(counts.sum(weighted)):
        return False
    values = [counts.value(expression) for expression in measured]
    for expression, value in zip(measured, values, strict=True):
        counts.between(expression, value, value)
    return True


def _measure(counts: Counts, aim: Aim) -> Expression:
    """The value of `Aim.measure` for a layout, up to a constant."""
    everything = counts.everything
    match aim:
        case Moved():
            return _moved(counts, aim)
        case SplitCores():
            return _split_cores(counts, aim)
        case Parts(name=name, scopes=scopes):
            return counts.sum(counts.present(name, scope.cpus) for scope in scopes)
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
