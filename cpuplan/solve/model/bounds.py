"""What sizes and the ways to use cores say of places, by arithmetic: bounds that need no search."""

from collections.abc import Sequence

from cpuplan.cpuset import union
from cpuplan.solve.constraints import Amount
from cpuplan.solve.layout import Scope
from cpuplan.solve.model.counts import Counts
from cpuplan.solve.model.demands import units


class Bounds:
    """Bounds that hold for every layout that satisfies the constraints."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
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
        rooms = [self._room(amount, scope) for scope in scopes]
        left = amount.least - self._room(amount, Scope("", outside))
        number = 0
        for room in sorted(rooms, reverse=True):
            if left <= 0 or not room:
                break
            number, left = number + 1, left - room
        return number

    def _room(self, amount: Amount, scope: Scope) -> int:
        """The most of an amount's unit that the set can have of the amount's scope and this one."""
        both = scope.cpus & amount.scope.cpus
        return self._counts.most(units(amount._replace(scope=Scope("", both))), both)
