"""Sets that must not meet, and sets that must."""

from collections.abc import Iterator

from cpuplan.solve.constraints import Apart, Together
from cpuplan.solve.layout import Scope
from cpuplan.solve.rules.rule import Rule, Statements, scopes_of

WORDS = {"core": "core", "cache": "last-level cache", "numaNode": "NUMA node", "socket": "socket"}


def apart(statements: Statements) -> Iterator[Rule]:
    """Two sets that are apart by core, cache, NUMA node or socket have none of these in common."""
    for each in statements.sets.values():
        for other, level in each.pool.apart.items():
            text = f"{each.name} shares no {WORDS[level]} with {other}"
            constraint = Apart(each.name, other, _scopes(statements, level))
            yield statements.rule(each.name, f"{each.field}.apart.{other}", text, constraint)


def together(statements: Statements) -> Iterator[Rule]:
    """A set that is together with another one is only on those cores, caches, NUMA nodes or sockets
    where that is.
    """
    for each in statements.sets.values():
        for other, level in each.pool.together.items():
            text = f"{each.name} is only on a {WORDS[level]} where {other} is"
            constraint = Together(each.name, (other,), _scopes(statements, level))
            yield statements.rule(each.name, f"{each.field}.together.{other}", text, constraint)


def _scopes(statements: Statements, level: str) -> tuple[Scope, ...] | None:
    return None if level == "core" else tuple(scopes_of(statements.topology, level))
