"""Changes of one statement with which a conflict is settled.

Also lists of whole cores in place of those that split cores.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, TypeAlias, get_args

from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.base.text import joined
from cpuplan.base.topology import Topology
from cpuplan.language.model.base import attributes
from cpuplan.language.model.intent import RuleSwitch
from cpuplan.language.model.pools import SIZES, Part
from cpuplan.plan import NodeClass
from cpuplan.solve import model, symmetry, validation
from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.constraints import Has
from cpuplan.solve.goals import Moved
from cpuplan.solve.layout import SetSpec, SetSpecs, has_size
from cpuplan.solve.remedies.attempt import (
    Attempt,
    Change,
    all_of,
    changed_problem,
    edited,
    setting,
    short,
)
from cpuplan.solve.remedies.numbers import numbers
from cpuplan.solve.rules import problem_of
from cpuplan.solve.rules.placement import PLACES, parts_of
from cpuplan.solve.rules.rule import Rule, Statements, scopes_of
from cpuplan.solve.validation import shared_out

REST = "rest"
#: Statements that can only be removed: the attribute of each field.
_REMOVABLE = {
    "near": "near",
    "coreTypes": "core_types",
    "never": "never",
    "sibling": "sibling",
}
#: Pools that a PerformanceProfile calls differently.
_PROFILE_NAMES = {"isolcpus": "ovsDpdk"}


def other_changes(node_class: NodeClass, rule: Rule) -> Iterator[list[Change]]:
    """Lists of changes; of each list the first change that fits is enough."""
    path, _, key = rule.field.rpartition(".")
    sets = Statements(node_class).sets
    spec = sets.get(rule.name)
    if rule.reason.origin.startswith("rule ") and path == "rules":
        yield [
            Change(f"switch off the rule {key} and give a reason", partial(_without_rule, name=key))
        ]
    if spec is None:
        return
    is_isolated = rule.name == "isolated"
    if node_class.written_as:  # a PerformanceProfile, which has lists and nothing else
        if is_isolated and key == "cpus":
            yield [_left_for_lists(node_class, sets)]
        return
    if is_isolated and key in SIZES and not any(other.pool.rest for other in sets.values()):
        yield [_rest(spec)]
    if key == "wholeCores":
        yield list(_splits(node_class, spec))
    elif key == "cpus":
        yield list(_longer_list(node_class, spec, rule))
    elif key in _REMOVABLE:
        yield [Change(f"remove {short(rule.field)}", setting(path, **{_REMOVABLE[key]: None}))]
    elif key in [place for place, _, _ in PLACES]:
        yield list(_moves(node_class, spec, key))
    elif key == "within":
        yield list(_wider(node_class.topology, spec))
    yield from _without_neighbour(spec, rule)


def removal(node_class: NodeClass, name: str) -> Change | None:
    """A partition that is there no more; None for other sets, and for those that are needed.

    Interrupts go to it, or its pool consists of it.
    """
    host, _, own = name.partition(".")
    pool = getattr(node_class.spec.pools, host, None)
    if not own or pool is None or node_class.spec.isolation.interrupts == name:
        return None
    if len(pool.partitions) == 1 and not has_size(pool):
        return None
    text = f"remove {host}.partitions.{own}"
    return Change(text, partial(_without_partition, host=host, name=own))


def _without_neighbour(spec: SetSpec, rule: Rule) -> Iterator[list[Change]]:
    for relation in ("apart", "together"):
        prefix = f"{spec.field}.{relation}."
        if rule.field.startswith(prefix):
            levels = dict(getattr(spec.pool, relation))
            levels.pop(rule.field.removeprefix(prefix), None)
            text = f"remove {short(rule.field)}"
            yield [Change(text, setting(spec.field, **{relation: levels}))]


def _rest(isolated: SetSpec) -> Change:
    """Isolated takes the rest instead of its size; its other fields stay."""
    numbers = {*SIZES, "of", "min", "max", "per", "perDevice", "within"}
    names = attributes(type(isolated.pool))
    pool = isolated.pool
    # What an earlier change took out is set, to nothing.
    stated = {name for name in pool.model_fields_set if getattr(pool, name) is not None}
    written = {key for key, name in names.items() if name in stated}
    text = f"write isolated: {REST}"
    if written - numbers:
        text = f"write {REST}: true under isolated instead of {joined(sorted(written & numbers))}"
    update = {names[key]: None for key in numbers} | {"rest": True, "per": "machine"}
    return Change(text, setting("pools.isolated", **update))


def _left_for_lists(node_class: NodeClass, sets: SetSpecs) -> Change:
    """Longer lists for a profile: unlisted CPUs go to the pools of their siblings, or isolated."""
    lists = {name: spec.pool.cpus or EMPTY for name, spec in sets.items()}
    left = node_class.topology.online - union(lists.values())
    longer: dict[str, CpuSet] = {}
    for name, cpus in sorted(lists.items(), key=lambda item: item[0] == "isolated"):
        more = left if name == "isolated" else node_class.topology.whole_cores(cpus) & left
        left -= more
        if more:
            longer[name] = cpus | more
    texts = [f'{_PROFILE_NAMES.get(name, name)}: "{cpus}"' for name, cpus in longer.items()]
    edits = [setting(f"pools.{name}", cpus=cpus) for name, cpus in longer.items()]
    return Change(f"write {joined(texts)}", partial(all_of, edits=edits))


def _splits(node_class: NodeClass, spec: SetSpec) -> Iterator[Change]:
    """Without the whole cores of the set; of the pool that takes the rest too; of all sets."""
    sets = Statements(node_class).sets.values()
    written = [other for other in sets if _is_stated(node_class, other)]
    # A rest that has no wholeCores follows the others.
    rests = [other for other in written if other.pool.rest and other != spec]
    rests = [other for other in rests if "whole_cores" in other.pool.model_fields_set]
    for specs in ([spec], [spec, *rests], written):
        if all(other in written for other in specs):
            edits = [setting(other.field, whole_cores=False) for other in specs]
            names = joined([other.name for other in specs])
            yield Change(f"write wholeCores: false under {names}", partial(all_of, edits=edits))


def _is_stated(node_class: NodeClass, spec: SetSpec) -> bool:
    """Whether the intent has any statement on the set."""
    if spec.is_written:
        return True
    return spec.name == "isolated" and node_class.spec.pools.isolated is not None


def _longer_list(node_class: NodeClass, spec: SetSpec, rule: Rule) -> Iterator[Change]:
    """The list with the siblings of its CPUs."""
    for constraint in rule.constraints:
        if isinstance(constraint, Has):
            longer = node_class.topology.whole_cores(constraint.cpus)
            if longer != constraint.cpus:
                text = f"list whole cores in {short(spec.field)}.cpus: {longer}"
                yield Change(text, setting(spec.field, cpus=longer))


def _moves(node_class: NodeClass, spec: SetSpec, key: str) -> Iterator[Change]:
    """The set on another NUMA node, socket, die or cache, or on any."""
    attribute, word = next((attribute, word) for place, attribute, word in PLACES if place == key)
    for number in parts_of(node_class.topology, key):
        if number >= 0:
            edit = setting(spec.field, **{attribute: CpuSet([number])})
            yield Change(f"move {spec.name} to {word} {number}", edit)
    yield Change(f"remove {short(spec.field)}.{key}", setting(spec.field, **{attribute: None}))


def _wider(topology: Topology, spec: SetSpec) -> Iterator[Change]:
    """The set within one larger part, or within none."""
    levels = get_args(Part)
    wider = levels[levels.index(spec.pool.within) + 1 :]
    alike = {}  # a machine's dies may be its sockets: the last name is the one that people use
    for level in wider if spec.pool.per == "machine" else ():
        alike[tuple(scope.cpus for scope in scopes_of(topology, level))] = level
    for level in alike.values():
        text = f"write within: {level} under {spec.name}"
        yield Change(text, setting(spec.field, within=level))
    yield Change(f"remove {short(spec.field)}.within", setting(spec.field, within=None))


def _without_partition(node_class: NodeClass, host: str, name: str) -> NodeClass:
    partitions = getattr(node_class.spec.pools, host).partitions
    others = {other: part for other, part in partitions.items() if other != name}
    return edited(node_class, f"pools.{host}", partitions=others)


def _without_rule(node_class: NodeClass, name: Any) -> NodeClass:
    spec = node_class.spec
    kept = tuple(switch for switch in spec.rules if switch.enable != name)
    off = RuleSwitch.model_construct(disable=name, enable=None, because="it is tried")
    return node_class.saying(spec.model_copy(update={"rules": (*kept, off)}))


def list_remedies(node_class: NodeClass, split: Sequence[SetSpec]) -> dict[str, str]:
    """What to write under each set whose list splits cores: done under all, there is a layout."""
    lists = {spec.name: (spec.pool.cpus or EMPTY) & node_class.topology.online for spec in split}
    wholes = _wholes(node_class, split, lists)
    may_split = _helps(node_class, split, {name: {"whole_cores": False} for name in lists})
    texts = {}
    for name in lists:
        ways = []
        if wholes:
            ways.append(f"list {wholes[name]}")
        if may_split:
            ways.append(f"write wholeCores: false under {name}")
        texts[name] = ", or ".join(ways) or "give each core to one pool"
    return texts


def _wholes(
    node_class: NodeClass, split: Sequence[SetSpec], lists: Mapping[str, CpuSet]
) -> Mapping[str, CpuSet] | None:
    """The first candidate with which there is a layout."""
    for wholes in _candidates(node_class, split, lists):
        if _helps(node_class, split, {name: {"cpus": cpus} for name, cpus in wholes.items()}):
            return wholes
    return None


def _candidates(
    node_class: NodeClass, split: Sequence[SetSpec], lists: Mapping[str, CpuSet]
) -> Iterator[Mapping[str, CpuSet]]:
    """The lists with all siblings; with each core in one of its lists; the nearest lists."""
    topology = node_class.topology
    yield {name: topology.whole_cores(cpus) for name, cpus in lists.items()}
    yield shared_out(topology, lists)
    changed = node_class
    for spec in split:
        threads = topology.threads_per_core
        number = max(len(lists[spec.name]) // threads, 1) * threads
        changed = edited(changed, spec.field, cpus=None, count=number)
    if not validation.errors_of(changed):
        layout = None
        with suppress(UndecidedError):
            layout = model.layout(problem_of(changed), [Moved(tuple(lists.items()))])
        if layout is not None:
            yield {name: layout[name] for name in lists}


def _helps(
    node_class: NodeClass, split: Sequence[SetSpec], update: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Whether the change adds no fault, and there is a layout if no fault is left."""
    changed = node_class
    for spec in split:
        changed = edited(changed, spec.field, **update[spec.name])
    before, after = validation.errors_of(node_class), validation.errors_of(changed)
    if any(problem.code == "CP352" or problem not in before for problem in after):
        return False
    return bool(after) or model.fits(problem_of(changed))


