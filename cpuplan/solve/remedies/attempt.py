"""Changes of an intent, in words and as edits, and trying them on the classes they are for."""

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, NamedTuple

from cpuplan.language.model.base import Model, attributes
from cpuplan.language.model.pools import Isolated
from cpuplan.plan import NodeClass
from cpuplan.solve import budget, feasibility, rules, validation
from cpuplan.solve.rules.rule import Problem

Edit = Callable[[NodeClass], NodeClass]


class Change(NamedTuple):
    """A change in words, and the edit that gives a class the changed intent."""

    text: str
    edit: Edit
    field: str = ""  # of the number that it changes
    parts: tuple["Change", ...] = ()  # of a change of several statements


def setting(field: str, **update: Any) -> Edit:
    """The edit that gives the mapping at `field` other values."""
    return lambda node_class: edited(node_class, field, **update)


def all_of(node_class: NodeClass, edits: Iterable[Edit]) -> NodeClass:
    """Several edits, one after the other."""
    for edit in edits:
        node_class = edit(node_class)
    return node_class


def edited(node_class: NodeClass, field: str, **update: Any) -> NodeClass:
    """The class whose intent has other values in the mapping at `field`, a path as in YAML."""
    return node_class.saying(_edit(node_class.spec, field.split("."), update))


def _edit(value: Any, path: Sequence[str], update: dict[str, Any]) -> Any:
    if value is None:
        value = Isolated(rest=True)  # the one pool that exists without a statement
    if not path:
        return value.model_copy(update=update)
    key, *rest = path
    if isinstance(value, dict):
        return value | {key: _edit(value[key], rest, update)}
    if isinstance(value, tuple):
        index = int(key)
        return (*value[:index], _edit(value[index], rest, update), *value[index + 1 :])
    model: type[Model] = type(value)
    name = attributes(model)[key]
    return value.model_copy(update={name: _edit(getattr(value, name), rest, update)})


def short(field: str) -> str:
    """`pools.shared` as people write it: `shared`."""
    return field.removeprefix("pools.")


SEVERAL = "change more than one of these statements"
#: Where the tests did not suffice for all changes.
UNTRIED = "change one or more of these statements: the changes that were tried are not enough"


#: What each rule takes to be made, in units of the limit.
_MADE = 7e-6


def changed_problem(node_class: NodeClass) -> Problem:
    """The rules of a changed class. To make them is work, too, where there are many."""
    problem = rules.problem_of(node_class)
    budget.current().spend(_MADE * len(problem.rules))
    return problem


class Attempt:
    """A class, changed or not, without some of its statements, and the number of tests left.

    Changes apply to the class and to its `kin`, the other classes of its intent, which must fit
    too.
    """

    def __init__(self, node_class: NodeClass, kin: Sequence[NodeClass], tests: list[int]) -> None:
        self.node_class = node_class
        self.kin = kin
        self.left_out: frozenset[str] = frozenset()
        self.tests = tests  # one number, which attempts share

    def after(self, change: Change | None, left_out: Iterable[str]) -> "Attempt":
        """The classes with a further change, and other statements left out."""
        edit = change.edit if change else _unchanged
        attempt = Attempt(
            edit(self.node_class), [edit(relative) for relative in self.kin], self.tests
        )
        attempt.left_out = frozenset(left_out)
        return attempt

    @property
    def is_over(self) -> bool:
        """Whether the limit has ended, so that nothing more is tried."""
        if budget.current().is_over:
            self.tests[0] = -1
        return self.tests[0] < 0

    @property
    def nothing(self) -> str:
        """The remedy where no change was found."""
        return SEVERAL if self.tests[0] >= 0 else UNTRIED

    def fits(self, change: Change | None = None) -> bool:
        """Whether there is a layout, after the change; False without a test where none is left."""
        edit = change.edit if change else _unchanged
        if not self._fits(edit(self.node_class), self.left_out):
            return False
        return all(self._fits(edit(relative), ()) for relative in self.kin)

    def _fits(self, node_class: NodeClass, left_out: Container[str]) -> bool:
        self.tests[0] -= 1
        fits = self.tests[0] >= 0 and fits_changed(node_class, left_out)
        if budget.current().is_over:
            self.tests[0] = -1
        return fits


def _unchanged(node_class: NodeClass) -> NodeClass:
    return node_class


def fits_changed(node_class: NodeClass, left_out: Container[str]) -> bool:
    """Whether there is a layout, without the rules of some fields."""
    if validation.errors_of(node_class):
        return False
    problem = changed_problem(node_class)
    kept = (rule for rule in problem.rules if rule.field not in left_out)
    return feasibility.fits(feasibility.without_idle(problem.having(kept)))
