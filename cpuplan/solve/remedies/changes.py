"""Changes of a statement other than of its numbers."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from cpuplan.cpuset import EMPTY, CpuSet, union
from cpuplan.model.pools import SIZES, RuleSwitch
from cpuplan.plan import NodeClass
from cpuplan.solve.constraints import Has
from cpuplan.solve.remedies.edits import Change, all_of, setting, short
from cpuplan.solve.rules.places import PLACES, parts_of
from cpuplan.solve.rules.rule import Rule, Statements
from cpuplan.solve.said import Said
from cpuplan.text import joined

REST = "rest"
#: Statements that can only be taken out, with the values that say nothing.
_REMOVABLE: dict[str, dict[str, Any]] = {
    "near": {"near": None},
    "coreTypes": {"core_types": None},
    "never": {"never": None},
    "sibling": {"sibling": None},
}

#: Pools that a PerformanceProfile calls otherwise.
_PROFILE_NAMES = {"isolcpus": "ovsDpdk"}


def other_changes(node_class: NodeClass, rule: Rule) -> Iterator[list[Change]]:
    """Lists of which the first change that fits is enough."""
    path, _, key = rule.field.rpartition(".")
    sets = Statements(node_class).sets
    each = sets.get(rule.name)
    if rule.reason.origin.startswith("rule ") and path == "rules":
        yield [Change(f"switch off the rule {key} and say why", partial(_without_rule, name=key))]
    if each is None:
        return
    if node_class.written_as:  # a PerformanceProfile, which has lists and nothing else
        yield (
            [_left_for_lists(node_class, sets)] if rule.name == "isolated" and key == "cpus" else []
        )
        return
    if (
        rule.name == "isolated"
        and key in SIZES
        and not any(other.pool.rest for other in sets.values())
    ):
        yield [_rest(each)]
    if key == "wholeCores":
        yield list(_splits(node_class, each))
    elif key == "cpus":
        yield list(_longer_list(node_class, each, rule))
    elif key in _REMOVABLE:
        yield [Change(f"take out {short(rule.field)}", setting(path, **_REMOVABLE[key]))]
    elif key in [place for place, _, _ in PLACES]:
        yield list(_moves(node_class, each, key))
    for relation in ("apart", "together"):
        if rule.field.startswith(f"{each.field}.{relation}."):
            other = rule.field.removeprefix(f"{each.field}.{relation}.")
            pairs = {
                name: level for name, level in getattr(each.pool, relation).items() if name != other
            }
            text = f"take out {short(each.field)}.{relation}.{other}"
            yield [Change(text, setting(each.field, **{relation: pairs}))]


def _rest(isolated: Said) -> Change:
    """Isolated takes the rest instead of its size; what else is said of it stays."""
    numbers = {*SIZES, "min", "max", "per"}
    written = isolated.pool.model_fields_set
    text = f"write isolated: {REST}"
    if written - numbers:
        text = f"write {REST}: true under isolated instead of {joined(sorted(written & numbers))}"
    return Change(
        text, setting("pools.isolated", **dict.fromkeys(numbers) | {"rest": True, "per": "machine"})
    )


def _left_for_lists(node_class: NodeClass, sets: Mapping[str, Said]) -> Change:
    """Longer lists for a profile: CPUs that no list has go to the pools of their siblings, the
    others to isolated.
    """
    lists = {name: each.pool.cpus or EMPTY for name, each in sets.items()}
    left = node_class.topology.online - union(lists.values())
    longer: dict[str, CpuSet] = {}
    for name, cpus in sorted(lists.items(), key=lambda item: item[0] == "isolated"):
        more = left if name == "isolated" else node_class.topology.whole_cores(cpus) & left
        left -= more
        if more:
            longer[name] = cpus | more
    text = joined([f'{_PROFILE_NAMES.get(name, name)}: "{cpus}"' for name, cpus in longer.items()])
    edits = [setting(f"pools.{name}", cpus=cpus) for name, cpus in longer.items()]
    return Change(f"write {text}", partial(all_of, edits=edits))


def _splits(node_class: NodeClass, each: Said) -> Iterator[Change]:
    """Without the whole cores of the set; of the pool that takes the rest too; of all sets."""
    sets = Statements(node_class).sets
    written = [other for other in sets.values() if _is_stated(node_class, other)]
    # A rest that does not say wholeCores follows the others.
    rest = [
        other
        for other in written
        if other.pool.rest and "whole_cores" in other.pool.model_fields_set
    ]
    for some in ([each], [each, *(other for other in rest if other != each)], written):
        if all(other in written for other in some):
            edits = [setting(other.field, whole_cores=False) for other in some]
            names = joined([other.name for other in some])
            yield Change(f"write wholeCores: false under {names}", partial(all_of, edits=edits))


def _is_stated(node_class: NodeClass, each: Said) -> bool:
    """Does the intent speak of the set at all?"""
    return each.is_written or (
        each.name == "isolated" and node_class.spec.pools.isolated is not None
    )


def _longer_list(node_class: NodeClass, each: Said, rule: Rule) -> Iterator[Change]:
    """The list with the siblings of its CPUs."""
    for constraint in rule.constraints:
        if isinstance(constraint, Has):
            longer = node_class.topology.whole_cores(constraint.cpus)
            if longer != constraint.cpus:
                text = f"list whole cores in {short(each.field)}.cpus: {longer}"
                yield Change(text, setting(each.field, cpus=longer))


def _moves(node_class: NodeClass, each: Said, key: str) -> Iterator[Change]:
    """The set on another NUMA node, socket, die or cache, or on any."""
    attribute, word = next((attribute, word) for place, attribute, word in PLACES if place == key)
    for number in parts_of(node_class.topology, key):
        if number >= 0:
            yield Change(
                f"move {each.name} to {word} {number}",
                setting(each.field, **{attribute: CpuSet([number])}),
            )
    yield Change(f"take out {short(each.field)}.{key}", setting(each.field, **{attribute: None}))


def _without_rule(node_class: NodeClass, name: Any) -> NodeClass:
    spec = node_class.spec
    kept = tuple(switch for switch in spec.rules if switch.enable != name)
    off = RuleSwitch.model_construct(disable=name, enable=None, because="it is tried")
    return node_class.saying(spec.model_copy(update={"rules": (*kept, off)}))
