"""More sets than there are places for them: a conflict by counting.

33 sets of one core, each apart from all others by cache, do not fit on 32 caches, and 33 sets of
five cores, each within a cache of eight, do not either. The statements that give the count are a
conflict, and a search among them finds no other.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cpuplan.base.topology import Topology
from cpuplan.solve.constraints import Apart
from cpuplan.solve.crowds.needs import Needed, Parts, are_disjoint, by_scale
from cpuplan.solve.layout import hosts_among
from cpuplan.solve.model.cliques import Scopes, cliques, levels
from cpuplan.solve.portions import InOne
from cpuplan.solve.rules.rule import Rule, machine


def crowds(topology: Topology, rules: Sequence[Rule]) -> list[list[Rule]]:
    """Statements that cannot hold together, since their sets need more parts than there are.

    Those that are fewest come first.
    """
    found = [*_sums(topology, rules), *_by_parts(topology, rules), *_within(topology, rules)]
    return sorted(found, key=len)


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
    if crowds(topology, rules):
        return True
    constraints = (constraint for rule in rules for constraint in rule.constraints)
    return any(
        _are_crowded(Parts(topology, scopes), rules, neighbours(same))
        for scopes, same in levels(constraints).items()
    )


def neighbours(statements: Iterable[Apart]) -> dict[str, set[str]]:
    """The sets that each set is apart from."""
    found: dict[str, set[str]] = {}
    for apart in statements:
        found.setdefault(apart.name, set()).add(apart.other)
        found.setdefault(apart.other, set()).add(apart.name)
    return found


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
            frozenset((one.name, one.other))
            for one in rule.constraints
            if isinstance(one, Apart) and one.scopes == scopes and _differ(one, group_of)
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
        for one in rule.constraints:
            if isinstance(one, InOne):
                placed.setdefault(one.scopes, {})[one.name] = rule
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
