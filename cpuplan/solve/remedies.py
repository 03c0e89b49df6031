"""Changes of an intent that would make its pools fit; each one is tried before it is proposed."""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from cpuplan.cpuset import EMPTY, CpuSet, union
from cpuplan.diagnostics import errors
from cpuplan.plan import NodeClass
from cpuplan.pools import SIZES, Isolated, RuleSwitch
from cpuplan.solve import faults, model
from cpuplan.solve.constraints import Has
from cpuplan.solve.rules import problem_of, workloads
from cpuplan.solve.rules.places import PLACES, parts_of
from cpuplan.solve.rules.rule import Rule, Statements, joined, scopes_of
from cpuplan.solve.rules.sizes import size
from cpuplan.solve.said import Said

#: More ways out than these are not read.
_MOST_SHOWN = 3
#: How many tests the search for a number is worth.
_SEARCH = 3
_REST = "rest"
_SEVERAL = "change more than one of these statements"
#: Where there was not time for all changes.
_UNTRIED = "change one or more of these statements: those changes that were tried are not enough"
_WITHOUT = "; tried without the conflicts that one change does not settle"
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
    """A change in words, and what it makes of a class: one with the changed intent."""

    text: str
    edit: Callable[[NodeClass], NodeClass]


class Attempt:
    """A class, changed or not, of which some statements are left out; and how often anything may still be tried."""

    def __init__(self, node_class: NodeClass, tests: int) -> None:
        self.node_class = node_class
        self.left_out: frozenset[str] = frozenset()
        self.tests = [tests]

    def after(self, change: Change | None, left_out: Iterable[str]) -> "Attempt":
        """The class with a further change, and other statements left out."""
        made = Attempt(change.edit(self.node_class) if change else self.node_class, 0)
        made.left_out, made.tests = frozenset(left_out), self.tests
        return made

    @property
    def nothing(self) -> str:
        """What is said where nothing was found."""
        return _SEVERAL if self.tests[0] >= 0 else _UNTRIED

    def fits(self, change: Change | None = None) -> bool:
        """Is there a layout, after the change? Untried ones have none."""
        self.tests[0] -= 1
        return self.tests[0] >= 0 and _fits(change.edit(self.node_class) if change else self.node_class, self.left_out)


def sentences(node_class: NodeClass, conflicts: Sequence[Sequence[Rule]], tests: int) -> list[str]:
    """For each conflict the changes of one statement that settle it, smallest first.

    Of several conflicts each has one change: those that were tried together, after which there is a layout.
    """
    attempt = Attempt(node_class, tests)
    if len(conflicts) == 1:
        found = dict.fromkeys(change.text for change in islice(_changes(attempt, conflicts[0]), _MOST_SHOWN))
        return [", or ".join(found) or attempt.nothing]
    if together := _together(attempt, conflicts, []):
        return [change.text for change in together]
    return _one_by_one(attempt, conflicts)


def _together(attempt: Attempt, conflicts: Sequence[Sequence[Rule]], chosen: list[Change]) -> list[Change]:
    """A change for each conflict, after all of which there is a layout; none where such were not found."""
    if len(chosen) == len(conflicts):
        return chosen
    open_still = {rule.field for conflict in conflicts[len(chosen) + 1 :] for rule in conflict}
    here = attempt.after(None, open_still)
    for change in _next(here, conflicts[len(chosen)], chosen):
        if found := _together(attempt.after(change, ()), conflicts, [*chosen, change]):
            return found
    return []


def _next(here: Attempt, conflict: Sequence[Rule], chosen: Sequence[Change]) -> Iterator[Change]:
    """Changes that settle a conflict after the chosen ones; the latest of these if it does so already."""
    if chosen and here.fits():
        yield chosen[-1]
    else:
        yield from islice(_changes(here, conflict), _MOST_SHOWN)


def _one_by_one(attempt: Attempt, conflicts: Sequence[Sequence[Rule]]) -> list[str]:
    """The same where some conflicts are not settled by one change each: these are left out for the others."""
    chosen: list[Change | None] = []
    given_up: set[str] = set()
    for index, conflict in enumerate(conflicts):
        open_still = {rule.field for other in conflicts[index + 1 :] for rule in other}
        here = attempt.after(None, open_still | given_up)
        change = next(_next(here, conflict, [each for each in chosen if each]), None)
        chosen.append(change)
        if change is None:
            given_up |= {rule.field for rule in conflict}
        attempt = attempt.after(change, ())
    return [change.text + _WITHOUT if change else attempt.nothing for change in chosen]


