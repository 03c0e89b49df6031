"""Changes of an intent that would make its pools fit; each one is tried before it is proposed."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.intent import POOL_SIZES
from cpuplan.plan import NodeClass
from cpuplan.solve import model
from cpuplan.solve.rules import Covered, Listed, Problem, Rule, WholeCores, pools_of, scopes_of, size
from cpuplan.solve.statements import joined

#: More ways out than these are not read.
_MOST_SHOWN = 3


class Change(NamedTuple):
    """A change in words; the rules that it does away with, and those that take their place."""

    text: str
    dropped: tuple[Rule, ...]
    added: tuple[Rule, ...] = ()


def sentence(node_class: NodeClass, problem: Problem, conflict: Sequence[Rule]) -> str:
    """The changes of one statement of the conflict with which all of the problem's rules hold, smallest first."""
    numbers = sorted(number for rule in conflict if (number := _nearest(node_class, problem, rule)))
    others = [changes for rule in conflict for changes in _other_changes(node_class, problem, rule)]
    tried = [next((change.text for change in changes if _fits(problem, change)), "") for changes in others]
    rest = [text for text in tried if text.endswith("rest") and leaves_over(conflict)]
    found = dict.fromkeys(text for text in (*rest, *(text for _, text in numbers), *tried) if text)
    return ", or ".join(list(found)[:_MOST_SHOWN]) or "change more than one of these statements"


def leaves_over(rules: Sequence[Rule]) -> bool:
    """Is it part of the conflict that every CPU needs a pool?"""
    return any(isinstance(constraint, Covered) for rule in rules for constraint in rule.constraints)


def _fits(problem: Problem, change: Change) -> bool:
    kept = [rule for rule in problem.rules if rule not in change.dropped]
    return model.feasible(problem.having((*kept, *change.added)))


def _nearest(node_class: NodeClass, problem: Problem, rule: Rule) -> tuple[float, str] | None:
    """The number nearest to a size's own with which everything fits, the larger of two: (share of change, sentence)."""
    pool = pools_of(node_class)[rule.pool] if rule.pool else None
    field = rule.field.rpartition(".")[2]
    if pool is None or field not in ("count", "cores", "percent"):
        return None
    written: int = getattr(pool, field)
    most = 100 if field == "percent" else min(len(scope.cpus) for scope in scopes_of(node_class.topology, pool))
    values = sorted({*range(1, most + 1)} - {written}, key=lambda value: (abs(value - written), -value))
    options = [size(node_class, rule.pool, pool.model_copy(update={field: value})) for value in values]
    kept = problem.having(other for other in problem.rules if other != rule)
    index = model.first_feasible(kept, options)
    if index is None:
        return None
    verb = "raise" if values[index] > written else "lower"
    return abs(values[index] - written) / max(written, 1), f"{verb} {rule.pool}.{field} to {values[index]}"


def _other_changes(node_class: NodeClass, problem: Problem, rule: Rule) -> Iterator[list[Change]]:
    """Lists of which the first change that fits is enough."""
    pools = pools_of(node_class)
    sized = rule.field.rpartition(".")[2] in POOL_SIZES
    if rule.pool == "isolated" and sized and not any(pool.rest for pool in pools.values()):
        yield [Change("write isolated: rest", (rule,))]
    for constraint in rule.constraints:
        if isinstance(constraint, WholeCores):
            yield list(_splits(node_class, problem, rule))
        elif isinstance(constraint, Listed):
            yield from _longer_list(problem, rule, constraint)


def _splits(node_class: NodeClass, problem: Problem, rule: Rule) -> Iterator[Change]:
    """Without the whole cores of the rule's pool; of the pool that takes the rest too; of all pools."""
    pools = pools_of(node_class)
    whole = [each for each in problem.rules if each.field.endswith(".wholeCores")]
    rest = [each for each in whole if pools[each.pool].rest and each != rule]
    # A rest that does not say wholeCores follows the others.
    silent = [each for each in rest if "whole_cores" not in pools[each.pool].model_fields_set]
    for dropped in ([rule, *silent], [rule, *rest], whole):
        names = [each.pool for each in whole if each in dropped and each not in silent]
        yield Change(f"write wholeCores: false under {joined(names)}", tuple(dropped))


def _longer_list(problem: Problem, rule: Rule, listed: Listed) -> Iterator[list[Change]]:
    """The list with the siblings of its CPUs, where no other list has them."""
    longer = problem.topology.whole_cores(listed.cpus)
    lists = [each for other in problem.rules for each in other.constraints if isinstance(each, Listed)]
    others = [each.cpus for each in lists if each.pool != listed.pool]
    if longer != listed.cpus and all(longer.isdisjoint(cpus) for cpus in others):
        added = rule._replace(constraints=(listed._replace(cpus=longer),))
        yield [Change(f"list whole cores in {rule.pool}.cpus: {longer}", (rule,), (added,))]
