"""Changes of an intent that would make its pools fit; each one is tried before it is proposed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.cpuset import EMPTY, CpuSet, union
from cpuplan.diagnostics import errors
from cpuplan.plan import NodeClass
from cpuplan.pools import SIZES, Isolated, RuleSwitch
from cpuplan.solve import model, statements
from cpuplan.solve.constraints import Has
from cpuplan.solve.rules import problem_of, workloads
from cpuplan.solve.rules.places import PLACES, parts_of
from cpuplan.solve.rules.rule import Rule, Statements, joined, scopes_of
from cpuplan.solve.rules.sizes import size
from cpuplan.solve.said import Said

#: More ways out than these are not read.
_MOST_SHOWN = 3
_NUMBERS = ("count", "cores", "percent", "min", "max")
#: Statements that can only be taken out, with the values that say nothing.
_REMOVABLE: dict[str, dict[str, Any]] = {
    "near": {"near": None},
    "coreTypes": {"core_types": None},
    "never": {"never": None},
    "sibling": {"sibling": None},
}

#: Pools that a PerformanceProfile calls otherwise.
_PROFILE_NAMES = {"isolcpus": "ovsDpdk"}


class Change(NamedTuple):
    """A change in words, and the class with the changed intent."""

    text: str
    node_class: NodeClass


def sentence(node_class: NodeClass, conflict: Sequence[Rule], settled: Sequence[Rule]) -> str:
    """The changes of one statement of the conflict that settle it, smallest first; `settled` rules are left out."""
    fields = {rule.field for rule in settled}
    numbers = sorted(number for rule in conflict if (number := _nearest(node_class, rule, fields)))
    tried = [
        next((change.text for change in changes if _fits(change.node_class, fields)), "")
        for rule in conflict
        for changes in _other_changes(node_class, rule)
    ]
    rest = [text for text in tried if text.endswith("rest") and leaves_over(conflict)]
    found = dict.fromkeys(text for text in (*rest, *(text for _, text in numbers), *tried) if text)
    return ", or ".join(list(found)[:_MOST_SHOWN]) or "change more than one of these statements"


def leaves_over(rules: Sequence[Rule]) -> bool:
    """Is it part of the conflict that every CPU needs a pool?"""
    return any(rule.reason.origin == "rule every-cpu" for rule in rules)


def _fits(node_class: NodeClass, left_out: set[str]) -> bool:
    """Is there a layout, the rules of some fields left out?"""
    if errors(statements.check(node_class, lambda _origin: None)):
        return False
    problem = problem_of(node_class)
    return model.feasible(problem.having(rule for rule in problem.rules if rule.field not in left_out))


def _nearest(node_class: NodeClass, rule: Rule, left_out: set[str]) -> tuple[float, str] | None:
    """The number nearest to a statement's own with which all fits, the larger of two: (share of change, sentence)."""
    path, _, key = rule.field.rpartition(".")
    each = Statements(node_class).sets.get(rule.name)
    if path.startswith("workloads") or rule.field.startswith("workloads."):
        path, key = rule.field, "pods"
        written = node_class.spec.workloads[int(path.rpartition(".")[2])].pods
        values = list(range(written - 1, 0, -1))
    elif each and each.is_written and key in _NUMBERS:
        written = getattr(each.pool, key)
        values = _values(node_class, each, key, written)
    else:
        return None
    options = []
    for value in values:
        changed = Statements(edited(node_class, path, **{key: value}))
        rules = workloads.workloads_fit(changed) if key == "pods" else size(changed, changed.sets[rule.name])
        options += [other for other in rules if other.name == rule.name]
    problem = problem_of(node_class)
    kept = problem.having(other for other in problem.rules if other != rule and other.field not in left_out)
    index = model.first_feasible(kept, options) if options else None
    if index is None or not _fits(edited(node_class, path, **{key: values[index]}), left_out):
        return None
    verb = "raise" if values[index] > written else "lower"
    return abs(values[index] - written) / max(written, 1), f"{verb} {_short(path)}.{key} to {values[index]}"


def _values(node_class: NodeClass, each: Said, key: str, written: int) -> list[int]:
    """The other values that a number could have, nearest first; of a range only those that leave more freedom."""
    scopes = scopes_of(node_class.topology, each.pool.per)
    most = 100 if key == "percent" else max((len(scope.cpus) for scope in scopes), default=0)
    values = {*range(1, most + 1)} - {written}
    if key == "min":
        values = {value for value in values if value < written}
    elif key == "max":
        values = {value for value in values if value > written}
    return sorted(values, key=lambda value: (abs(value - written), -value))


