"""The parts of the machine that a size is about, and sets that lie within one part."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.text import counted
from cpuplan.solve.constraints import Within
from cpuplan.solve.layout import Scope
from cpuplan.solve.portions import InOne
from cpuplan.solve.rules.devices import device_words, nodes_of, on_nodes_of_devices
from cpuplan.solve.rules.neighbours import WORDS
from cpuplan.solve.rules.places import on_numbered
from cpuplan.solve.rules.rule import Rule, Statements, named, scopes_of
from cpuplan.solve.sets import SetSpec


class Part(NamedTuple):
    """A part of the machine that a size is about, and how many times the set has it there."""

    scope: Scope
    times: int = 1


def sized_parts(statements: Statements, spec: SetSpec) -> list[Part]:
    """The machine, the parts of `per` that the set may be on, or the NUMA nodes of its devices.

    A set that is only on sockets 2 and 3 has its size `per` socket in these two. Places that leave
    no part at all contradict each other, and exclude no part here. Each device counts, also one on
    a node that the set may not be on: then there is no layout.
    """
    topology = statements.topology
    if spec.pool.per_device:
        numbers = nodes_of(statements, spec.pool.per_device)
        nodes = topology.numa_nodes
        return [
            Part(Scope(f"NUMA node {node}", nodes[node]), times)
            for node, times in sorted(numbers.items())
            if node in nodes
        ]
    return list(map(Part, allowed_scopes(statements, spec, spec.pool.per)))


def allowed_scopes(statements: Statements, spec: SetSpec, level: str) -> Sequence[Scope]:
    """The parts of a level that the set may be on; all if its places leave none."""
    scopes = scopes_of(statements.topology, level)
    allowed = statements.topology.online
    for rule in (*on_numbered(statements, spec), *on_nodes_of_devices(statements, spec)):
        for constraint in rule.constraints:
            if isinstance(constraint, Within):
                allowed &= constraint.cpus
    return [scope for scope in scopes if scope.cpus & allowed] or scopes


def where(statements: Statements, spec: SetSpec, parts: Sequence[Part]) -> str:
    """` of each NUMA node`, ` of each of sockets 2-3`, ` for each of 3 devices of class gpu`."""
    if near := spec.pool.per_device:
        number = sum(part.times for part in parts)
        return f" for {device_words(near)} ({counted(number, 'device')})"
    per = spec.pool.per
    if per == "machine":
        return ""
    if len(parts) == len(scopes_of(statements.topology, per)):
        return f" of each {WORDS[per]}"
    return f" of {named([part.scope.name for part in parts])}"


def within(statements: Statements) -> Iterator[Rule]:
    """A set lies within one NUMA node, socket, die or cache, or its share of each part does."""
    for spec in statements.sets.values():
        level = spec.pool.within
        if level is not None:
            yield _within(statements, spec, level)


def _within(statements: Statements, spec: SetSpec, level: str) -> Rule:
    name = spec.name
    scopes = scopes_of(statements.topology, level)
    parts = sized_parts(statements, spec)
    alone = tuple(InOne(name, _inside(scopes, part.scope.cpus)) for part in parts)
    known = Within(name, union(scope.cpus for scope in scopes))
    text = f"{name} lies within one {WORDS[level]}{where(statements, spec, parts)}"
    return statements.rule(name, f"{spec.field}.within", text, *alone, known)


def _inside(scopes: Sequence[Scope], cpus: CpuSet) -> tuple[Scope, ...]:
    """The scopes, as far as they lie in a part of the machine."""
    return tuple(scope._replace(cpus=scope.cpus & cpus) for scope in scopes if scope.cpus & cpus)
