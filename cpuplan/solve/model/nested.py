"""Parts of the machine within larger parts, such as caches of a NUMA node: which sets fit together.

Where the goals settle on how many NUMA nodes a set is, it has at least so many CPUs, and so needs
so many caches, of each of its nodes. Each statement follows from others, but only by trying: the
linear program of the solver puts a part of a set where there is no room for the least of it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.language.model.pools import QOS_SETS
from cpuplan.solve.constraints import Constraint
from cpuplan.solve.goals import Aim, Parts
from cpuplan.solve.layout import hosts_among
from cpuplan.solve.model.cliques import cliques
from cpuplan.solve.model.counts import Counts, Expression
from cpuplan.solve.portions import fewest


def nest(counts: Counts, constraints: Iterable[Constraint], aims: Iterable[Aim]) -> None:
    """State what follows from the goals reached so far, for parts in which sets are packed."""
    apart = list(cliques(constraints))
    for scopes in dict.fromkeys(aim.scopes for aim in aims if isinstance(aim, Parts)):
        for scope in scopes:
            _fit(counts, scope.cpus)
            for cells, names in apart:
                inside = [cell.cpus for cell in cells if cell.cpus <= scope.cpus != cell.cpus]
                if inside:
                    _fit_cells(counts, scope.cpus, inside, names)


def _fit(counts: Counts, scope: CpuSet) -> None:
    """What sets that have no CPU in common have of a scope at least is no more than its CPUs."""
    names = separate(dict.fromkeys(size.name for size in counts.sizes))
    leasts = {name: least for name in names if (least := _least(counts, name, scope)) > 0}
    taken = [least * _is_on(counts, name, scope) for name, least in leasts.items()]
    room = len(scope & counts.everything)
    counts.between(counts.sum(taken), 0, room)
    _count(counts, scope, leasts, room)


def _count(counts: Counts, scope: CpuSet, leasts: Mapping[str, int], room: int) -> None:
    """How many of the partitions there is room for, alone and beside each other set."""
    free = {name: least for name, least in leasts.items() if counts.least(name, scope) <= 0}
    room -= sum(least for name, least in leasts.items() if name not in free)
    parts = [name for name in free if "." in name]
    number = _most(room, map(free.__getitem__, parts))
    if number == len(parts):
        return
    present = counts.sum(counts.present(name, scope) for name in parts)
    counts.model.add(present <= number)
    for name, least in free.items():
        if name not in parts:
            beside = _most(room - least, map(free.__getitem__, parts))
            has = counts.present(name, scope)
            counts.model.add(present + (number - beside) * has <= number)


def _most(room: int, amounts: Iterable[int]) -> int:
    """The most of some amounts that there is room for."""
    return sum(total <= room for total in accumulate(sorted(amounts)))


def separate(names: Iterable[str]) -> Iterator[str]:
    """Of some sets those that have no CPU in common: partitions instead of their pool."""
    known = list(names)
    hosts = hosts_among(known)
    return (name for name in known if name not in hosts and name not in QOS_SETS)


def _fit_cells(
    counts: Counts, scope: CpuSet, cells: Sequence[CpuSet], names: Iterable[str]
) -> None:
    """Each cell has one of these sets at most, and what a set has of the scope needs some cells."""
    outside = scope - union(cells)
    needed: list[Expression] = []
    for name in names:
        left = _least(counts, name, scope) - counts.room(name, outside)
        rooms = [counts.room(name, cell) for cell in cells]
        if number := fewest(left, rooms):
            needed.append(number * _is_on(counts, name, scope))
            present = [counts.present(name, cell) for cell in cells]
            counts.model.add(counts.sum(present) >= needed[-1])
            for has in present:
                counts.model.add(has <= _is_on(counts, name, scope))
    counts.between(counts.sum(needed), 0, len(cells))


def _least(counts: Counts, name: str, scope: CpuSet) -> int:
    """What a set has at least of a scope if it is on it at all."""
    return max(counts.fills.get((name, scope.bits), 0), counts.least(name, scope))


def _is_on(counts: Counts, name: str, scope: CpuSet) -> Expression:
    """Whether a set is on a scope; one that has a number of its CPUs is."""
    return 1 if counts.least(name, scope) > 0 else counts.present(name, scope)
