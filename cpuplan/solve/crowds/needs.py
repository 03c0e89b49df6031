"""The fewest parts of the machine that sets are on for their sizes, alone and together."""

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from cpuplan.cpuset import CpuSet, union
from cpuplan.model.pools import QOS_SETS
from cpuplan.model.topology import Topology
from cpuplan.solve.constraints import Amount, WholeCores
from cpuplan.solve.model.cliques import Scopes
from cpuplan.solve.rules.rule import Rule


class Needed(NamedTuple):
    """The fewest parts that sets are on together for their sizes."""

    number: int
    names: tuple[str, ...]
    amount: Amount  # of the one set, or the sum
    sizes: tuple[Rule, ...]

    @property
    def scale(self) -> object:
        """Equal for amounts that can be compared."""
        return self.amount.unit, self.amount.scope, self.amount.cores, self.amount.blocks

    @property
    def is_exclusive(self) -> bool:
        """Whether what it counts cannot count for another such set too: CPUs, or whole cores.

        A set with a thread of each core leaves the others of its cores to another set.
        """
        return self.amount.unit == "CPUs" or all(map(_is_alone, self.sizes))


def _is_alone(size: Rule) -> bool:
    return any(isinstance(one, WholeCores) and not one.beside for one in size.constraints)


def needs(
    topology: Topology, rules: Sequence[Rule], scopes: Scopes, names: Container[str]
) -> list[Needed]:
    """What each set needs by the statement that demands most, in the order of the rules."""
    found: dict[str, Needed] = {}
    for rule in rules:
        for amount in rule.amounts if rule.name in names else ():
            need = Needed(fewest(topology, amount, scopes), (rule.name,), amount, (rule,))
            known = found.get(rule.name)
            if need.number and (known is None or known.number < need.number):
                found[rule.name] = need
    return list(found.values())


def by_scale(wanted: Iterable[Needed]) -> Iterator[list[Needed]]:
    """The sets whose amounts add up, the largest amount first."""
    groups: dict[object, list[Needed]] = {}
    for need in sorted(wanted, key=lambda need: -need.amount.least):
        if need.is_exclusive:
            groups.setdefault(need.scale, []).append(need)
    yield from groups.values()


def both(topology: Topology, scopes: Scopes, one: Needed, other: Needed) -> Needed | None:
    """What two groups of sets need together; None where their sizes do not add up."""
    names = (*one.names, *other.names)
    if one.scale != other.scale or not (one.is_exclusive and other.is_exclusive):
        return None
    if not are_disjoint(names):
        return None
    amount = one.amount._replace(least=one.amount.least + other.amount.least)
    number = fewest(topology, amount, scopes)
    return Needed(number, names, amount, (*one.sizes, *other.sizes))


def are_disjoint(names: Sequence[str]) -> bool:
    """Whether no CPU can be in two of the sets: none of QoS, and no pool with its partition."""
    hosts = {name.partition(".")[0] for name in names if "." in name}
    return hosts.isdisjoint(names) and not set(QOS_SETS).intersection(names)


def fewest(topology: Topology, amount: Amount, scopes: Scopes) -> int:
    """The fewest of some scopes that have an amount, beside what is in none of them."""
    outside, *sizes = rooms(topology, amount, scopes)
    left = amount.least - outside
    number = 0
    for size in sorted(sizes, reverse=True):
        if left <= 0 or not size:
            break
        number, left = number + 1, left - size
    return number


def rooms(topology: Topology, amount: Amount, scopes: Scopes) -> tuple[int, ...]:
    """The most of an amount's unit in none of the scopes, and in each of them."""
    return _rooms(topology, amount._replace(name="", least=0, most=0), scopes)


@lru_cache(maxsize=256)
def _rooms(topology: Topology, amount: Amount, scopes: Scopes) -> tuple[int, ...]:
    """The same for the amounts of many sets, whatever they are."""
    outside = amount.scope.cpus - union(scope.cpus for scope in scopes)
    parts = (outside, *(scope.cpus for scope in scopes))
    return tuple(_room(topology, amount, cpus) for cpus in parts)


def _room(topology: Topology, amount: Amount, part: CpuSet) -> int:
    """The most of an amount's unit that a set can have of its scope and this part."""
    cpus = part & amount.scope.cpus
    if amount.unit == "caches":
        return sum(block.cpus <= cpus for block in amount.blocks)
    if amount.unit == "CPUs" or amount.cores:
        return len(cpus)
    return len({topology[cpu].core for cpu in cpus})
