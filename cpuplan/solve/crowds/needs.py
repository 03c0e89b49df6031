"""The fewest parts of the machine that sets are on for their sizes, alone and together."""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.topology import Topology
from cpuplan.language.model.pools import QOS_SETS
from cpuplan.solve.constraints import Amount, WholeCores
from cpuplan.solve.layout import hosts_among
from cpuplan.solve.model.cliques import Scopes
from cpuplan.solve.portions import fewest
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


class Parts:
    """Parts of a machine that do not overlap, and what has room in them."""

    def __init__(self, topology: Topology, scopes: Scopes) -> None:
        self._topology = topology
        self._bits = [scope.cpus.bits for scope in scopes]
        self._outside = ~union(scope.cpus for scope in scopes).bits
        self._rooms: dict[object, tuple[int, list[int]]] = {}
        self.number = len(scopes)

    def needs(self, rules: Sequence[Rule], names: Container[str]) -> list[Needed]:
        """What each set needs by the statement that demands most, in the order of the rules."""
        found: dict[str, Needed] = {}
        for rule in rules:
            for amount in rule.amounts if rule.name in names else ():
                need = Needed(self.fewest(amount), (rule.name,), amount, (rule,))
                known = found.get(rule.name)
                if need.number and (known is None or known.number < need.number):
                    found[rule.name] = need
        return list(found.values())

    def both(self, one: Needed, other: Needed) -> Needed | None:
        """What two groups of sets need together; None where their sizes do not add up."""
        names = (*one.names, *other.names)
        if one.scale != other.scale or not (one.is_exclusive and other.is_exclusive):
            return None
        if not are_disjoint(names):
            return None
        amount = one.amount._replace(least=one.amount.least + other.amount.least)
        return Needed(self.fewest(amount), names, amount, (*one.sizes, *other.sizes))

    def fewest(self, amount: Amount) -> int:
        """The fewest parts that have an amount, beside what is in none of them."""
        outside, sizes = self.rooms(amount)
        return fewest(amount.least - outside, sizes)

    def rooms(self, amount: Amount) -> tuple[int, list[int]]:
        """The most of an amount's unit in no part, and in each part with some; the most first."""
        scale = amount.unit, amount.scope, amount.cores, amount.blocks
        if scale not in self._rooms:
            bits = amount.scope.cpus.bits
            inside = [self._room(amount, part & bits) for part in self._bits if part & bits]
            sizes = sorted(filter(None, inside), reverse=True)
            self._rooms[scale] = self._room(amount, self._outside & bits), sizes
        return self._rooms[scale]

    def _room(self, amount: Amount, bits: int) -> int:
        """The most of an amount's unit that a set can have of some CPUs."""
        cpus = CpuSet.from_bits(bits)
        if amount.unit == "caches":
            return sum(block.cpus <= cpus for block in amount.blocks)
        if amount.unit == "CPUs" or amount.cores:
            return len(cpus)
        return len({self._topology[cpu].core for cpu in cpus})


def by_scale(wanted: Iterable[Needed]) -> Iterator[list[Needed]]:
    """The sets whose amounts add up, the largest amount first."""
    groups: dict[object, list[Needed]] = {}
    for need in sorted(wanted, key=lambda need: -need.amount.least):
        if need.is_exclusive:
            groups.setdefault(need.scale, []).append(need)
    yield from groups.values()


def are_disjoint(names: Sequence[str]) -> bool:
    """Whether no CPU can be in two of the sets: none of QoS, and no pool with its partition."""
    return hosts_among(names).isdisjoint(names) and not set(QOS_SETS).intersection(names)
