"""The rules that a layout breaks, and the CPUs that break them. Needs no solver."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.base.text import counted, joined
from cpuplan.plan import NodeClass
from cpuplan.solve.constraints import (
    AllOrNone,
    Amount,
    Apart,
    Constraint,
    Has,
    InOne,
    OneOf,
    OneThread,
    Share,
    Together,
    WholeCores,
    Within,
)
from cpuplan.solve.layout import Layout, Slot, View, slots_of
from cpuplan.solve.rules import problem_of
from cpuplan.solve.rules.rule import Problem, Rule


class Violation(NamedTuple):
    """One rule that a layout breaks; without a `rule` no layout of any intent may do it."""

    text: str
    cpus: CpuSet  # none where CPUs are lacking
    names: tuple[str, ...]  # the sets that it is about
    rule: Rule | None = None


def violations(node_class: NodeClass, layout: Layout) -> Iterator[Violation]:
    """All breaches, first those that make it no layout of this machine."""
    problem = problem_of(node_class)
    online = problem.topology.online
    for name, cpus in layout.items():
        absent = cpus - online
        if absent:
            where = f"not online on {node_class.hardware}"
            text = f"{cpus_text(absent)} of {name} {_are(absent)} {where}"
            yield Violation(text, absent, (name,))
    view = View(problem.topology, layout)
    yield from _wrong_slots(problem, view)
    for rule in problem.rules:
        for constraint in rule.constraints:
            if not constraint.holds(view):
                cpus = culprits(constraint, view)
                names = (rule.name,) if rule.name else ()
                yield Violation(_words(rule, constraint, view, cpus), cpus, names, rule)


def _wrong_slots(problem: Problem, view: View) -> Iterator[Violation]:
    """CPUs in no pool, in two pools, in a partition without its pool, or in an unknown set."""
    allowed = set(map(frozenset, slots_of(problem.names)))
    for slot, cpus in sorted(view.regions.items()):
        if frozenset(slot) not in allowed:
            yield Violation(_wrong_slot(problem, slot, cpus), cpus, slot)


def _wrong_slot(problem: Problem, slot: Slot, cpus: CpuSet) -> str:
    unknown = [name for name in slot if name not in problem.names]
    if unknown:
        return f"the intent has no {joined(unknown)}, which has {cpus_text(cpus)}"
    subject = f"{cpus_text(cpus)} {_are(cpus)}"
    if not slot:
        return f"{subject} in no pool"
    if len(slot) == 1:
        return f"{subject} in {slot[0]} and in no pool"
    return f"{subject} in {joined(slot)}, which exclude each other"


def _are(cpus: CpuSet) -> str:
    return "is" if len(cpus) == 1 else "are"


def _words(rule: Rule, constraint: Constraint, view: View, cpus: CpuSet) -> str:
    """The rule, and what the layout has instead."""
    if isinstance(constraint, Amount):
        number = counted(constraint.count(view), constraint.unit[:-1])
        text = f"{rule.reason.text}, and it has {number} of {constraint.scope.name}"
        return f"{text}: {cpus}" if cpus else text
    if isinstance(constraint, Share):
        number, other = counted(len(cpus), "CPU"), constraint.other
        held = view.count(other, constraint.scope.cpus)
        return f"{rule.reason.text}, and it has {number} where {other} has {held}"
    do = "does" if len(cpus) == 1 else "do"
    return f"{rule.reason.text}, and {cpus_text(cpus)} {do} not fit"


def culprits(constraint: Constraint, view: View) -> CpuSet:
    """The CPUs with which a layout breaks a constraint."""
    match constraint:
        case Within(name=name, cpus=cpus):
            return view.cpus(name) - cpus
        case Has(name=name, cpus=cpus):
            return cpus - view.cpus(name)
        case OneOf():
            return CpuSet(cpu for cpu, slot in view.slots.items() if not constraint.takes(slot))
        case Amount(name=name, scope=scope) | Share(name=name, scope=scope):
            return view.cpus(name) & scope.cpus
        case Apart(scopes=None) | Together(scopes=None) | WholeCores() | OneThread():
            cores = view.topology.cores.values()
            return union(core for core in cores if not constraint.allows(view.slots_on(core)))
        case InOne() | AllOrNone() | Apart() | Together():
            return _in_parts(constraint, view)
    return EMPTY


def _in_parts(constraint: InOne | AllOrNone | Apart | Together, view: View) -> CpuSet:
    mine = view.cpus(constraint.name)
    match constraint:
        case InOne(scopes=scopes):
            return mine & union(scope.cpus for scope in scopes)
        case AllOrNone():
            return constraint.partly(view)
        case Apart(other=other, scopes=scopes):
            others = view.cpus(other)
            met = (
                scope.cpus for scope in scopes or () if mine & scope.cpus and others & scope.cpus
            )
            return union(met) & (mine | others)
        case Together(others=names, scopes=scopes):
            there = union(view.cpus(other) for other in names)
            alone = (scope.cpus for scope in scopes or () if not there & scope.cpus)
            return union(alone) & mine
