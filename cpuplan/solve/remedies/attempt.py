"""Trying changes on the classes that they are made for."""

from collections.abc import Container, Iterable, Sequence

from cpuplan.plan import NodeClass
from cpuplan.solve import effort, faults, feasibility, rules
from cpuplan.solve.remedies.edits import Change
from cpuplan.solve.rules.rule import Problem

SEVERAL = "change more than one of these statements"
#: Where the tests did not suffice for all changes.
UNTRIED = "change one or more of these statements: the changes that were tried are not enough"


#: What each rule takes to be made, in units of the limit.
_MADE = 7e-6


def problem_of(node_class: NodeClass) -> Problem:
    """The rules of a changed class. To make them is work, too, where there are many."""
    problem = rules.problem_of(node_class)
    effort.current().spend(_MADE * len(problem.rules))
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
        if effort.current().is_over:
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
        found = self.tests[0] >= 0 and fits(node_class, left_out)
        if effort.current().is_over:
            self.tests[0] = -1
        return found


def _unchanged(node_class: NodeClass) -> NodeClass:
    return node_class


def fits(node_class: NodeClass, left_out: Container[str]) -> bool:
    """Whether there is a layout, without the rules of some fields."""
    if faults.errors_of(node_class):
        return False
    problem = problem_of(node_class)
    kept = (rule for rule in problem.rules if rule.field not in left_out)
    return feasibility.fits(feasibility.without_idle(problem.having(kept)))
