"""Statements that are alike: the same but for the names of sets that can be exchanged.

A conflict of 33 equal tenants on 32 caches has 561 statements of two sorts. To take one of them
away is as good as to take away any other of its sort, so that two questions are enough.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from cpuplan.solve import conflict
from cpuplan.solve.constraints import Apart, Constraint
from cpuplan.solve.rules.rule import Rule

#: A statement with other names of sets, in a form in which equal statements are equal.
Form: TypeAlias = tuple[object, ...]
#: Whether statements can hold together.
Feasible: TypeAlias = Callable[[Sequence[Rule]], bool]
#: With fewer statements than these the usual search is fast.
_FEW = 100


def minimal(rules: Sequence[Rule], feasible: Feasible) -> list[Rule]:
    """As `conflict.minimal`, with fewer questions where many statements are alike."""
    if len(rules) < _FEW:
        return conflict.minimal(rules, feasible)
    part = _sorts_needed(_sets_needed(rules, feasible), feasible)
    return part if is_irreducible(part, feasible) else conflict.minimal(part, feasible)


def _sets_needed(rules: Sequence[Rule], feasible: Feasible) -> list[Rule]:
    """Without the statements on sets without which the others cannot hold together either."""
    kept = list(rules)
    for group in reversed(_exchangeable(kept)):
        # with none of the group's sets, with one, and so on: the first part that cannot hold
        parts = [_without(kept, group[number:]) for number in range(len(group) + 1)]
        kept = parts[bisect_left(parts[:-1], True, key=lambda part: not feasible(part))]
    return kept


def _without(rules: Sequence[Rule], names: Iterable[str]) -> list[Rule]:
    """The statements that are not about these sets."""
    left_out = set(names)
    return [rule for rule in rules if left_out.isdisjoint(names_of(rule))]


def _sorts_needed(rules: Sequence[Rule], feasible: Feasible) -> list[Rule]:
    """Without the sorts of statements without which the others cannot hold together either."""
    kept = list(rules)
    for sort in reversed(sorts(kept)):
        others = [rule for rule in kept if rule not in sort]
        if not feasible(others):
            kept = others
    return kept


def is_irreducible(rules: Sequence[Rule], feasible: Feasible) -> bool:
    """Whether statements that cannot hold together can without any one of them."""
    firsts = [sort[0] for sort in sorts(rules)]
    return all(feasible([rule for rule in rules if rule is not first]) for first in firsts)


def sorts(rules: Sequence[Rule], among: Sequence[Rule] = ()) -> list[list[Rule]]:
    """Statements by sort; those of one sort become each other when sets are exchanged.

    The exchange changes nothing of the statements `among` which these are; without, of themselves.
    """
    groups = _exchangeable(among or rules)
    first = {name: group[0] for group in groups for name in group}
    found: dict[Form, list[Rule]] = {}
    for rule in rules:
        found.setdefault(_form(rule, first), []).append(rule)
    return list(found.values())


def _exchangeable(rules: Sequence[Rule]) -> list[list[str]]:
    """The names of sets by group: with any two of a group exchanged the statements are the same.

    Only partitions of one pool are alike in all that no statement says.
    """
    mentioning: dict[str, list[Rule]] = {}
    for rule in rules:
        for name in names_of(rule):
            mentioning.setdefault(name, []).append(rule)
    groups: list[list[str]] = []
    for name, own in mentioning.items():
        for group in groups:
            both = dict.fromkeys((*own, *mentioning[group[0]]))
            if _host(name) == _host(group[0]) != "" and _is_same(both, name, group[0]):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _host(name: str) -> str:
    """The pool of a partition; empty for other sets."""
    host, dot, _ = name.partition(".")
    return host if dot else ""


def _is_same(rules: Iterable[Rule], one: str, other: str) -> bool:
    exchanged = {one: other, other: one}
    return {_form(rule, {}) for rule in rules} == {_form(rule, exchanged) for rule in rules}


def names_of(rule: Rule) -> set[str]:
    """The sets that a statement is about."""
    names = {rule.name} - {""}
    for constraint in rule.constraints:
        for value in constraint:
            names.update([value] if isinstance(value, str) else _texts(value))
    return names - {"CPUs", "cores", "caches", ""}


def _texts(value: object) -> list[str]:
    """The strings of a tuple of strings."""
    if type(value) is tuple and all(isinstance(part, str) for part in value):
        return list(value)
    return []


def _form(rule: Rule, renamed: dict[str, str]) -> Form:
    constraints = frozenset(_constraint(constraint, renamed) for constraint in rule.constraints)
    return renamed.get(rule.name, rule.name) if not _is_mutual(rule) else "", constraints


def _is_mutual(rule: Rule) -> bool:
    """Whether the statement says the same of both sets that it is about."""
    return bool(rule.constraints) and all(isinstance(one, Apart) for one in rule.constraints)


def _constraint(constraint: Constraint, renamed: dict[str, str]) -> Form:
    values: list[object] = [type(constraint).__name__]
    for value in constraint:
        if isinstance(value, str):
            values.append(renamed.get(value, value))
        elif _texts(value):
            values.append(tuple(sorted(renamed.get(name, name) for name in _texts(value))))
        else:
            values.append(value)
    if isinstance(constraint, Apart):
        values[1:3] = sorted(map(str, values[1:3]))
    return tuple(values)
