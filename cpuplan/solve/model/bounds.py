"""What sizes and the ways to use cores say of places, by arithmetic: bounds that need no search."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from cpuplan.base.cpuset import union
from cpuplan.language.model.pools import POOLS
from cpuplan.solve.constraints import Amount, Constraint
from cpuplan.solve.layout import Scope
from cpuplan.solve.model.counts import Counts
from cpuplan.solve.model.demands import units
from cpuplan.solve.portions import InOne, fewest

#: On how many of some scopes a set is at most.
Parts: TypeAlias = Mapping[tuple[str, tuple[Scope, ...]], int]


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

    def most_of_each(self, name: str, scopes: tuple[Scope, ...], parts: Parts) -> int:
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
