"""Say why there is no layout: conflicts, figures of the machine, and remedies.

It is loaded where a class has none: nothing else needs all that searches.
"""

from collections.abc import Sequence

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.text import counted, first_of, joined
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.plan import NodeClass
from cpuplan.solve import budget, conflict, feasibility, goals, model, remedies, symmetry
from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.constraints import BEYOND
from cpuplan.solve.goals import Total
from cpuplan.solve.layout import NOBODY
from cpuplan.solve.pigeonhole import is_crowded
from cpuplan.solve.rules.rule import Problem, Rule, machine, named

#: More statements than these are not read, where not all of them may be needed.
_MOST = 50
#: Sets that a message names; the labels name all of them.
_MOST_SETS = 8
#: The seconds of work for the figures of a conflict.
_FIGURES = 0.2


def diagnostics(
    node_class: NodeClass, problem: Problem, locate: Locate, kin: Sequence[NodeClass] = ()
) -> list[Diagnostic]:
    """One diagnostic for each of the conflicts of a problem that have no statement in common.

    Their remedies are tried together, and on `kin`, the other classes of the intent. Where the
    limit ends before the statements are few enough to be read, it is said that there is no layout.
    """
    try:
        return _explained(node_class, problem, locate, kin)
    except UndecidedError:
        return [goals.unexplained(node_class, locate)]


def _explained(
    node_class: NodeClass, problem: Problem, locate: Locate, kin: Sequence[NodeClass]
) -> list[Diagnostic]:
    calls = feasibility.most_calls(problem)
    oracle = feasibility.oracle(problem, calls, unfit=problem.rules)
    conflicts = list(conflict.disjoint(problem.rules, oracle))
    vague = [conflicting.statements for conflicting in conflicts if not conflicting.is_irreducible]
    if not conflicts or any(_is_unread(problem, rules) for rules in vague):
        raise UndecidedError
    statements = [conflicting.statements for conflicting in conflicts]
    changes = remedies.sentences(node_class, statements, calls, kin)
    result = []
    for conflicting, change in zip(conflicts, changes, strict=True):
        rules = conflicting.statements
        others = {rule for other in statements if other is not rules for rule in other}
        kept = problem.having(rule for rule in problem.rules if rule not in others)
        # Many amounts, one of each of many caches, are not tested one by one where that takes long.
        by_amount = sum(len(rule.amounts) for rule in rules) <= calls
        can_narrow = by_amount and not remedies.leaves_over(rules)
        with budget.part(_FIGURES):
            narrowed = _narrowed(problem, rules) if can_narrow else rules
        diagnostic = _diagnostic(node_class, kept, narrowed, change, locate, figures=by_amount)
        result.append(diagnostic._replace(message=diagnostic.message + conflicting.doubt))
    return result


def _is_unread(problem: Problem, rules: Sequence[Rule]) -> bool:
    """Whether statements are too many to be read, and not just more than there are places for."""
    return len(rules) > _MOST and not is_crowded(problem.topology, rules)


def _narrowed(problem: Problem, rules: Sequence[Rule]) -> list[Rule]:
    """The rules of a conflict with only the amounts that it needs: of a NUMA node too small.

    Each rule is needed, so that only those with several amounts have one too many.
    """
    whole = [rule for rule in rules if len(rule.amounts) < 2]

    def feasible(parts: Sequence[Rule]) -> bool:
        try:
            kept = feasibility.without_idle(problem.having((*whole, *parts)))
            return model.feasible(kept)
        except UndecidedError:
            return True  # then the amount stays

    several = [part for rule in rules if rule not in whole for part in _parts(rule)]
    needed = conflict.minimal(several, feasible)
    return [_having(rule, needed) for rule in rules]


def _having(rule: Rule, parts: Sequence[Rule]) -> Rule:
    """The rule with the amounts of those parts that are its own; one without parts is as it was."""
    own = [part for part in parts if (part.name, part.field) == (rule.name, rule.field)]
    if not own:
        return rule
    amounts = [part.constraints[0] for part in own]
    return rule._replace(constraints=(*amounts, *own[0].constraints[1:]))


def _parts(rule: Rule) -> list[Rule]:
    """The rule once for each of its amounts, with the amount as its first constraint."""
    others = rule.beside_amounts
    return [rule._replace(constraints=(amount, *others)) for amount in rule.amounts]


