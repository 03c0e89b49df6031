"""One layout for unlike machines: the same CPU numbers, right on each of them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cpuplan.cpuset import CpuSet, cpus_text
from cpuplan.diagnostics import CpuplanError, Diagnostic, Label, diagnose, errors
from cpuplan.model.topology import Topology
from cpuplan.plan import NodeClass
from cpuplan.solve import conflict, goals, solver, statements
from cpuplan.solve.conflict import Conflict
from cpuplan.solve.constraints import Cores, on_cores
from cpuplan.solve.layout import Layout
from cpuplan.solve.rules import problem_of
from cpuplan.solve.rules.rule import Problem, Rule
from cpuplan.source import Locate
from cpuplan.text import joined


class Stated(NamedTuple):
    """A rule, and the hardware of the classes that it is about."""

    rule: Rule
    hardware: tuple[str, ...]


def solve(
    classes: Sequence[NodeClass],
    locate: Locate,
    committed: Layout | None = None,
) -> Layout:
    """The best layout that satisfies the rules of every class; they have one intent.

    Raises CpuplanError when there is none: CP403 names the machines and the statements that
    contradict each other.
    """
    from cpuplan.solve import model, trials

    if problems := [
        problem for each in classes for problem in errors(statements.check(each, locate))
    ]:
        raise CpuplanError(dict.fromkeys(problems))
    first, *others = classes
    for other in others:
        if other.topology.online != first.topology.online:
            raise CpuplanError([_unlike_cpus(first, other, locate)])
    topology, divided = joint(classes)
    stated = _stated(classes, divided)
    problem = Problem(topology, problem_of(first).names, tuple(each.rule for each in stated))
    layout = model.layout(problem, goals.common_aims(classes, committed, divided))
    if layout is None:
        for each in classes:
            # what is wrong with one class by itself is said of that class
            solver.solve(each, locate)

        def feasible(some: Iterable[Stated]) -> bool | None:
            return model.feasible(problem.having(each.rule for each in some)) or None

        tests = conflict.Trials(feasible, lambda _stated, _example: False, trials.allowed(problem))
        raise CpuplanError([_none(classes, conflict.smallest(stated, tests), locate)])
    return layout


def joint(classes: Sequence[NodeClass]) -> tuple[Topology, tuple[Cores, ...]]:
    """A machine whose cores are whole cores of each class, as small as can be, and how the classes
    divide them.

    Where all divide them alike there is nothing to divide. What a core is part of is told by the
    first class.
    """
    topology = classes[0].topology
    divided = tuple(tuple(each.topology.cores.values()) for each in classes)
    if len({frozenset(cores) for cores in divided}) == 1:
        return topology, ()
    joined_cores = dict.fromkeys(topology.cores.values())
    for cores in divided[1:]:
        for siblings in cores:
            touched = [core for core in joined_cores if core & siblings]
            whole = CpuSet.from_bits(sum(core.bits for core in touched))
            for core in touched:
                del joined_cores[core]
            joined_cores[whole] = None
    lowest = {cpu: core.first for core in joined_cores for cpu in core}
    return Topology(cpu._replace(core=lowest[cpu.cpu]) for cpu in topology.cpus), divided


def _stated(classes: Sequence[NodeClass], divided: Sequence[Cores]) -> list[Stated]:
    """The rules of all classes, those that are the same for several once."""
    found: dict[tuple[object, ...], Stated] = {}
    for index, node_class in enumerate(classes):
        for rule in problem_of(node_class).rules:
            constraints = rule.constraints
            if divided:
                constraints = tuple(on_cores(each, divided[index]) for each in constraints)
            key = (rule.name, rule.field, constraints)
            known = found.get(key, Stated(rule._replace(constraints=constraints), ()))
            found[key] = known._replace(
                hardware=tuple(dict.fromkeys((*known.hardware, node_class.hardware)))
            )
    return list(found.values())


def _none(classes: Sequence[NodeClass], found: Conflict[Stated], locate: Locate) -> Diagnostic:
    machines = list(dict.fromkeys(each.hardware for each in classes))
    labels, unplaced = [], []
    for reason, hardware in ((each.rule.reason, each.hardware) for each in found.statements):
        everywhere = set(hardware) == set(machines)
        text = reason.text + ("" if everywhere else f" (on {joined(hardware)})")
        place = locate(reason.origin)
        labels += [Label(place, text)] if place else []
        unplaced += [] if place else [text]
    facts = "".join(f"; {text}" for text in unplaced) + (
        "" if found.is_smallest else conflict.IN_ITSELF
    )
    return _diagnostic(classes, labels, facts, locate)


def _unlike_cpus(first: NodeClass, other: NodeClass, locate: Locate) -> Diagnostic:
    shown = [f"{each.hardware} has {cpus_text(each.topology.online)}" for each in (first, other)]
    return _diagnostic([first, other], [], f": {joined(shown)}", locate)


def _diagnostic(
    classes: Sequence[NodeClass],
    labels: Sequence[Label],
    facts: str,
    locate: Locate,
) -> Diagnostic:
    first = classes[0]
    return diagnose(
        "CP403",
        locate(first.place(first.target_field("mixedHardware"))),
        labels=labels,
        machines=joined([f"{each.hardware} ({len(each.nodes)})" for each in classes]),
        pool=first.target.pool,
        cluster=first.cluster,
        facts=facts,
    )
