"""More sets than there are places for them: a conflict by counting.

33 sets of one core, each apart from all others by cache, do not fit on 32 caches, and 33 sets of
five cores, each within a cache of eight, do not either. The statements that give the count are a
conflict, and a search among them finds no other. Counted are the fewest parts of the machine that
sets are on for their sizes, alone and together.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.topology import Topology
from cpuplan.language.model.pools import QOS_SETS
from cpuplan.solve.constraints import Amount, Apart, InOne, WholeCores, fewest
from cpuplan.solve.layout import hosts_among
from cpuplan.solve.model.bounds import Scopes, cliques, levels
from cpuplan.solve.rules.rule import Rule, machine


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
    whole = [rule for rule in size.constraints if isinstance(rule, WholeCores)]
    return any(not rule.beside for rule in whole)


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
        by_name: dict[str, Needed] = {}
        for rule in rules:
            for amount in rule.amounts if rule.name in names else ():
                need = Needed(self.fewest(amount), (rule.name,), amount, (rule,))
                known = by_name.get(rule.name)
                if need.number and (known is None or known.number < need.number):
                    by_name[rule.name] = need
        return list(by_name.values())

    def both(self, need: Needed, other: Needed) -> Needed | None:
        """What two groups of sets need together; None where their sizes do not add up."""
        names = (*need.names, *other.names)
        if need.scale != other.scale or not (need.is_exclusive and other.is_exclusive):
            return None
        if not are_disjoint(names):
            return None
        amount = need.amount._replace(least=need.amount.least + other.amount.least)
        return Needed(self.fewest(amount), names, amount, (*need.sizes, *other.sizes))

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


def pigeonholes(topology: Topology, rules: Sequence[Rule]) -> list[list[Rule]]:
    """Statements that cannot hold together, since their sets need more parts than there are.

    Those that are fewest come first.
    """
    crowds = [*_sums(topology, rules), *_by_parts(topology, rules), *_within(topology, rules)]
    return sorted(crowds, key=len)


def _sums(topology: Topology, rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    """Sets that need more CPUs or cores than the machine has."""
    whole = Parts(topology, (machine(topology),))
    wanted = whole.needs(rules, {rule.name for rule in rules})
    hosts = hosts_among(need.names[0] for need in wanted)
    inner = [need for need in wanted if need.names[0] not in hosts and are_disjoint(need.names)]
    for same in by_scale(inner):
        total, chosen = 0, set()
        for need in same:
            total += need.amount.least
            chosen.add(need.sizes[0])
            if total > sum(whole.rooms(need.amount)[1]):
                yield [rule for rule in rules if rule in chosen]
                break


def _by_parts(topology: Topology, rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    """Sets that are apart, and need more parts than there are."""
    constraints = [constraint for rule in rules for constraint in rule.constraints]
    for scopes, names in cliques(constraints):
        parts = Parts(topology, scopes)
        chosen = _too_many(parts.needs(rules, names), parts.number)
        if chosen:
            yield _apart(rules, scopes, _joined(parts, chosen))


def is_crowded(topology: Topology, rules: Sequence[Rule]) -> bool:
    """Whether counting is enough to see that statements cannot hold together."""
    if pigeonholes(topology, rules):
        return True
    constraints = (constraint for rule in rules for constraint in rule.constraints)
    return any(
        _are_crowded(Parts(topology, scopes), rules, neighbours(same))
        for scopes, same in levels(constraints).items()
    )


def neighbours(statements: Iterable[Apart]) -> dict[str, set[str]]:
    """The sets that each set is apart from."""
    apart_from: dict[str, set[str]] = {}
    for apart in statements:
        apart_from.setdefault(apart.name, set()).add(apart.other)
        apart_from.setdefault(apart.other, set()).add(apart.name)
    return apart_from


def _are_crowded(parts: Parts, rules: Sequence[Rule], apart: Mapping[str, set[str]]) -> bool:
    """Whether sets need too many parts, those together that are not apart from each other."""
    groups: list[Needed] = []
    for need in parts.needs(rules, apart):
        others = apart[need.names[0]]
        group: Needed | None = need
        for near in [other for other in groups if not others.issuperset(other.names)]:
            groups.remove(near)
            group = parts.both(group, near) if group else None
        if group is None:
            return False
        groups.append(group)
    return sum(group.number for group in groups) > parts.number


def _too_many(wanted: Sequence[Needed], most: int) -> list[Needed]:
    """The largest of some sets, as many as need too many parts; none if all have their place.

    The last one is the smallest that is enough: with each pair that need not be apart all fit.
    """
    chosen: list[Needed] = []
    left = most + 1
    ordered = sorted(wanted, key=lambda need: -need.number)
    for index, need in enumerate(ordered):
        if need.number >= left:
            enough = [other for other in ordered[index:] if other.number >= left]
            return [*chosen, min(enough, key=lambda other: other.number)]
        chosen.append(need)
        left -= need.number
    return []


def _joined(parts: Parts, chosen: Sequence[Needed]) -> list[Needed]:
    """The same sets, those in one group that need not be apart to need too many parts."""
    spare = sum(need.number for need in chosen) - parts.number - 1
    groups: list[Needed] = []
    for need in chosen:
        for index, group in enumerate(groups):
            together = parts.both(group, need)
            saved = group.number + need.number - together.number if together else 0
            if together and saved <= spare:
                groups[index], spare = together, spare - saved
                break
        else:
            groups.append(need)
    return groups


def _apart(rules: Sequence[Rule], scopes: Scopes, groups: Sequence[Needed]) -> list[Rule]:
    """The sizes of sets, and that those of unlike groups are apart, in the order of the rules."""
    group_of = {name: index for index, group in enumerate(groups) for name in group.names}
    sizes = {size for group in groups for size in group.sizes}
    kept: list[Rule] = []
    seen: set[frozenset[str]] = set()
    for rule in rules:
        pairs = {
            frozenset((constraint.name, constraint.other))
            for constraint in rule.constraints
            if isinstance(constraint, Apart)
            and constraint.scopes == scopes
            and _differ(constraint, group_of)
        }
        if rule in sizes or not pairs <= seen:
            kept.append(rule)
            seen |= pairs
    return kept


def _differ(apart: Apart, group_of: Mapping[str, int]) -> bool:
    groups = group_of.get(apart.name), group_of.get(apart.other)
    return None not in groups and groups[0] != groups[1]


def _within(topology: Topology, rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    """Sets that are each within a part, and more than the parts have room for."""
    placed: dict[Scopes, dict[str, Rule]] = {}
    for rule in rules:
        for constraint in rule.constraints:
            if isinstance(constraint, InOne):
                placed.setdefault(constraint.scopes, {})[constraint.name] = rule
    for scopes, within in placed.items():
        hosts = hosts_among(within)
        names = [name for name in within if name not in hosts and are_disjoint([name])]
        parts = Parts(topology, scopes)
        crowd = _too_large(parts, parts.needs(rules, names))
        statements = {rule for need in crowd for rule in (*need.sizes, within[need.names[0]])}
        if crowd:
            yield [rule for rule in rules if rule in statements]


def _too_large(parts: Parts, wanted: Sequence[Needed]) -> list[Needed]:
    """The largest sets, as many as are more than parts have room for sets of their least size."""
    for same in by_scale(wanted):
        for number, need in enumerate(same, 1):
            outside, inside = parts.rooms(need.amount)
            size = need.amount.least - outside
            if size > 0 and number > sum(room // size for room in inside):
                return same[:number]
    return []
