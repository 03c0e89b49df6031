"""What to say where there is no layout: for each conflict its statements, the machine's figures, and a way out."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from cpuplan.cpuset import CpuSet
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.plan import NodeClass
from cpuplan.solve import conflict, model, remedies
from cpuplan.solve.goals import LEAST_LEFT_OVER
from cpuplan.solve.kinds import LEFT_OVER
from cpuplan.solve.rules import Amount, Covered, Problem, Rule, Scope, counted
from cpuplan.solve.statements import Locate, joined
from cpuplan.topology import Topology


def diagnostics(node_class: NodeClass, problem: Problem, locate: Locate) -> list[Diagnostic]:
    """One for each of the conflicts that have no statement in common; `problem` has no layout.

    A conflict's remedy is tried as if the other conflicts were settled.
    """

    def feasible(rules: Iterable[Rule]) -> bool:
        return model.feasible(problem.having(rules))

    conflicts = list(conflict.disjoint(problem.rules, feasible))
    found = []
    for rules in conflicts:
        others = {rule for other in conflicts if other is not rules for rule in other}
        settled = problem.having(rule for rule in problem.rules if rule not in others)
        narrowed = rules if remedies.leaves_over(rules) else _narrowed(rules, feasible)
        found.append(_diagnostic(node_class, settled, narrowed, rules, locate))
    return found


def _narrowed(rules: Sequence[Rule], feasible: Callable[[Sequence[Rule]], bool]) -> list[Rule]:
    """The rules of a conflict with only those constraints that are needed: of the one NUMA node that is too small."""
    parts = [rule._replace(constraints=(constraint,)) for rule in rules for constraint in rule.constraints]
    needed = conflict.minimal(parts, feasible)
    by_rule = groupby(needed, key=lambda part: (part.pool, part.field))
    return [
        first._replace(constraints=tuple(constraint for part in (first, *parts) for constraint in part.constraints))
        for _, (first, *parts) in by_rule
    ]


def _diagnostic(
    node_class: NodeClass, problem: Problem, narrowed: Sequence[Rule], rules: Sequence[Rule], locate: Locate
) -> Diagnostic:
    """At the first statement; the others, and the machine, as labels. What has no position goes into the message."""
    places = [(locate(node_class.reason("", rule.field).origin), _figure(rule)) for rule in narrowed]
    position, label = places[0]
    hardware = locate(f"Hardware/{node_class.hardware}:spec")
    further = [*places[1:], (hardware, _facts(problem.topology, narrowed))]
    unplaced = [text for place, text in (places[0], *further) if place is None]
    values: dict[str, object] = {
        "name": node_class.name,
        "cluster": node_class.cluster,
        "nodes": counted(len(node_class.nodes), "node"),
        "facts": "".join(f"; {text}" for text in unplaced),
        "change": remedies.sentence(node_class, problem, rules),
    }
    code = "CP401"
    if remedies.leaves_over(rules):
        code = "CP402"
        left_over = _left_over(problem)
        online = counted(len(problem.topology.online), "online CPU")
        values |= {"count": len(left_over), "cpu": left_over.first, "online": online}
    else:
        pools = [pool for pool in problem.pools if any(rule.pool == pool for rule in narrowed)]
        values |= {"pools": joined(pools), "do": "does" if len(pools) == 1 else "do"}
    labels = [Label(place, text) for place, text in further if place]
    return diagnose(code, position, label=label, labels=labels, **values)


def _left_over(problem: Problem) -> CpuSet:
    """The CPUs that are in no pool: as few as can be."""
    rules = [rule for rule in problem.rules if not any(isinstance(each, Covered) for each in rule.constraints)]
    layout = model.layout(problem.having(rules), LEAST_LEFT_OVER)
    assert layout is not None  # noqa: S101 - Covered was needed for the conflict, and the others are settled
    return layout[LEFT_OVER]


def _figure(rule: Rule) -> str:
    """A statement's part in a conflict: `reserved takes 2 cores of NUMA node 1`."""
    amounts = [constraint for constraint in rule.constraints if isinstance(constraint, Amount)]
    if not amounts or amounts[0].least != amounts[0].most:
        return rule.reason.text
    scopes = _together((counted(amount.least, amount.unit[:-1]), amount.scope.name) for amount in amounts)
    return f"{rule.pool} takes " + joined([f"{many} of {_named(names)}" for many, names in scopes.items()])


def _facts(topology: Topology, rules: Sequence[Rule]) -> str:
    """The size of each scope that the conflict is about: `NUMA node 1 has 32 cores with 2 threads each`."""
    amounts = [each for rule in rules for each in rule.constraints if isinstance(each, Amount)]
    parts = dict.fromkeys(amount.scope for amount in amounts if amount.scope.cpus != topology.online)
    scopes = list(parts) or [Scope("the machine", topology.online)]
    alike = _together((_cores(topology, scope.cpus), scope.name) for scope in scopes)
    return joined([f"{_named(names)} has {cores}" for cores, names in alike.items()])


def _cores(topology: Topology, cpus: CpuSet) -> str:
    cores = [siblings for siblings in topology.cores.values() if siblings <= cpus]
    widths = {len(siblings) for siblings in cores}
    threads = f" with {counted(max(widths), 'thread')} each" if len(widths) == 1 else f" and {len(cpus)} CPUs"
    return counted(len(cores), "core") + threads


def _together(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The second ones by the first."""
    found: dict[str, list[str]] = {}
    for first, second in pairs:
        found.setdefault(first, []).append(second)
    return found


def _named(names: Sequence[str]) -> str:
    """`NUMA node 1`, `each of NUMA nodes 0-3`."""
    numbers: dict[str, list[int]] = {}
    for name in names:
        word, _, number = name.rpartition(" ")
        if len(names) == 1 or not number.isdigit():
            return joined(names)
        numbers.setdefault(word, []).append(int(number))
    return joined([f"each of {word}s {CpuSet(found)}" for word, found in numbers.items()])
