"""Statements that are the same but for the names of sets that can be exchanged.

A conflict of 33 equal tenants on 32 caches has 561 statements of two sorts. To take one of them
away is as good as to take away any other of its sort, so that two questions are enough. Statements
are brought into a form in which equal ones are equal, also with other names.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from cpuplan.solve import budget, conflict
from cpuplan.solve.constraints import Apart, Constraint
from cpuplan.solve.rules.rule import Rule

#: A statement with other names of sets.
Form: TypeAlias = tuple[str, frozenset[object]]
#: What a form takes, in units of the limit: some microseconds.
_COST = 2e-6
#: Strings in constraints that are no names of sets.
_UNITS = frozenset({"CPUs", "cores", "caches", ""})


class Atom(NamedTuple):
    """A constraint: what it says, and of which sets; the order in a group says nothing."""

    said: int
    names: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]

    def form(self, renamed: Mapping[str, str]) -> object:
        names = tuple([renamed.get(name, name) for name in self.names])
        return self.said, names, *[_renamed(group, renamed) for group in self.groups]


def _renamed(group: Sequence[str], renamed: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted([renamed.get(name, name) for name in group]))


class Shape(NamedTuple):
    """A statement: the set that it is about, and its constraints."""

    name: str  # empty where it says the same of both of its sets
    atoms: tuple[Atom, ...]

    def form(self, renamed: Mapping[str, str]) -> Form:
        """The statement with other names of sets."""
        atoms = frozenset([atom.form(renamed) for atom in self.atoms])
        return renamed.get(self.name, self.name), atoms

    @property
    def names(self) -> frozenset[str]:
        """The sets that it is about."""
        return _names(self.name, self.atoms)


def _names(name: str, atoms: Iterable[Atom]) -> frozenset[str]:
    names = {name}
    for atom in atoms:
        names.update(atom.names, *atom.groups)
    return frozenset(names - _UNITS)


class Forms:
    """The shapes of statements, with numbers for what they say that hold among these only."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules  # keeps alive what is known by its identity
        self._numbers: dict[object, int] = {}
        self._known: dict[int, int] = {}
        self._shapes = {id(rule): self._shape(rule) for rule in rules}

    def shape(self, rule: Rule) -> Shape:
        """The shape of one of the statements."""
        return self._shapes[id(rule)]

    def _shape(self, rule: Rule) -> Shape:
        constraints = rule.constraints
        is_mutual = bool(constraints) and all(
            isinstance(constraint, Apart) for constraint in constraints
        )
        atoms = tuple([self._atom(constraint) for constraint in constraints])
        return Shape("" if is_mutual else rule.name, atoms)

    def _atom(self, constraint: Constraint) -> Atom:
        names: list[str] = []
        groups: list[tuple[str, ...]] = []
        values: list[object] = [type(constraint).__name__]
        for value in constraint:
            if isinstance(value, str):
                names.append(value)
            elif texts := _texts(value):
                groups.append(tuple(sorted(texts)))
            else:
                values.append(self._known_number(value))
        if isinstance(constraint, Apart):
            names, groups = [], [tuple(sorted(names))]
        return Atom(self._number(tuple(values)), tuple(names), tuple(groups))

    def _known_number(self, value: object) -> int:
        """The number of a value of a constraint, which many of them share."""
        number = self._known.get(id(value))
        if number is None:
            number = self._known[id(value)] = self._number(value)
        return number

    def _number(self, value: object) -> int:
        """The same number for equal values."""
        return self._numbers.setdefault(value, len(self._numbers))


def names_of(rule: Rule) -> frozenset[str]:
    """The sets that a statement is about."""
    names = {rule.name}
    for constraint in rule.constraints:
        for value in constraint:
            names.update([value] if isinstance(value, str) else _texts(value))
    return frozenset(names - _UNITS)


def _texts(value: object) -> tuple[str, ...]:
    """The strings of a tuple of strings."""
    if type(value) is tuple and value and isinstance(value[0], str):
        return value if all(isinstance(part, str) for part in value) else ()
    return ()


def spend(forms: int) -> None:
    """Count the work of making so many forms."""
    budget.current().spend(_COST * forms)


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
    for sort in sorts(rules):
        others = [rule for rule in rules if rule is not sort[0]]
        if not feasible(others):
            return False
    return True


def sorts(rules: Sequence[Rule], among: Sequence[Rule] = ()) -> list[list[Rule]]:
    """Statements by sort; those of one sort become each other when sets are exchanged.

    The exchange changes nothing of the statements `among` which these are; without, of themselves.
    """
    forms = Forms([*rules, *among])
    groups = exchangeable(among or rules, forms)
    first = {name: group[0] for group in groups for name in group}
    by_form: dict[Form, list[Rule]] = {}
    for rule in rules:
        by_form.setdefault(forms.shape(rule).form(first), []).append(rule)
    spend(len(rules))
    return list(by_form.values())


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


def _is_same(shapes: Collection[Shape], name: str, other: str, said: set[Form]) -> bool:
    """Whether statements on a set are those on another one, as many, with the two exchanged."""
    exchanged = {name: other, other: name}
    spend(len(shapes))
    return len(said) == len(shapes) and all(shape.form(exchanged) in said for shape in shapes)
