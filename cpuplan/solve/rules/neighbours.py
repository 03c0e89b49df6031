"""Sets that must not meet, and sets that must."""

from collections.abc import Iterator

from cpuplan.solve.constraints import Apart, Together
from cpuplan.solve.layout import Scope
from cpuplan.solve.rules.rule import Rule, Statements, scopes_of

WORDS = {
    "core": "core",
    "cache": "last-level cache",
    "die": "die",
    "numaNode": "NUMA node",
    "socket": "socket",
}


def apart(statements: Statements) -> Iterator[Rule]:
    """Sets that are apart by core, cache, NUMA node or socket have none of these in common."""
    for name, spec in statements.sets.items():
        for other, level in spec.pool.apart.items():
            text = f"{name} shares no {WORDS[level]} with {other}"
            constraint = Apart(name, other, _scopes(statements, level))
            yield statements.rule(name, f"{spec.field}.apart.{other}", text, constraint)


def together(statements: Statements) -> Iterator[Rule]:
    """A set together with another is only on cores, caches, NUMA nodes or sockets of the other."""
    for name, spec in statements.sets.items():
        for other, level in spec.pool.together.items():
            text = f"{name} is only on a {WORDS[level]} where {other} is"
            constraint = Together(name, (other,), _scopes(statements, level))
            yield statements.rule(name, f"{spec.field}.together.{other}", text, constraint)


def _scopes(statements: Statements, level: str) -> tuple[Scope, ...] | None:
    return None if level == "core" else scopes_of(statements.topology, level)