def _changes(attempt: Attempt, conflict: Sequence[Rule]) -> Iterator[Change]:
    """Changes of one statement of the conflict, after which there is a layout, those first that change least."""
    others = [changes for rule in conflict for changes in _other_changes(attempt.node_class, rule) if changes]
    rests = [changes for changes in others if leaves_over(conflict) and _REST in changes[0].text]
    yield from _fitting(attempt, rests)
    numbers = [found for rule in conflict for found in _numbers(attempt, rule)]
    yield from (change for _, change in sorted(numbers, key=lambda found: (found[0], found[1].text)))
    yield from _fitting(attempt, [changes for changes in others if changes not in rests])


def _fitting(attempt: Attempt, alternatives: Iterable[Sequence[Change]]) -> Iterator[Change]:
    """The first change of each list after which there is a layout."""
    for changes in alternatives:
        if fitting := next(filter(attempt.fits, changes), None):
            yield fitting


def leaves_over(rules: Sequence[Rule]) -> bool:
    """Is it part of the conflict that every CPU needs a pool?"""
    return any(rule.reason.origin == "rule every-cpu" for rule in rules)


def _fits(node_class: NodeClass, left_out: Container[str]) -> bool:
    """Is there a layout, the rules of some fields left out?"""
    if errors(faults.check(node_class, lambda _origin: None)):
        return False
    problem = problem_of(node_class)
    return model.feasible(problem.having(rule for rule in problem.rules if rule.field not in left_out))


def _numbers(attempt: Attempt, rule: Rule) -> Iterator[tuple[float, Change]]:
    """For each number of a statement the nearest one that fits, the larger of two: (share of change, change)."""
    node_class = attempt.node_class
    path, _, key = rule.field.rpartition(".")
    each = Statements(node_class).sets.get(rule.name)
    if rule.field.startswith("workloads."):
        written = node_class.spec.workloads[int(key)].pods
        yield from _number(attempt, rule, rule.field, {"pods": written}, range(written - 1, 0, -1))
    elif each and each.is_written and key in (*_NUMBERS, "rest"):
        for name in dict.fromkeys((key, "min", "max")):
            if name != "rest" and getattr(each.pool, name) is not None:
                written = getattr(each.pool, name)
                values = _values(node_class, each, name, written)
                yield from _number(attempt, rule, path, {name: written}, values)


def _number(
    attempt: Attempt, rule: Rule, path: str, said: Mapping[str, int], values: Sequence[int]
) -> Iterator[tuple[float, Change]]:
    """The first of the values with which all fits, instead of what is said."""
    ((key, written),) = said.items()
    node_class = attempt.node_class
    options = []
    for value in values:
        changed = Statements(edited(node_class, path, **{key: value}))
        rules = workloads.workloads_fit(changed) if key == "pods" else size(changed, changed.sets[rule.name])
        options += [other for other in rules if other.name == rule.name]
    problem = problem_of(node_class)
    kept = [each for each in problem.rules if each.field != rule.field and each.field not in attempt.left_out]
    attempt.tests[0] -= _SEARCH
    index = model.first_feasible(problem.having(kept), options) if options and attempt.tests[0] >= 0 else None
    if index is None:
        return
    verb = "raise" if values[index] > written else "lower"
    text = f"{verb} {_short(path)}.{key} to {values[index]}"
    change = Change(text, _set(path, **{key: values[index]}))
    if attempt.fits(change):
        yield abs(values[index] - written) / max(written, 1), change


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
        yield [Change(f"switch off the rule {key} and say why", partial(_without_rule, name=key))]
    if each is None:
        return
    if node_class.written_as:  # a PerformanceProfile, which has lists and nothing else
        yield [_left_for_lists(node_class, sets)] if rule.name == "isolated" and key == "cpus" else []
        return
    if rule.name == "isolated" and key in SIZES and not any(other.pool.rest for other in sets.values()):
        yield [_rest(each)]
    if key == "wholeCores":
        yield list(_splits(node_class, each))
    elif key == "cpus":
        yield list(_longer_list(node_class, each, rule))
    elif key in _REMOVABLE:
        yield [Change(f"take out {_short(rule.field)}", _set(path, **_REMOVABLE[key]))]
    elif key in [place for place, _, _ in PLACES]:
        yield list(_moves(node_class, each, key))
    for relation in ("apart", "together"):
        if rule.field.startswith(f"{each.field}.{relation}."):
            other = rule.field.removeprefix(f"{each.field}.{relation}.")
            pairs = {name: level for name, level in getattr(each.pool, relation).items() if name != other}
            text = f"take out {_short(each.field)}.{relation}.{other}"
            yield [Change(text, _set(each.field, **{relation: pairs}))]


