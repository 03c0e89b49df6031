"""What a layout does against the rules: the CPUs, and the rule. Needs no solver."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.plan import NodeClass
from cpuplan.solve.constraints import (
    Amount,
    Apart,
    Constraint,
    Has,
    OneOf,
    OneThread,
    Together,
    WholeCores,
    Within,
)
from cpuplan.solve.layout import Layout, Slot, View, slots_of
from cpuplan.solve.rules import problem_of
from cpuplan.solve.rules.rule import Problem, Rule
from cpuplan.text import counted, joined


class Breach(NamedTuple):
    """One rule that a layout breaks; `rule` is None for what no layout of any intent may do."""

    text: str
    cpus: CpuSet  # none where CPUs are lacking
    names: tuple[str, ...]  # the sets that it is about
    rule: Rule | None = None


def breaches(node_class: NodeClass, layout: Layout) -> Iterator[Breach]:
    """All that is wrong with a layout, first what is wrong with it as a layout of this machine."""
    problem = problem_of(node_class)
    online = problem.topology.online
    for name, cpus in layout.items():
        if absent := cpus - online:
            are = "is" if len(absent) == 1 else "are"
            yield Breach(
                f"{cpus_text(absent)} of {name} {are} not online on {node_class.hardware}",
                absent,
                (name,),
            )
    view = View(problem.topology, layout)
    yield from _wrong_slots(problem, view)
    for rule in problem.rules:
        for constraint in rule.constraints:
            if not constraint.holds(view):
                cpus = culprits(constraint, view)
                yield Breach(
                    _told(rule, constraint, view, cpus),
                    cpus,
                    (rule.name,) if rule.name else (),
                    rule,
                )


def _wrong_slots(problem: Problem, view: View) -> Iterator[Breach]:
    """CPUs in no pool, in two pools, in a partition without its pool, in a set that the intent has
    not.
    """
    allowed = set(map(frozenset, slots_of(problem.names)))
    used = {slot for pattern in view.patterns for slot in pattern}
    for slot in sorted(slot for slot in used if frozenset(slot) not in allowed):
        cpus = CpuSet(cpu for cpu, found in view.slots.items() if found == slot)
        shown, are = cpus_text(cpus), "is" if len(cpus) == 1 else "are"
        if unknown := [name for name in slot if name not in problem.names]:
            yield Breach(f"the intent has no {joined(unknown)}, which has {shown}", cpus, slot)
        elif not slot:
            yield Breach(f"{shown} {are} in no pool", cpus, slot)
        elif len(slot) == 1:
            yield Breach(f"{shown} {are} in {slot[0]} and in no pool", cpus, slot)
        else:
            yield Breach(f"{shown} {are} in {joined(slot)}, which exclude each other", cpus, slot)


def _told(rule: Rule, constraint: Constraint, view: View, cpus: CpuSet) -> str:
    """The rule, and what the layout has instead."""
    if isinstance(constraint, Amount):
        cores = constraint.unit == "cores"
        many = counted(
            view.count(constraint.name, constraint.scope.cpus, cores=cores), constraint.unit[:-1]
        )
        return f"{rule.reason.text}, and it has {many} of {constraint.scope.name}" + (
            f": {cpus}" if cpus else ""
        )
    return f"{rule.reason.text}, and {cpus_text(cpus)} {'does' if len(cpus) == 1 else 'do'} not fit"


def culprits(constraint: Constraint, view: View) -> CpuSet:
    """The CPUs with which a layout breaks a constraint."""
    match constraint:
        case Within(name=name, cpus=cpus):
            return view.cpus(name) - cpus
        case Has(name=name, cpus=cpus):
            return cpus - view.cpus(name)
        case OneOf():
            return CpuSet(cpu for cpu, slot in view.slots.items() if not constraint.takes(slot))
        case Amount(name=name, scope=scope):
            return view.cpus(name) & scope.cpus
        case Apart(scopes=None) | Together(scopes=None) | WholeCores() | OneThread():
            return union(
                cores
                for cores in view.topology.cores.values()
                if not constraint.allows(_slots(view, cores))
            )
        case Apart(name=name, other=other, scopes=scopes):
            both = (
                scope.cpus
                for scope in scopes or ()
                if view.cpus(name) & scope.cpus and view.cpus(other) & scope.cpus
            )
            return union(cpus & (view.cpus(name) | view.cpus(other)) for cpus in both)
        case Together(name=name, others=others, scopes=scopes):
            there = union(view.cpus(other) for other in others)
            return union(
                view.cpus(name) & scope.cpus for scope in scopes or () if not there & scope.cpus
            )
    return EMPTY


def _slots(view: View, cores: CpuSet) -> list[Slot]:
    return [view.slots[cpu] for cpu in cores]