def _other_changes(node_class: NodeClass, rule: Rule) -> Iterator[list[Change]]:
    """Lists of which the first change that fits is enough."""
    path, _, key = rule.field.rpartition(".")
    sets = Statements(node_class).sets
    each = sets.get(rule.name)
    if rule.reason.origin.startswith("rule ") and path == "rules":
        yield [Change(f"switch off the rule {key} and say why", _without_rule(node_class, key))]
    if each is None:
        return
    if node_class.written_as:  # a PerformanceProfile, which has lists and nothing else
        yield [_left_for_lists(node_class, sets)] if rule.name == "isolated" and key == "cpus" else []
        return
    if rule.name == "isolated" and key in SIZES and not any(other.pool.rest for other in sets.values()):
        given = dict.fromkeys((*SIZES, "min", "max")) | {"rest": True, "per": "machine"}
        yield [Change("write isolated: rest", edited(node_class, "pools.isolated", **given))]
    if key == "wholeCores":
        yield list(_splits(node_class, each))
    elif key == "cpus":
        yield list(_longer_list(node_class, each, rule))
    elif key in _REMOVABLE:
        yield [Change(f"take out {_short(rule.field)}", edited(node_class, path, **_REMOVABLE[key]))]
    elif key in [place for place, _, _ in PLACES]:
        yield list(_moves(node_class, each, key))
    for relation in ("apart", "together"):
        if rule.field.startswith(f"{each.field}.{relation}."):
            other = rule.field.removeprefix(f"{each.field}.{relation}.")
            pairs = {name: level for name, level in getattr(each.pool, relation).items() if name != other}
            text = f"take out {_short(each.field)}.{relation}.{other}"
            yield [Change(text, edited(node_class, each.field, **{relation: pairs}))]


def _left_for_lists(node_class: NodeClass, sets: Mapping[str, Said]) -> Change:
    """Longer lists for a profile: CPUs that no list has go to the pools of their siblings, the others to isolated."""
    lists = {name: each.pool.cpus or EMPTY for name, each in sets.items()}
    left = node_class.topology.online - union(lists.values())
    changes, changed = [], node_class
    for name, cpus in sorted(lists.items(), key=lambda item: item[0] == "isolated"):
        more = left if name == "isolated" else node_class.topology.whole_cores(cpus) & left
        left -= more
        if more:
            changes.append(f'{_PROFILE_NAMES.get(name, name)}: "{cpus | more}"')
            changed = edited(changed, f"pools.{name}", cpus=cpus | more)
    return Change(f"write {' and '.join(changes)}", changed)


def _splits(node_class: NodeClass, each: Said) -> Iterator[Change]:
    """Without the whole cores of the set; of the pool that takes the rest too; of all sets."""
    sets = Statements(node_class).sets
    written = [other for other in sets.values() if _is_stated(node_class, other)]
    # A rest that does not say wholeCores follows the others.
    rest = [other for other in written if other.pool.rest and "whole_cores" in other.pool.model_fields_set]
    for some in ([each], [each, *(other for other in rest if other != each)], written):
        if not all(other in written for other in some):
            continue
        changed = node_class
        for other in some:
            changed = edited(changed, other.field, whole_cores=False)
        yield Change(f"write wholeCores: false under {joined([other.name for other in some])}", changed)


def _is_stated(node_class: NodeClass, each: Said) -> bool:
    """Does the intent speak of the set at all?"""
    return each.is_written or (each.name == "isolated" and node_class.spec.pools.isolated is not None)


def _longer_list(node_class: NodeClass, each: Said, rule: Rule) -> Iterator[Change]:
    """The list with the siblings of its CPUs."""
    for constraint in rule.constraints:
        if isinstance(constraint, Has):
            longer = node_class.topology.whole_cores(constraint.cpus)
            if longer != constraint.cpus:
                changed = edited(node_class, each.field, cpus=longer)
                yield Change(f"list whole cores in {_short(each.field)}.cpus: {longer}", changed)


def _moves(node_class: NodeClass, each: Said, key: str) -> Iterator[Change]:
    """The set on another NUMA node, socket, die or cache, or on any."""
    attribute, word = next((attribute, word) for place, attribute, word in PLACES if place == key)
    for number in parts_of(node_class.topology, key):
        if number >= 0:
            changed = edited(node_class, each.field, **{attribute: CpuSet([number])})
            yield Change(f"move {each.name} to {word} {number}", changed)
    yield Change(f"take out {_short(each.field)}.{key}", edited(node_class, each.field, **{attribute: None}))


def _without_rule(node_class: NodeClass, name: Any) -> NodeClass:
    spec = node_class.spec
    kept = tuple(switch for switch in spec.rules if switch.enable != name)
    off = RuleSwitch.model_construct(disable=name, enable=None, because="it is tried")
    return node_class.saying(spec.model_copy(update={"rules": (*kept, off)}))


def edited(node_class: NodeClass, field: str, **update: Any) -> NodeClass:
    """The class whose intent has other values in the mapping at `field`, a path as in YAML."""
    return node_class.saying(_edit(node_class.spec, field.split("."), update))


def _edit(value: Any, path: Sequence[str], update: dict[str, Any]) -> Any:
    if value is None:
        value = Isolated(rest=True)  # the one pool that is there without a word
    if not path:
        return value.model_copy(update=update)
    key, *rest = path
    if isinstance(value, dict):
        return value | {key: _edit(value[key], rest, update)}
    if isinstance(value, tuple):
        return tuple(_edit(item, rest, update) if str(at) == key else item for at, item in enumerate(value))
    name = re.sub(r"[A-Z]", lambda capital: "_" + capital[0].lower(), key)
    return value.model_copy(update={name: _edit(getattr(value, name), rest, update)})


def _short(field: str) -> str:
    """`pools.shared` as people say it: `shared`."""
    return field.removeprefix("pools.")
