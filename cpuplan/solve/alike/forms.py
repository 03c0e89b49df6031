"""Statements in a form in which equal ones are equal, also with other names of sets.

All that a statement says beside the names of sets is a number, so that a form takes microseconds:
thousands of statements are compared with many exchanges of names.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from cpuplan.solve import effort
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
    found = {name}
    for atom in atoms:
        found.update(atom.names, *atom.groups)
    return frozenset(found - _UNITS)


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
        is_mutual = bool(constraints) and all(isinstance(one, Apart) for one in constraints)
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
    found = {rule.name}
    for constraint in rule.constraints:
        for value in constraint:
            found.update([value] if isinstance(value, str) else _texts(value))
    return frozenset(found - _UNITS)


def _texts(value: object) -> tuple[str, ...]:
    """The strings of a tuple of strings."""
    if type(value) is tuple and value and isinstance(value[0], str):
        return value if all(isinstance(part, str) for part in value) else ()
    return ()


def spend(forms: int) -> None:
    """Count the work of making so many forms."""
    effort.current().spend(_COST * forms)
