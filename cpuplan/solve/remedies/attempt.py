"""Trying changes on the classes that they are made for."""

from collections.abc import Container, Iterable, Sequence

from cpuplan.diagnostics import errors
from cpuplan.plan import NodeClass
from cpuplan.solve import faults, model
from cpuplan.solve.remedies.edits import Change
from cpuplan.solve.rules import problem_of

SEVERAL = "change more than one of these statements"
#: Where there was not time for all changes.
UNTRIED = "change one or more of these statements: those changes that were tried are not enough"


class Attempt:
    """A class, changed or not, of which some statements are left out; and how often anything may
    still be tried.

    What is changed for the class is changed for its `kin` too, the other classes of its intent,
    which must fit as well.
    """

    def __init__(self, node_class: NodeClass, kin: Sequence[NodeClass], tests: list[int]) -> None:
        self.node_class = node_class
        self.kin = kin
        self.left_out: frozenset[str] = frozenset()
        self.tests = tests  # one number, which attempts share

    def after(self, change: Change | None, left_out: Iterable[str]) -> "Attempt":
        """The classes with a further change, and other statements left out."""
        edit = change.edit if change else _unchanged
        made = Attempt(edit(self.node_class), [edit(each) for each in self.kin], self.tests)
        made.left_out = frozenset(left_out)
        return made

    @property
    def nothing(self) -> str:
        """What is said where nothing was found."""
        return SEVERAL if self.tests[0] >= 0 else UNTRIED

    def fits(self, change: Change | None = None) -> bool:
        """Is there a layout, after the change? Untried ones have none."""
        edit = change.edit if change else _unchanged
        return self._fits(edit(self.node_class), self.left_out) and all(
            self._fits(edit(each), ()) for each in self.kin
        )

    def _fits(self, node_class: NodeClass, left_out: Container[str]) -> bool:
        self.tests[0] -= 1
        return self.tests[0] >= 0 and fits(node_class, left_out)


def _unchanged(node_class: NodeClass) -> NodeClass:
    return node_class


def fits(node_class: NodeClass, left_out: Container[str]) -> bool:
    """Is there a layout, the rules of some fields left out?"""
    if errors(faults.check(node_class, lambda _origin: None)):
        return False
    problem = problem_of(node_class)
    return model.feasible(
        problem.having(rule for rule in problem.rules if rule.field not in left_out)
    )