def _diagnostic(
    node_class: NodeClass,
    problem: Problem,
    narrowed: Sequence[Rule],
    change: str,
    locate: Locate,
    *,
    figures: bool,
) -> Diagnostic:
    """At the first statement, with labels at the others and the machine.

    The texts of statements without a position are part of the message.
    """
    with budget.part(_FIGURES):
        left = _left(problem, narrowed) if figures else {}
    texts = [_figure(rule, left.get(rule)) for rule in narrowed]
    # A rule that nobody wrote is switched in `rules`.
    fields = ["rules" if rule.is_built_in else rule.field for rule in narrowed]
    places = [locate(node_class.place(field)) for field in fields]
    places.append(locate(node_class.hardware_place()))
    texts.append(_facts(problem.topology, narrowed))
    labels, unplaced = [], []
    for index, (place, text) in enumerate(zip(places, texts, strict=True)):
        if place is None:
            unplaced.append(text)
        elif index:
            labels.append(Label(place, text))
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
        named_sets = {rule.name for rule in narrowed}
        pools = [name for name in problem.names if name in named_sets]
        values |= {"pools": first_of(pools, _MOST_SETS), "do": "does" if len(pools) == 1 else "do"}
    return diagnose(code, places[0], label=texts[0], labels=labels, **values)


def _left_over(problem: Problem, conflict: Sequence[Rule]) -> CpuSet:
    """The CPUs in no pool, as few as possible.

    They are counted by the conflict alone where further statements contradict it.
    """
    for rules in (problem.rules, conflict):
        others = [rule for rule in rules if not remedies.leaves_over([rule])]
        best = model.best(problem.having(others), (Total(NOBODY, 1),))
        if best:
            break
    assert best is not None  # noqa: S101 - that rule was needed for the conflict
    if any(gap.aim for gap in best.gaps):  # perhaps there are fewer
        raise UndecidedError
    return problem.topology.online - union(best.layout.values())


def _left(problem: Problem, conflict: Sequence[Rule]) -> dict[Rule, int]:
    """What the other statements leave for statements on numbers, where it is the same everywhere.

    It is the same for statements that become each other when sets are exchanged.
    """
    left: dict[Rule, int] = {}
    if remedies.leaves_over(conflict) or len(conflict) == 1:
        return left
    for sort in symmetry.sorts([rule for rule in conflict if rule.amounts], conflict):
        others = problem.having(other for other in conflict if other != sort[0])
        others = feasibility.without_idle(others, sort[0].name)
        try:
            amounts = {model.most(others, amount) for amount in sort[0].amounts}
        except UndecidedError:
            break
        if len(amounts) == 1:
            left.update(dict.fromkeys(sort, min(amounts)))
    return left


def _figure(rule: Rule, left: int | None) -> str:
    """A statement in a conflict: `isolated takes 30 cores of NUMA node 1, and 26 are left`."""
    amounts = rule.amounts
    text = rule.reason.text
    if not amounts:
        return text
    is_room = rule.field.startswith("workloads")  # more than the machine has looks like a number
    is_written = amounts[0].least < BEYOND  # and is not a number that stands for it
    if is_written and not is_room and all(amount.least == amount.most for amount in amounts):
        scopes: dict[str, list[str]] = {}
        for amount in amounts:
            number = counted(amount.least, amount.unit[:-1])
            scopes.setdefault(number, []).append(amount.scope.name)
        parts = [f"{number} of {named(names)}" for number, names in scopes.items()]
        text = f"{rule.name} takes {joined(parts)}"
    if left is None or left >= amounts[0].least:
        return text
    return f"{text}, and {left or 'none'} {'is' if left == 1 else 'are'} left"


def _facts(topology: Topology, rules: Sequence[Rule]) -> str:
    """The sizes of the scopes of a conflict: `NUMA node 1 has 32 cores with 2 threads each`."""
    scopes = [amount.scope for rule in rules for amount in rule.amounts]
    parts = dict.fromkeys(scope for scope in scopes if scope.cpus != topology.online)
    alike: dict[str, list[str]] = {}
    for scope in parts or [machine(topology)]:
        alike.setdefault(_cores(topology, scope.cpus), []).append(scope.name)
    return joined([f"{named(names)} has {cores}" for cores, names in alike.items()])


def _cores(topology: Topology, cpus: CpuSet) -> str:
    cores = [siblings for siblings in topology.cores.values() if siblings <= cpus]
    widths = {len(siblings) for siblings in cores}
    if len(widths) == 1:
        return f"{counted(len(cores), 'core')} with {counted(widths.pop(), 'thread')} each"
    return f"{counted(len(cores), 'core')} and {len(cpus)} CPUs"