def _rest(isolated: Said) -> Change:
    """Isolated takes the rest instead of its size; what else is said of it stays."""
    numbers = {*SIZES, "min", "max", "per"}
    written = isolated.pool.model_fields_set
    text = f"write isolated: {_REST}"
    if written - numbers:
        text = f"write {_REST}: true under isolated instead of {joined(sorted(written & numbers))}"
    return Change(text, _set("pools.isolated", **dict.fromkeys(numbers) | {"rest": True, "per": "machine"}))


def _left_for_lists(node_class: NodeClass, sets: Mapping[str, Said]) -> Change:
    """Longer lists for a profile: CPUs that no list has go to the pools of their siblings, the others to isolated."""
    lists = {name: each.pool.cpus or EMPTY for name, each in sets.items()}
    left = node_class.topology.online - union(lists.values())
    longer: dict[str, CpuSet] = {}
    for name, cpus in sorted(lists.items(), key=lambda item: item[0] == "isolated"):
        more = left if name == "isolated" else node_class.topology.whole_cores(cpus) & left
        left -= more
        if more:
            longer[name] = cpus | more
    text = joined([f'{_PROFILE_NAMES.get(name, name)}: "{cpus}"' for name, cpus in longer.items()])
    edits = [_set(f"pools.{name}", cpus=cpus) for name, cpus in longer.items()]
    return Change(f"write {text}", partial(_all, edits=edits))


def _splits(node_class: NodeClass, each: Said) -> Iterator[Change]:
    """Without the whole cores of the set; of the pool that takes the rest too; of all sets."""
    sets = Statements(node_class).sets
    written = [other for other in sets.values() if _is_stated(node_class, other)]
    # A rest that does not say wholeCores follows the others.
    rest = [other for other in written if other.pool.rest and "whole_cores" in other.pool.model_fields_set]
    for some in ([each], [each, *(other for other in rest if other != each)], written):
        if all(other in written for other in some):
            edits = [_set(other.field, whole_cores=False) for other in some]
            names = joined([other.name for other in some])
            yield Change(f"write wholeCores: false under {names}", partial(_all, edits=edits))


def _is_stated(node_class: NodeClass, each: Said) -> bool:
    """Does the intent speak of the set at all?"""
    return each.is_written or (each.name == "isolated" and node_class.spec.pools.isolated is not None)


def _longer_list(node_class: NodeClass, each: Said, rule: Rule) -> Iterator[Change]:
    """The list with the siblings of its CPUs."""
    for constraint in rule.constraints:
        if isinstance(constraint, Has):
            longer = node_class.topology.whole_cores(constraint.cpus)
            if longer != constraint.cpus:
                text = f"list whole cores in {_short(each.field)}.cpus: {longer}"
                yield Change(text, _set(each.field, cpus=longer))


def _moves(node_class: NodeClass, each: Said, key: str) -> Iterator[Change]:
    """The set on another NUMA node, socket, die or cache, or on any."""
    attribute, word = next((attribute, word) for place, attribute, word in PLACES if place == key)
    for number in parts_of(node_class.topology, key):
        if number >= 0:
            yield Change(f"move {each.name} to {word} {number}", _set(each.field, **{attribute: CpuSet([number])}))
    yield Change(f"take out {_short(each.field)}.{key}", _set(each.field, **{attribute: None}))


def _without_rule(node_class: NodeClass, name: Any) -> NodeClass:
    spec = node_class.spec
    kept = tuple(switch for switch in spec.rules if switch.enable != name)
    off = RuleSwitch.model_construct(disable=name, enable=None, because="it is tried")
    return node_class.saying(spec.model_copy(update={"rules": (*kept, off)}))


def _set(field: str, **update: Any) -> Callable[[NodeClass], NodeClass]:
    """The edit that gives the mapping at `field` other values."""
    return lambda node_class: edited(node_class, field, **update)


def _all(node_class: NodeClass, edits: Iterable[Callable[[NodeClass], NodeClass]]) -> NodeClass:
    """Several edits, one after the other."""
    for edit in edits:
        node_class = edit(node_class)
    return node_class


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
