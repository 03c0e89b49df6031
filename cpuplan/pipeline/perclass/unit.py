"""The classes that share one layout: their layout, their settings, and what is wrong with them."""

from collections.abc import Sequence
from typing import NamedTuple

from cpuplan import backends
from cpuplan.components import checks
from cpuplan.diagnostics import CpuplanError, Diagnostic, errors
from cpuplan.diagnostics.source import Locate
from cpuplan.fleet.lock import Locked, Start
from cpuplan.language.model.vocabulary import EXPERT_RULES
from cpuplan.plan import ConfiguredPlan, NodeClass
from cpuplan.simulate import startup
from cpuplan.solve import goals, layouts, solver
from cpuplan.solve.budget import UndecidedError


class Unit(NamedTuple):
    """Classes with one layout, most often one class, and what their layout starts from."""

    members: tuple[NodeClass, ...]
    #: For each of them the locked layouts that it may start from, the first choice first.
    starts: tuple[tuple[Start, ...], ...]

    @property
    def names(self) -> list[str]:
        """The classes, by `cluster/name`."""
        return [member.full_name for member in self.members]

    @property
    def first(self) -> Locked | None:
        """The locked layout that is kept if it satisfies every rule, whatever the others are."""
        ordered = layouts.in_order(self.starts)
        return ordered[0].locked if ordered else None


class Made(NamedTuple):
    """What was made of a unit; without a layout there are no plans, and problems say why."""

    plans: tuple[ConfiguredPlan, ...]
    #: What is wrong with the statements, or why there is no layout.
    problems: tuple[Diagnostic, ...] = ()
    #: For each plan what `check_node` found; nothing where that was not asked for.
    found: tuple[tuple[Diagnostic, ...], ...] = ()


def make(unit: Unit, kin: Sequence[NodeClass], locate: Locate, *, checked: bool) -> Made:
    """The layout of a unit and its settings; `checked` with what is wrong with them.

    `kin` are classes of the same intent, which remedies are tried on. It depends on nothing else.
    """
    problems: list[Diagnostic] = []
    try:
        for member in unit.members:
            problems += solver.check_statements(member, locate)
        if errors(problems):
            return Made((), tuple(problems))
        solved = layouts.layouts(unit.members, unit.starts, locate, kin)
    except CpuplanError as error:
        return Made((), (*problems, *error.diagnostics))
    except UndecidedError:
        undecided = [goals.undecided(member, locate) for member in unit.members]
        return Made((), (*problems, *undecided))
    plans = tuple(map(backends.configure, solved))
    found = [tuple(check_node(plan, locate)) for plan in plans] if checked else []
    return Made(plans, tuple(problems), tuple(found))


def check_node(node: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    """Settings that the target's release lacks, or that contradict the machine or each other.

    The simulated kubelet has its say too.
    """
    off = {
        code
        for switch in node.spec.rules
        if switch.disable
        for code in EXPERT_RULES[switch.disable].codes
    }
    problems = [*goals.check_proof(node, locate)]
    problems += [*checks.check(node, locate), *backends.check(node, locate)]
    problems = [problem for problem in problems if problem.code not in off]
    if not errors(problems):
        problems += startup.check(node, locate)
    return problems
