"""Statements that are alike: the same but for the names of sets that can be exchanged.

A conflict of 33 equal tenants on 32 caches has 561 statements of two sorts. To take one of them
away is as good as to take away any other of its sort, so that two questions are enough.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeAlias

from cpuplan.solve import conflict
from cpuplan.solve.alike.forms import Form, Forms, Shape, names_of, spend
from cpuplan.solve.rules.rule import Rule

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
    for group in reversed(exchangeable(kept, Forms(kept))):
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
        left_out = set(sort)
        others = [rule for rule in kept if rule not in left_out]
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
    forms = Forms([*rules, *among])
    groups = exchangeable(among or rules, forms)
    first = {name: group[0] for group in groups for name in group}
    found: dict[Form, list[Rule]] = {}
    for rule in rules:
        found.setdefault(forms.shape(rule).form(first), []).append(rule)
    spend(len(rules))
    return list(found.values())


def exchangeable(rules: Sequence[Rule], forms: Forms) -> list[list[str]]:
    """The names of sets by group: with any two of a group exchanged the statements are the same.

    Only partitions of one pool are alike in all that no statement says.
    """
    mentioning: dict[str, dict[Shape, None]] = {}
    for rule in rules:
        shape = forms.shape(rule)
        for name in sorted(shape.names):
            mentioning.setdefault(name, {})[shape] = None
    groups: list[list[str]] = []
    # those that are alike as long as others have no names, each with what is said of its first set
    alike: dict[object, list[tuple[list[str], set[Form]]]] = {}
    for name, own in mentioning.items():
        candidates = alike.setdefault(_outline(name, own), [])
        for group, said in candidates if _host(name) else []:
            if _is_same(own, name, group[0], said):
                group.append(name)
                break
        else:
            groups.append([name])
            candidates.append((groups[-1], {shape.form({}) for shape in own}))
            spend(len(own))
    return groups


def _host(name: str) -> str:
    """The pool of a partition; empty for other sets."""
    host, dot, _ = name.partition(".")
    return host if dot else ""


def _outline(name: str, shapes: Iterable[Shape]) -> object:
    """What statements on a set say of it, whatever the names of sets are; and its pool."""
    said: dict[object, int] = {}
    for shape in shapes:
        outline = (shape.name == name, tuple([atom.said for atom in shape.atoms]))
        said[outline] = said.get(outline, 0) + 1
    spend(sum(said.values()))
    return _host(name), frozenset(said.items())


def _is_same(shapes: Collection[Shape], one: str, other: str, said: set[Form]) -> bool:
    """Whether statements on a set are those on another one, as many, with the two exchanged."""
    exchanged = {one: other, other: one}
    spend(len(shapes))
    return len(said) == len(shapes) and all(shape.form(exchanged) in said for shape in shapes)
