"""One layout for unlike machines: the same CPU numbers, correct on each of them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import NamedTuple

from cpuplan.base.cpuset import cpus_text, union
from cpuplan.base.text import joined
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import CpuplanError, Diagnostic, Label, diagnose, errors
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import NodeClass, NodePlan
from cpuplan.solve import conflict, effort, feasibility, goals, model, solver, statements
from cpuplan.solve.conflict import Conflict, Memory, Oracle
from cpuplan.solve.constraints import Cores, on_cores
from cpuplan.solve.effort import UndecidedError, proof
from cpuplan.solve.layout import Layout, View
from cpuplan.solve.rules import problem_of
from cpuplan.solve.rules.rule import Problem, Rule


class HardwareRule(NamedTuple):
    """A rule, and the hardware of the classes that it is about."""

    rule: Rule
    hardware: tuple[str, ...]


def solve(
    classes: Sequence[NodeClass], locate: Locate, committed: Layout | None = None
) -> list[NodePlan]:
    """The plans of the best layout that satisfies the rules of every class of one intent.

    Raises CpuplanError when there is none: CP403 names the machines and the statements that
    contradict each other.
    """
    problems: dict[Diagnostic, None] = {}
    for node_class in classes:
        problems.update(dict.fromkeys(errors(statements.check(node_class, locate))))
    if problems:
        raise CpuplanError(problems)
    first, *others = classes
    for other in others:
        if other.topology.online != first.topology.online:
            raise CpuplanError([_unlike_cpus(first, other, locate)])
    topology, divisions = joint(classes)
    rules = _rules(classes, divisions)
    problem = Problem(
        topology, problem_of(first).names, tuple(hardware_rule.rule for hardware_rule in rules)
    )
    with effort.limited() as limit:
        best = model.best(problem, goals.common_aims(classes, committed, divisions))
    if best is not None:
        unproven = proof.limited(topology, best.layout, best.gaps, limit.seconds)
        return [solver.explain(node_class, best.layout, unproven) for node_class in classes]
    for node_class in classes:
        with suppress(UndecidedError):
            if not model.feasible(problem_of(node_class)):
                solver.solve(node_class, locate)  # raises for what is wrong with this class alone
    raise CpuplanError([_no_layout(classes, _conflict(classes, problem, rules), locate)])


def _conflict(
    classes: Sequence[NodeClass], problem: Problem, rules: Sequence[HardwareRule]
) -> Conflict[HardwareRule]:
    """A smallest conflict of unlike machines, of two of them if these contradict each other.

    The cores of many unlike machines have so many threads in common that each question takes long.
    Each machine has a layout, so that no conflict has fewer than two statements.
    """
    for pair in combinations(classes, 2) if len(classes) > 2 else ():
        names = {node_class.hardware for node_class in pair}
        some = [statement for statement in rules if not names.isdisjoint(statement.hardware)]
        part = Problem(joint(pair)[0], problem.names, tuple(rule for rule, _ in some))
        if not model.feasible(part):
            found = conflict.smallest(some, _oracle(pair, part, some))
            return found if len(found.statements) <= 2 else found._replace(is_smallest=False)
    return conflict.smallest(rules, _oracle(classes, problem, rules))


def _oracle(
    classes: Sequence[NodeClass], problem: Problem, rules: Sequence[HardwareRule]
) -> Oracle[HardwareRule]:
    """Answers which rules of unlike machines hold together; all of them do not."""

    def example(some: Sequence[HardwareRule]) -> Layout | None:
        return model.example(problem.having(rule for rule, _ in some))

    def holds(statement: HardwareRule, layout: object) -> bool:
        """On each of its machines; a layout has the same CPUs on all of them."""
        if not isinstance(layout, Mapping):
            return False
        return all(
            feasibility.holds(statement.rule, View(node_class.topology, layout))
            for node_class in classes
            if node_class.hardware in statement.hardware
        )

    memory = Memory(rules, example, holds, unfit=rules)
    return Oracle(memory.example, holds, feasibility.budget(problem))


def joint(classes: Sequence[NodeClass]) -> tuple[Topology, tuple[Cores, ...]]:
    """A machine with the smallest cores that consist of whole cores of each class.

    Also the cores of each class; empty where all have the same cores. The place of a core in the
    machine is that of the first class.
    """
    topology = classes[0].topology
    divisions = tuple(tuple(node_class.topology.cores.values()) for node_class in classes)
    if len(set(map(frozenset, divisions))) == 1:
        return topology, ()
    core_of = {cpu: core for core in topology.cores.values() for cpu in core}
    for division in divisions[1:]:
        for siblings in division:
            whole = union({core_of[cpu] for cpu in siblings})
            core_of.update(dict.fromkeys(whole, whole))
    cores = dict.fromkeys(core_of.values())
    lowest = {cpu: core.first for core in cores for cpu in core}
    return Topology(cpu._replace(core=lowest[cpu.cpu]) for cpu in topology.cpus), divisions


def _rules(classes: Sequence[NodeClass], divisions: Sequence[Cores]) -> list[HardwareRule]:
    """The rules of all classes; rules that are the same for several classes stand once."""
    rules: dict[tuple[object, ...], HardwareRule] = {}
    for index, node_class in enumerate(classes):
        for rule in problem_of(node_class).rules:
            constraints = rule.constraints
            if divisions:
                constraints = tuple(
                    on_cores(constraint, divisions[index]) for constraint in constraints
                )
            key = (rule.name, rule.field, constraints)
            known = rules.get(key, HardwareRule(rule._replace(constraints=constraints), ()))
            hardware = dict.fromkeys((*known.hardware, node_class.hardware))
            rules[key] = known._replace(hardware=tuple(hardware))
    return list(rules.values())


def _no_layout(
    classes: Sequence[NodeClass], smallest: Conflict[HardwareRule], locate: Locate
) -> Diagnostic:
    machines = {node_class.hardware for node_class in classes}
    labels, facts = [], ""
    for rule, hardware in smallest.statements:
        text = rule.reason.text
        if set(hardware) != machines:
            text += f" (on {joined(hardware)})"
        place = locate(rule.reason.origin)
        if place:
            labels.append(Label(place, text))
        else:
            facts += f"; {text}"
    facts += smallest.doubt
    return _diagnostic(classes, labels, facts, locate)


def _unlike_cpus(first: NodeClass, other: NodeClass, locate: Locate) -> Diagnostic:
    online = [
        f"{node_class.hardware} has {cpus_text(node_class.topology.online)}"
        for node_class in (first, other)
    ]
    return _diagnostic([first, other], [], f": {joined(online)}", locate)


def _diagnostic(
    classes: Sequence[NodeClass], labels: Sequence[Label], facts: str, locate: Locate
) -> Diagnostic:
    first = classes[0]
    return diagnose(
        "CP403",
        locate(first.place(first.target_field("mixedHardware"))),
        labels=labels,
        machines=joined(
            [f"{node_class.hardware} ({len(node_class.nodes)})" for node_class in classes]
        ),
        pool=first.target.pool,
        cluster=first.cluster,
        facts=facts,
    )
