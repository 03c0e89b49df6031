"""Aims, reached in their order: several at once where one objective can weigh them."""

import math
from collections.abc import Iterator, Sequence

from cpuplan.solve.constraints import slots_by_core
from cpuplan.solve.goals import Aim, Moved, Parts, Smallest, SplitCores, Total
from cpuplan.solve.kinds import Pattern
from cpuplan.solve.model.counts import Counts, Expression

#: The largest sum of weighted aims of one objective: exact also where the solver bounds it with
#: floating point.
_MOST_WEIGHT = 2**45


def reach(counts: Counts, aims: Sequence[Aim]) -> bool:
    """Come as near to each aim as the earlier ones allow, and stay there; False if the rules
    contradict each other.
    """
    return all(_reach_together(counts, some) for some in _together(counts, aims))


def _together(counts: Counts, aims: Sequence[Aim]) -> Iterator[list[Aim]]:
    """Neighbouring aims of one sort, as many as one objective can weigh.

    Aims of different sorts are not weighed in one objective: proving that one best takes the solver
    ages.
    """
    chunk: list[Aim] = []
    for aim in aims:
        weight = math.prod(_width(counts, each) for each in (*chunk, aim))
        if chunk and (weight > _MOST_WEIGHT or type(aim) is not type(chunk[0])):
            yield chunk
            chunk = []
        chunk.append(aim)
    if chunk:
        yield chunk


def _width(counts: Counts, aim: Aim) -> int:
    """How many values an aim's measure can have."""
    return 1 + (len(aim.scopes) if isinstance(aim, Parts) else len(counts.everything))


def _reach_together(counts: Counts, aims: Sequence[Aim]) -> bool:
    measured = [_measure(counts, aim) for aim in aims]
    weight, weighted = 1, []
    for aim, expression in zip(reversed(aims), reversed(measured), strict=True):
        weighted.append(expression * weight)
        weight *= _width(counts, aim)
    if not counts.minimise(counts.sum(weighted)):
        return False
    for expression, value in [(each, counts.value(each)) for each in measured]:
        counts.between(expression, value, value)
    return True


def _measure(counts: Counts, aim: Aim) -> Expression:
    """What `Aim.measure` says of a layout, less a constant."""
    everything = counts.everything
    match aim:
        case Moved(committed=committed):
            old = {cpu: {name for name, cpus in committed if cpu in cpus} for cpu in everything}

            def moved(pattern: Pattern, threads: Sequence[int]) -> int:
                return sum(
                    set(slot) != old[cpu] for slot, cpu in zip(pattern, threads, strict=True)
                )

            return counts.weighted(moved, everything)
        case SplitCores(cores=cores):

            def split(pattern: Pattern, threads: Sequence[int]) -> int:
                parts = slots_by_core(cores, threads, pattern) if cores else [pattern]
                return sum(len(set(part)) > 1 for part in parts)

            return counts.weighted(split, everything)
        case Parts(name=name, scopes=scopes):
            return counts.sum(counts.present(name, scope.cpus) for scope in scopes)
        case Smallest(name=name, scopes=scopes):
            least = counts.model.new_int_var(0, len(everything), "")
            for scope in scopes:
                counts.model.add(least <= counts.taken(name, scope.cpus))
            return -least
        case Total(name=name, sign=sign):
            return sign * counts.taken(name, everything)
