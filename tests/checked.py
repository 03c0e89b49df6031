"""A node against its plan, by the file that `compile` writes."""

from collections.abc import Callable
from pathlib import Path

from cpuplan import backends
from cpuplan.backends import state
from cpuplan.check.host import check
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject, nowhere
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Position
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.expected.state import Expected, read, render

Locate = Callable[[str], Position | None]


def expected(plan: ConfiguredPlan) -> Expected:
    """The expected state of a plan, as `check` reads it."""
    return read(render(state.of(plan, backends.of(plan.node_class).on_node)))


def subject(root: Path, plan: ConfiguredPlan) -> Subject:
    """What a step of the check reads."""
    return Subject(Root(root), expected(plan))


def answers(root: Path, plan: ConfiguredPlan, locate: Locate = nowhere) -> list[Answer]:
    """All answers on a node."""
    return check(Root(root), expected(plan), "", locate)


def findings(root: Path, plan: ConfiguredPlan, locate: Locate = nowhere) -> list[Diagnostic]:
    """What differs on a node; settings with one cause have one finding."""
    differing = (answer.finding for answer in answers(root, plan, locate) if answer.finding)
    return list(dict.fromkeys(differing))
