"""Sets that are apart from each other, and more than there are places: a conflict by counting.

33 sets of one core, each apart from all others by cache, do not fit on 32 caches. The statements
that give the count are a conflict, and a search among them finds no other.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.cpuset import union
from cpuplan.model.topology import Topology
from cpuplan.solve.constraints import Amount, Apart
from cpuplan.solve.layout import Scope
from cpuplan.solve.model.cliques import Scopes, cliques
from cpuplan.solve.rules.rule import Rule


class Needed(NamedTuple):
    """The fewest parts of the machine that a set is on for its size, and the size."""

    number: int
    name: str
    size: Rule


def crowds(topology: Topology, rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    """Statements that cannot hold together, since their sets need more parts than there are."""
    constraints = [constraint for rule in rules for constraint in rule.constraints]
    for scopes, names in cliques(constraints):
        chosen: list[Needed] = []
        for need in sorted(_needs(topology, rules, scopes, names), key=lambda need: -need.number):
            chosen.append(need)
            if sum(need.number for need in chosen) > len(scopes):
                yield _statements(rules, scopes, chosen)
                break


def _statements(rules: Sequence[Rule], scopes: Scopes, chosen: Sequence[Needed]) -> list[Rule]:
    """The sizes of sets, and that these are apart, in the order of the rules."""
    names = {need.name for need in chosen}
    sizes = [need.size for need in chosen]
    return [rule for rule in rules if rule in sizes or _is_apart(rule, scopes, names)]


def _is_apart(rule: Rule, scopes: Scopes, names: set[str]) -> bool:
    return any(
        isinstance(one, Apart) and one.scopes == scopes and {one.name, one.other} <= names
        for one in rule.constraints
    )


def _needs(
    topology: Topology, rules: Sequence[Rule], scopes: Scopes, names: Sequence[str]
) -> Iterator[Needed]:
    """The sets that need a part, in the order of their sizes in the rules."""
    for rule in rules:
        if rule.name in names and rule.amounts:
            number = max(_fewest(topology, amount, scopes) for amount in rule.amounts)
            if number:
                yield Needed(number, rule.name, rule)


def _fewest(topology: Topology, amount: Amount, scopes: Sequence[Scope]) -> int:
    """The fewest of some scopes that have an amount, beside what is in none of them."""
    outside = amount.scope.cpus - union(scope.cpus for scope in scopes)
    left = amount.least - _room(topology, amount, Scope("", outside))
    number = 0
    for room in sorted((_room(topology, amount, scope) for scope in scopes), reverse=True):
        if left <= 0 or not room:
            break
        number, left = number + 1, left - room
    return number


def _room(topology: Topology, amount: Amount, scope: Scope) -> int:
    """The most of an amount's unit that a set can have of its scope and this one."""
    cpus = scope.cpus & amount.scope.cpus
    if amount.unit == "caches":
        return sum(block.cpus <= cpus for block in amount.blocks)
    if amount.unit == "CPUs" or amount.cores:
        return len(cpus)
    return len({topology[cpu].core for cpu in cpus})
