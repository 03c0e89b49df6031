"""Sets that are apart from each other, all of them at once: arithmetic instead of search.

Of sets that are pairwise apart, each part of the machine has at most one. Said once for all of
them, and with the fewest parts that each set needs for its size, this decides by sums what pairs
decide by trying: that 33 sets have no place on 32 caches.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from cpuplan.solve.constraints import Apart, Constraint
from cpuplan.solve.layout import Scope
from cpuplan.solve.model.bounds import Bounds
from cpuplan.solve.model.counts import Counts

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
    found: dict[Scopes, list[Apart]] = {}
    for key, some in same.items():
        found.setdefault(scopes_by_id[key], []).extend(some)
    return found


def _grown(pairs: dict[tuple[str, str], None]) -> Iterator[list[str]]:
    """Groups in which all pairs are among these, until each pair is in one."""
    neighbours: dict[str, set[str]] = {}
    for one, other in pairs:
        neighbours.setdefault(one, set()).add(other)
        neighbours.setdefault(other, set()).add(one)
    covered: set[tuple[str, str]] = set()
    for pair in pairs:
        if pair in covered:
            continue
        group = list(dict.fromkeys(pair))
        for name, others in neighbours.items():
            if others.issuperset(group):
                group.append(name)
        group.sort()
        covered.update((one, other) for one in group for other in group)
        yield group