#: More remedies than these are not read.
MOST_SHOWN = 3
#: A sort of statements and one of its ways to change, and the changes of one statement.
Alternatives: TypeAlias = tuple[tuple[int, int], Sequence[Change]]


def changes_of(attempt: Attempt, conflict: Sequence[Rule]) -> Iterator[Change]:
    """Changes of one statement of the conflict with which there is a layout, smallest first."""
    if attempt.is_over:
        return
    sorts = symmetry.sorts(conflict, changed_problem(attempt.node_class).rules)
    named = {rule: index for index, sort in enumerate(sorts) for rule in _named(sort)}
    others: list[Alternatives] = []
    for rule in filter(named.__contains__, conflict):
        options = filter(None, other_changes(attempt.node_class, rule))
        others += [((named[rule], at), changes) for at, changes in enumerate(options)]
    rests = [other for other in others if leaves_over(conflict) and REST in other[1][0].text]
    yield from _fitting(attempt, rests)
    fitting = [change for sort in sorts for change in _numbers(attempt, sort)]
    fitting.sort(key=lambda change: (change[0], change[1].text))
    yield from (change for _, change in fitting)
    yield from _fitting(attempt, [other for other in others if other not in rests])


def settling_alone(attempt: Attempt, conflict: Sequence[Rule], most: int) -> Iterator[Change]:
    """Changes with which the statements of a conflict hold together, whatever others say."""
    fields = {rule.field for rule in conflict}
    others = {rule.field for rule in changed_problem(attempt.node_class).rules} - fields
    alone = Attempt(attempt.node_class, (), attempt.tests)
    alone.left_out = frozenset(others)
    return islice(changes_of(alone, conflict), most)


def _named(sort: Sequence[Rule]) -> Sequence[Rule]:
    """The statements of a sort whose changes are named: where they are many, one stands for all."""
    return sort if len(sort) <= MOST_SHOWN else sort[:1]


def _numbers(attempt: Attempt, sort: Sequence[Rule]) -> Iterator[tuple[float, Change]]:
    """Other numbers of statements of one sort: all of them fit, or none do."""
    for rule in _named(sort):
        fitting = list(numbers(attempt, rule))
        if not fitting:
            return
        yield from fitting


def _fitting(attempt: Attempt, alternatives: Iterable[Alternatives]) -> Iterator[Change]:
    """The first change of each list with which there is a layout; of a sort, all have one."""
    without: set[tuple[int, int]] = set()
    for sort, changes in alternatives:
        change = next(filter(attempt.fits, changes), None) if sort not in without else None
        if change:
            yield change
        else:
            without.add(sort)


def leaves_over(rules: Sequence[Rule]) -> bool:
    """Whether the rule that every CPU needs a pool is part of the conflict."""
    return any(rule.reason.origin == "rule every-cpu" for rule in rules)
