"""What to say where there is no layout: for each conflict its statements, the machine's figures,
and a way out.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from cpuplan.cpuset import CpuSet, union
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.model.topology import Topology
from cpuplan.plan import NodeClass
from cpuplan.solve import conflict, model, remedies, trials
from cpuplan.solve.constraints import Amount
from cpuplan.solve.goals import Total
from cpuplan.solve.layout import NOBODY
from cpuplan.solve.rules.rule import Problem, Rule, machine, named
from cpuplan.source import Locate
from cpuplan.text import counted, joined


def diagnostics(
    node_class: NodeClass, problem: Problem, locate: Locate, kin: Sequence[NodeClass] = ()
) -> list[Diagnostic]:
    """One for each of the conflicts that have no statement in common; `problem` has no layout.

    Their remedies are tried together, and on `kin`, the other classes of the intent.
    """

    def feasible(rules: Iterable[Rule]) -> bool:
        return model.feasible(problem.having(rules))

    effort = trials.allowed(problem)
    conflicts = list(conflict.disjoint(problem.rules, trials.of_rules(problem, effort)))
    changes = remedies.sentences(node_class, [each.statements for each in conflicts], effort, kin)
    found = []
    for (rules, is_smallest), change in zip(conflicts, changes, strict=True):
        settled = [
            rule
            for other in conflicts
            if other.statements is not rules
            for rule in other.statements
        ]
        kept = problem.having(rule for rule in problem.rules if rule not in settled)
        # Many amounts, as of each of many caches, are not looked at one by one where tests take
        # long.
        by_amount = sum(len(_amounts(rule)) for rule in rules) <= effort
        narrowed = (
            _narrowed(rules, feasible) if by_amount and not remedies.leaves_over(rules) else rules
        )
        told = _diagnostic(node_class, kept, narrowed, change, locate, figures=by_amount)
        found.append(
            told if is_smallest else told._replace(message=told.message + conflict.IN_ITSELF)
        )
    return found


def _narrowed(rules: Sequence[Rule], feasible: Callable[[Sequence[Rule]], bool]) -> list[Rule]:
    """The rules of a conflict with only those amounts that are needed: of the one NUMA node that is
    too small.
    """
    needed = conflict.minimal([part for rule in rules for part in _parts(rule)], feasible)
    by_rule = groupby(needed, key=lambda part: (part.name, part.field))
    return [
        first._replace(
            constraints=(*(part.constraints[0] for part in (first, *parts)), *first.constraints[1:])
        )
        for _, (first, *parts) in by_rule
    ]


def _amounts(rule: Rule) -> list[Amount]:
    return [each for each in rule.constraints if isinstance(each, Amount)]


def _parts(rule: Rule) -> list[Rule]:
    """The rule for each of its amounts by itself, the amount being its first constraint."""
    others = [each for each in rule.constraints if not isinstance(each, Amount)]
    amounts = _amounts(rule)
    return [rule._replace(constraints=(amount, *others)) for amount in amounts] or [rule]


def _diagnostic(
    node_class: NodeClass,
    problem: Problem,
    narrowed: Sequence[Rule],
    change: str,
    locate: Locate,
    *,
    figures: bool,
) -> Diagnostic:
    """At the first statement; the others, and the machine, as labels. What has no position goes
    into the message.
    """
    texts = [_figure(problem, narrowed, rule, is_counted=figures) for rule in narrowed]
    # A rule that nobody wrote is switched in `rules`.
    fields = ["rules" if rule.is_built_in else rule.field for rule in narrowed]
    origins = [node_class.place(field) for field in fields]
    places = [(locate(origin), text) for origin, text in zip(origins, texts, strict=True)]
    position, label = places[0]
    hardware = locate(node_class.hardware_place())
    further = [*places[1:], (hardware, _facts(problem.topology, narrowed))]
    unplaced = [text for place, text in (places[0], *further) if place is None]
    values: dict[str, object] = {
        "name": node_class.name,
        "cluster": node_class.cluster,
        "nodes": counted(len(node_class.nodes), "node"),
        "facts": "".join(f"; {text}" for text in unplaced),
        "change": change,
    }
    code = "CP401"
    if remedies.leaves_over(narrowed):
        code = "CP402"
        left_over = _left_over(problem, narrowed)
        online = counted(len(problem.topology.online), "online CPU")
        values |= {"count": len(left_over), "cpu": left_over.first, "online": online}
    else:
        pools = [name for name in problem.names if any(rule.name == name for rule in narrowed)]
        values |= {"pools": joined(pools), "do": "does" if len(pools) == 1 else "do"}
    labels = [Label(place, text) for place, text in further if place]
    return diagnose(code, position, label=label, labels=labels, **values)


def _left_over(problem: Problem, conflict: Sequence[Rule]) -> CpuSet:
    """The CPUs that are in no pool: as few as can be; by the conflict alone where further
    statements contradict it.
    """
    for some in (problem.rules, conflict):
        rules = [rule for rule in some if not remedies.leaves_over([rule])]
        if layout := model.layout(problem.having(rules), (Total(NOBODY, 1),)):
            break
    assert layout is not None  # noqa: S101 - that rule was needed for the conflict
    return problem.topology.online - union(layout.values())


def _figure(problem: Problem, conflict: Sequence[Rule], rule: Rule, *, is_counted: bool) -> str:
    """A statement's part in a conflict: `isolated takes 30 cores of NUMA node 1, and 26 are
    left`.
    """
    amounts = _amounts(rule)
    if not amounts:
        return rule.reason.text
    exact = all(amount.least == amount.most for amount in amounts)
    text = rule.reason.text
    if exact:
        scopes = _together(
            (counted(amount.least, amount.unit[:-1]), amount.scope.name) for amount in amounts
        )
        text = f"{rule.name} takes " + joined(
            [f"{many} of {named(names)}" for many, names in scopes.items()]
        )
    if remedies.leaves_over(conflict) or len(conflict) == 1 or not is_counted:
        return text
    others = problem.having(other for other in conflict if other != rule)
    left = {model.most(others, amount) for amount in amounts}
    if len(left) > 1 or (least := left.pop()) >= amounts[0].least:
        return text
    return f"{text}, and {least or 'none'} {'is' if least == 1 else 'are'} left"


def _facts(topology: Topology, rules: Sequence[Rule]) -> str:
    """The size of each scope that the conflict is about: `NUMA node 1 has 32 cores with 2 threads
    each`.
    """
    amounts = [each for rule in rules for each in _amounts(rule)]
    parts = dict.fromkeys(
        amount.scope for amount in amounts if amount.scope.cpus != topology.online
    )
    scopes = list(parts) or [machine(topology)]
    alike = _together((_cores(topology, scope.cpus), scope.name) for scope in scopes)
    return joined([f"{named(names)} has {cores}" for cores, names in alike.items()])


def _cores(topology: Topology, cpus: CpuSet) -> str:
    cores = [siblings for siblings in topology.cores.values() if siblings <= cpus]
    widths = {len(siblings) for siblings in cores}
    threads = (
        f" with {counted(max(widths), 'thread')} each"
        if len(widths) == 1
        else f" and {len(cpus)} CPUs"
    )
    return counted(len(cores), "core") + threads


def _together(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The second ones by the first."""
    found: dict[str, list[str]] = {}
    for first, second in pairs:
        found.setdefault(first, []).append(second)
    return found
