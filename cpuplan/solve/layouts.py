"""The layout of each class: the locked one while it satisfies every rule, else one near it.

Classes of unlike machines that share an intent have the same CPU numbers, correct on each.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from cpuplan.base.cpuset import cpus_text, union
from cpuplan.base.text import joined
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import CpuplanError, Diagnostic, Label, diagnose, errors
from cpuplan.diagnostics.source import Locate
from cpuplan.fleet.lock import Locked, Start, digest, in_order
from cpuplan.plan import NodeClass, NodePlan
from cpuplan.solve import budget, goals, solver
from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.constraints import Cores, on_cores
from cpuplan.solve.layout import Layout, View
from cpuplan.solve.rules import problem_of
from cpuplan.solve.rules.rule import Problem, Rule
from cpuplan.solve.violations import Violation, violations

if TYPE_CHECKING:  # one class has no need of it
    from cpuplan.solve.conflict import Conflict, Oracle


class HardwareRule(NamedTuple):
    """A rule, and the hardware of the classes that it is about."""

    rule: Rule
    hardware: tuple[str, ...]


def solve_common(
    classes: Sequence[NodeClass], locate: Locate, committed: Layout | None = None
) -> list[NodePlan]:
    """The plans of the best layout that satisfies the rules of every class of one intent.

    Raises CpuplanError when there is none: CP403 names the machines and the statements that
    contradict each other.
    """
    from cpuplan.solve import model

    problems: dict[Diagnostic, None] = {}
    for node_class in classes:
        problems.update(dict.fromkeys(errors(solver.check_statements(node_class, locate))))
    if problems:
        raise CpuplanError(problems)
    first, *others = classes
    for other in others:
        if other.topology.online != first.topology.online:
            raise CpuplanError([_unlike_cpus(first, other, locate)])
    topology, divisions = joint_topology(classes)
    rules = _rules(classes, divisions)
    problem = Problem(
        topology, problem_of(first).names, tuple(hardware_rule.rule for hardware_rule in rules)
    )
    with budget.limited() as limit:
        best = model.best(problem, goals.common_aims(classes, committed, divisions))
    if best is not None:
        unproven = goals.unproven(topology, best.layout, best.gaps, limit.seconds)
        return [solver.explain(node_class, best.layout, unproven) for node_class in classes]
    for node_class in classes:
        with suppress(UndecidedError):
            if not model.feasible(problem_of(node_class)):
                solver.solve(node_class, locate)  # raises for what is wrong with this class alone
    raise CpuplanError([_no_layout(classes, _conflict(classes, problem, rules), locate)])


def _conflict(
    classes: Sequence[NodeClass], problem: Problem, rules: Sequence[HardwareRule]
) -> "Conflict[HardwareRule]":
    """A smallest conflict of unlike machines, of two of them if these contradict each other.

    The cores of many unlike machines have so many threads in common that each question takes long.
    Each machine has a layout, so that no conflict has fewer than two statements.
    """
    from cpuplan.solve import conflict, model

    for pair in combinations(classes, 2) if len(classes) > 2 else ():
        names = {node_class.hardware for node_class in pair}
        some = [statement for statement in rules if not names.isdisjoint(statement.hardware)]
        part = Problem(joint_topology(pair)[0], problem.names, tuple(rule for rule, _ in some))
        if not model.feasible(part):
            fewest = conflict.smallest(some, _oracle(pair, part, some))
            return fewest if len(fewest.statements) <= 2 else fewest._replace(is_smallest=False)
    return conflict.smallest(rules, _oracle(classes, problem, rules))


def _oracle(
    classes: Sequence[NodeClass], problem: Problem, rules: Sequence[HardwareRule]
) -> "Oracle[HardwareRule]":
    """Answers which rules of unlike machines hold together; all of them do not."""
    from cpuplan.solve import feasibility, model
    from cpuplan.solve.conflict import Memory, Oracle

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
    return Oracle(memory.example, holds, feasibility.most_calls(problem))


def joint_topology(classes: Sequence[NodeClass]) -> tuple[Topology, tuple[Cores, ...]]:
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
    classes: Sequence[NodeClass], smallest: "Conflict[HardwareRule]", locate: Locate
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


def layouts(
    members: Sequence[NodeClass],
    starts: Sequence[Sequence[Start]],
    locate: Locate,
    kin: Sequence[NodeClass],
) -> list[NodePlan]:
    """The plans of `members`, which have one layout; each has locked ones that it starts from.

    `kin` are classes of the same intent. Raises CpuplanError where there is no layout, and CP240
    for one that was edited.
    """
    if len(members) > 1:
        return _common_layout(members, starts, locate)
    return [_layout(members[0], starts[0], locate, kin)]


def _common_layout(
    classes: Sequence[NodeClass], own_starts: Sequence[Sequence[Start]], locate: Locate
) -> list[NodePlan]:
    """The locked layout if it satisfies every rule of every class, else the best one near it.

    A new class in the pool starts from the layout of the others, and a renamed one from its own.
    """
    starts = in_order(own_starts)
    for start in starts:
        if not any(_breach(node_class, start.locked.pools) for node_class in classes):
            return _kept(classes, start.locked, locate)
    for node_class, candidates in zip(classes, own_starts, strict=True):
        _refuse_edited(node_class, candidates, locate)
    return solve_common(classes, locate, starts[0].locked.pools if starts else None)


def _layout(
    node_class: NodeClass, starts: Sequence[Start], locate: Locate, kin: Sequence[NodeClass]
) -> NodePlan:
    """The locked layout if it satisfies every rule, whatever its inputs were, else one near it."""
    for start in starts:
        if not _breach(node_class, start.locked.pools):
            return _kept([node_class], start.locked, locate)[0]
    _refuse_edited(node_class, starts, locate)
    return solver.solve(node_class, locate, starts[0].locked.pools if starts else None, kin)


def _kept(classes: Sequence[NodeClass], locked: Locked, locate: Locate) -> list[NodePlan]:
    """The locked layout; or a better one, if it was not proven best and may take longer now.

    Only who says how long asks for that: all others get the same answer every time.
    """
    limited, limit = locked.limited, budget.current()
    if limited and not limited.is_best and limit.is_asked and limit.seconds > limited.seconds:
        better = _better(classes, locked.pools, locate)
        if better:
            return better
        limited = limited._replace(seconds=limit.seconds)
    return [solver.explain(node_class, locked.pools, limited) for node_class in classes]


def _better(classes: Sequence[NodeClass], layout: Layout, locate: Locate) -> list[NodePlan]:
    """The best layout, if it is proven best, or nearer to a goal; else there is no reason to move.

    Of one that is common to several classes only the proof counts.
    """
    try:
        if len(classes) > 1:
            plans = solve_common(classes, locate)
        else:
            plans = [solver.solve(classes[0], locate)]
    except UndecidedError:
        return []
    first = plans[0]
    if first.limited is None or first.limited.is_best:
        return plans
    is_nearer = len(classes) == 1 and goals.is_nearer(classes[0], first.layout, layout)
    return plans if is_nearer else []


def _breach(node_class: NodeClass, layout: Layout) -> Violation | None:
    return next(violations(node_class, layout), None)


def _refuse_edited(node_class: NodeClass, starts: Sequence[Start], locate: Locate) -> None:
    """Raise CP240 if the inputs of a layout have not changed: then somebody edited the layout."""
    if len(starts) != 1:
        return  # none, or both sides of a merge
    locked, is_own = starts[0].locked, starts[0].is_own
    breach = _breach(node_class, locked.pools)
    if breach and (locked.overlaps or (is_own and locked.solved_from == digest(node_class))):
        raise CpuplanError([_edited(node_class, locked, breach, locate)])


def _edited(node_class: NodeClass, locked: Locked, breach: Violation, locate: Locate) -> Diagnostic:
    """CP240 at the list of the pool that breaks the rule, with the line of that rule."""
    places = [locked.places[name] for name in breach.names if name in locked.places]
    labels = []
    if breach.rule:
        origin = locate(breach.rule.reason.origin)
        labels = [Label(origin, breach.rule.reason.text)] if origin else []
    return diagnose(
        "CP240",
        places[0] if places else locked.position,
        labels=labels,
        name=node_class.name,
        cluster=node_class.cluster,
        problem=breach.text,
    )
