"""Bounds that need no search: what sizes and ways to use cores say of places, by arithmetic.

They hold for sets that are all apart from each other, and for parts within larger parts, such as
caches of a NUMA node.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TypeAlias

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.language.model.pools import POOLS, QOS_SETS
from cpuplan.solve.constraints import Amount, Apart, Constraint, InOne, fewest
from cpuplan.solve.goals import Aim, Parts
from cpuplan.solve.layout import Scope, hosts_among
from cpuplan.solve.model.counts import Counts, Expression, units

#: On how many of some scopes a set is at most.
PartCounts: TypeAlias = Mapping[tuple[str, tuple[Scope, ...]], int]


class Bounds:
    """Bounds that hold for every layout that satisfies the constraints."""

    def __init__(self, counts: Counts, constraints: Iterable[Constraint] = ()) -> None:
        self._counts = counts
        self._one_part: dict[tuple[str, tuple[Scope, ...]], int] = {}
        for constraint in constraints:
            if isinstance(constraint, InOne):
                self._one_part[constraint.name, constraint.scopes] = 1
        self._known: dict[tuple[str, tuple[Scope, ...]], int] = {}

    def fewest(self, name: str, scopes: Sequence[Scope]) -> int:
        """The fewest of some scopes, which do not overlap, that a set is on for its size."""
        key = (name, tuple(scopes))
        if key not in self._known:
            amounts = [size for size in self._counts.sizes if size.name == name]
            needed = (self._needed(amount, scopes) for amount in amounts)
            self._known[key] = max(needed, default=0)
        return self._known[key]

    def _needed(self, amount: Amount, scopes: Sequence[Scope]) -> int:
        """The fewest scopes that have room for an amount, beside what is in none of them."""
        if amount.unit == "caches":
            return 0
        outside = amount.scope.cpus - union(scope.cpus for scope in scopes)
        inside = (scope for scope in scopes if scope.cpus & amount.scope.cpus)
        rooms = [self._room(amount, scope) for scope in inside]
        left = amount.least - self._room(amount, Scope("", outside))
        return fewest(left, filter(None, rooms))

    def _room(self, amount: Amount, scope: Scope) -> int:
        """The most of an amount's unit that the set can have of the amount's scope and this one."""
        both = scope.cpus & amount.scope.cpus
        return self._counts.most(units(amount._replace(scope=Scope("", both))), both, amount.name)

    def most_of_each(self, name: str, scopes: tuple[Scope, ...], parts: PartCounts) -> int:
        """No layout has more CPUs of a pool on each of the scopes, which do not overlap.

        `parts` says on how many of which scopes other sets are at most: one of these scopes has at
        least the mean of such a set.
        """
        most = min(self._left(name, scope, {}) for scope in scopes)
        for other in POOLS:
            number = self._one_part.get((other, scopes), parts.get((other, scopes)))
            if other != name and number:
                mean = self._mean(other, scopes, number)
                rooms = [
                    self._left(name, scope, {other: mean})
                    for scope in scopes
                    if self._counts.room(other, scope.cpus) >= mean
                ]
                most = min(most, max(rooms, default=most))
        return most

    def _mean(self, name: str, scopes: Sequence[Scope], number: int) -> int:
        """What a set has at least of one of the scopes, if it is on so many of them at most."""
        outside = self._counts.everything - union(scope.cpus for scope in scopes)
        inside = self._counts.least(name) - self._counts.room(name, outside)
        return -(-inside // number)

    def _left(self, name: str, scope: Scope, held: Mapping[str, int]) -> int:
        """What other pools leave of a scope to this one, where they have at least what is held."""
        left = len(scope.cpus & self._counts.everything)
        for other in POOLS:
            if other != name:
                left -= max(self._counts.least(other, scope.cpus), held.get(other, 0), 0)
        return left


#: Parts of the machine that do not overlap.
Scopes: TypeAlias = tuple[Scope, ...]


def keep_apart(counts: Counts, bounds: Bounds, constraints: Sequence[Constraint]) -> None:
    """Each part of the machine has at most one of sets that are apart by such parts."""
    for scopes, names in cliques(constraints):
        for scope in scopes:
            counts.model.add_at_most_one(counts.present(name, scope.cpus) for name in names)
        for name in names:
            present = counts.sum(counts.present(name, scope.cpus) for scope in scopes)
            counts.model.add(present >= bounds.fewest(name, scopes))


def cliques(constraints: Iterable[Constraint]) -> Iterator[tuple[Scopes, list[str]]]:
    """Sets that are pairwise apart; each pair is in one of these groups at least."""
    for scopes, same in levels(constraints).items():
        pairs: dict[tuple[str, str], None] = {}
        for apart in same:
            names = sorted((apart.name, apart.other))
            pairs[names[0], names[1]] = None
        yield from ((scopes, names) for names in _grown(pairs))


def levels(constraints: Iterable[Constraint]) -> dict[Scopes, list[Apart]]:
    """Which sets are apart, by the parts of the machine.

    Thousands share the same parts, which are known by their identity: a hash of them takes long.
    """
    same: dict[int, list[Apart]] = {}
    scopes_by_id: dict[int, Scopes] = {}
    for constraint in constraints:
        if isinstance(constraint, Apart) and constraint.scopes is not None:
            scopes_by_id[id(constraint.scopes)] = constraint.scopes
            same.setdefault(id(constraint.scopes), []).append(constraint)
    by_scopes: dict[Scopes, list[Apart]] = {}
    for key, some in same.items():
        by_scopes.setdefault(scopes_by_id[key], []).extend(some)
    return by_scopes


def _grown(pairs: dict[tuple[str, str], None]) -> Iterator[list[str]]:
    """Groups in which all pairs are among these, until each pair is in one."""
    neighbours: dict[str, set[str]] = {}
    for name, other in pairs:
        neighbours.setdefault(name, set()).add(other)
        neighbours.setdefault(other, set()).add(name)
    covered: set[tuple[str, str]] = set()
    for pair in pairs:
        if pair in covered:
            continue
        group = list(dict.fromkeys(pair))
        for name, others in neighbours.items():
            if others.issuperset(group):
                group.append(name)
        group.sort()
        covered.update((name, other) for name in group for other in group)
        yield group


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
