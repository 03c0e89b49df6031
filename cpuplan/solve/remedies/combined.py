"""Changes of several statements together, where no change of one settles a conflict.

Numbers are changed in as few statements as possible, and each as little.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from cpuplan.language.model.base import attributes
from cpuplan.language.model.pools import Pool
from cpuplan.plan import NodeClass
from cpuplan.solve import feasibility, model, validation
from cpuplan.solve.budget import UndecidedError
from cpuplan.solve.constraints import BEYOND
from cpuplan.solve.model import Loose, Number, Slope
from cpuplan.solve.pigeonhole import is_crowded
from cpuplan.solve.remedies.attempt import Attempt, Change, all_of, changed_problem, edited
from cpuplan.solve.remedies.numbers import changed, limits_of, with_number
from cpuplan.solve.remedies.single import changes_of, removal, settling_alone
from cpuplan.solve.rules.rule import Problem, Rule, Statements
from cpuplan.solve.rules.sizes import is_share

#: What a change counts of a statement of a conflict, and of another one.
_OWN, _OTHER = 1, 3
#: More changes for each conflict than these are no remedy: such an intent is written anew.
_MOST = 8
_SIZES = ("count", "cores", "wholeCaches", "min", "max")


class Item(NamedTuple):
    """A number of a rule: its field (path, key), and how the rule's amounts depend on it."""

    rule: Rule
    field: tuple[str, str]
    number: Number
    slopes: tuple[tuple[int, int], ...]  # by amount: of its least and its most


def joint_changes(attempt: Attempt, conflicts: Sequence[Sequence[Rule]]) -> list[list[Change]]:
    """For each conflict its changes; with all of them there is a layout.

    Of several conflicts, those that no number settles are settled first, each as if it were alone.
    None where these changes, or changes of numbers that are found soon, are not enough.
    """
    if attempt.is_over:
        return []
    made: list[tuple[str, Change]] = []
    here = attempt
    for conflict in conflicts if len(conflicts) > 1 else ():
        change = next(settling_alone(here, conflict, 1), None)
        if change and not change.field:
            made.append((conflict[0].field, change))
            here = here.after(change, attempt.left_out)
    own = {rule.field for conflict in conflicts for rule in conflict}
    numbers = _numbers(here, own)
    if numbers is None or not made + numbers:
        return []
    made += numbers
    edits = [change.edit for _, change in made]
    if len(made) > _MOST * len(conflicts) or not attempt.fits(
        Change("", lambda node: all_of(node, edits))
    ):
        return []
    return _by_conflict(conflicts, made)


def _numbers(attempt: Attempt, own: set[str]) -> list[tuple[str, Change]] | None:
    """The fewest changes of numbers, each with the field of its rule; None if none are found."""
    if validation.errors_of(attempt.node_class):
        return None
    node_class = _within_reach(attempt.node_class)
    problem = changed_problem(node_class)
    rules = [rule for rule in problem.rules if rule.field not in attempt.left_out]
    statements = Statements(node_class)
    sized = [rule for rule in rules if rule.amounts]
    items = [item for rule in sized for item in _items(statements, rule, own)]
    try:
        values = _values(problem.having(rules), items)
    except UndecidedError:
        values = None
    if values is None:
        return None
    return [
        (item.rule.field, changed(item.field, item.number.written, value))
        for item, value in zip(items, values, strict=True)
        if value != item.number.written
    ]


def _within_reach(node_class: NodeClass) -> NodeClass:
    """The class with one more than its machine has where a number is more than any machine has.

    From there on amounts change with their numbers (`constraints.bounded`).
    """
    changes: list[tuple[str, dict[str, int]]] = []
    for spec in Statements(node_class).sets.values():
        for key in _SIZES if spec.is_written else ():
            name = attributes(Pool)[key]
            written = getattr(spec.pool, name)
            if written is not None and written >= BEYOND:
                most = limits_of(node_class, spec, "count", written)[1]
                changes.append((spec.field, {name: most + 1}))
    for index, workload in enumerate(node_class.spec.workloads):
        if workload.pods >= BEYOND:
            pods = len(node_class.topology.online) + 1
            changes.append((f"workloads.{index}", {"pods": pods}))
    for field, update in changes:
        node_class = edited(node_class, field, **update)
    return node_class


def _by_conflict(
    conflicts: Sequence[Sequence[Rule]], made: Sequence[tuple[str, Change]]
) -> list[list[Change]]:
    """The changes of each conflict's own statements; others with the last conflict."""
    left = list(made)
    result: list[list[Change]] = []
    for conflict in conflicts:
        fields = {rule.field for rule in conflict}
        result.append([change for field, change in left if field in fields])
        left = [(field, change) for field, change in left if field not in fields]
    result[-1] += [change for _, change in left]
    return [own or [made[-1][1]] for own in result]


def _values(problem: Problem, items: Sequence[Item]) -> list[int] | None:
    """The values of the numbers; none are needed where there are no numbers."""
    by_rule: dict[str, list[tuple[int, Item]]] = {}
    for index, item in enumerate(items):
        by_rule.setdefault(item.rule.field, []).append((index, item))
    fixed, loose = [], []
    for rule in problem.rules:
        own = [pair for pair in by_rule.get(rule.field, ()) if pair[1].rule is rule]
        if not own:
            fixed.append(rule)
            continue
        fixed.append(rule._replace(constraints=tuple(rule.beside_amounts)))
        for at, amount in enumerate(rule.amounts):
            slopes = tuple(Slope(index, *item.slopes[at]) for index, item in own)
            loose.append(Loose(amount, slopes))
    if not items:
        return [] if feasibility.fits(problem) else None
    if is_crowded(problem.topology, _smallest(problem, items)):
        return None
    return model.nearest(problem.having(fixed), [item.number for item in items], loose)


def _smallest(problem: Problem, items: Sequence[Item]) -> list[Rule]:
    """The rules with each number as small as it could be."""
    fewer: dict[str, list[Item]] = {}
    for item in items:
        fewer.setdefault(item.rule.field, []).append(item)
    return [_with_least(rule, fewer.get(rule.field, [])) for rule in problem.rules]


def _with_least(rule: Rule, items: Sequence[Item]) -> Rule:
    own = [item for item in items if item.rule is rule]
    if not own:
        return rule
    amounts = []
    for at, amount in enumerate(rule.amounts):
        less = sum(item.slopes[at][0] * (item.number.written - item.number.least) for item in own)
        amounts.append(amount._replace(least=amount.least - less))
    return rule._replace(constraints=(*amounts, *rule.beside_amounts))


def _items(statements: Statements, rule: Rule, own: set[str]) -> Iterator[Item]:
    """The numbers of a rule that its amounts are proportional to; shares are not."""
    cost = _OWN if rule.field in own else _OTHER
    path, _, key = rule.field.rpartition(".")
    node_class, spec = statements.node_class, statements.sets.get(rule.name)
    if rule.field.partition(".")[0] == "workloads":
        for index, workload in enumerate(node_class.spec.workloads):
            if workload.pool == rule.name:
                field = f"workloads.{index}", "pods"
                number = Number(workload.pods, 1, workload.pods, cost)
                yield from _item(statements, rule, field, number)
    elif spec and spec.is_written and key in (*_SIZES, "rest") and not is_share(spec.pool):
        for name in dict.fromkeys((key, "min", "max")):
            written = None if name == "rest" else getattr(spec.pool, attributes(Pool)[name])
            if written:
                least, most = limits_of(node_class, spec, name, written)
                number = Number(written, least, most, cost)
                yield from _item(statements, rule, (path, name), number)


def _item(
    statements: Statements, rule: Rule, field: tuple[str, str], number: Number
) -> Iterator[Item]:
    other = list(islice(with_number(statements, rule, field, number.written + 1), 2))
    if len(other) != 1 or len(other[0].amounts) != len(rule.amounts):
        return
    has_most = field[1] not in ("min", "pods")
    slopes = tuple(
        (more.least - amount.least, (more.most - amount.most) * has_most)
        for amount, more in zip(rule.amounts, other[0].amounts, strict=True)
    )
    yield Item(rule, field, number, slopes)


#: Between changes that are all made.
SEPARATOR = ", and "
#: Who needs more changes than these writes the intent anew.
_MOST_CHANGES = 4
#: The changes of a conflict from which further ones are tried.
_WIDTH = 2
#: The tests that a search for the next conflict counts as.
_SEARCH = 8


def settling(attempt: Attempt, conflict: Sequence[Rule]) -> Iterator[Change]:
    """Changes of one statement of the conflict that settle it; without any, one of several."""
    is_settled = False
    for change in changes_of(attempt, conflict):
        is_settled = True
        yield change
    if not is_settled:
        numbers = map(together, joint_changes(attempt, [conflict]))
        yield from islice(chain(numbers, larger(attempt, conflict)), 1)


def larger(attempt: Attempt, conflict: Sequence[Rule]) -> Iterator[Change]:
    """A change that takes a set out of the intent, or one of several statements, step by step."""
    yield from _removals(attempt, conflict)
    changes = _chain(attempt, conflict, _MOST_CHANGES)
    if changes:
        yield together(_needed(attempt, changes))


def _removals(attempt: Attempt, conflict: Sequence[Rule]) -> Iterator[Change]:
    """The last partitions that others do not name, first those of a conflict, are taken out.

    Where that is not enough, numbers change too.
    """
    own = [rule.name for rule in reversed(conflict) if rule.amounts]
    names = dict.fromkeys((*own, *reversed(changed_problem(attempt.node_class).names)))
    removals: list[Change] = []
    here = attempt
    for name in names:
        if attempt.is_over:
            return
        change = removal(here.node_class, name)
        if change and not validation.errors_of(change.edit(here.node_class)):
            removals.append(change)
            here = here.after(change, attempt.left_out)
            if here.fits():
                yield together(_needed(attempt, removals))
            for changes in joint_changes(here, [conflict]):
                yield together(_needed(attempt, [*removals, *changes]))
            if len(removals) == _MOST_CHANGES:
                return


def _chain(attempt: Attempt, conflict: Sequence[Rule], most: int) -> list[Change]:
    """Changes, at most so many, after which there is a layout; none where such are not found."""
    for change in settling_alone(attempt, conflict, _WIDTH):
        after = attempt.after(change, attempt.left_out)
        if after.fits():
            return [change]
        following = _next_conflict(after) if most > 1 else []
        further = _chain(after, following, most - 1) if following else []
        if further:
            return [change, *further]
    return []


def _next_conflict(attempt: Attempt) -> list[Rule]:
    """Statements that contradict each other; none where a test is too much, or all hold."""
    attempt.tests[0] -= _SEARCH
    if attempt.tests[0] < 0 or validation.errors_of(attempt.node_class):
        return []
    problem = changed_problem(attempt.node_class)
    rules = [rule for rule in problem.rules if rule.field not in attempt.left_out]
    oracle = feasibility.oracle(problem, _SEARCH)
    return [] if oracle.feasible(rules) else oracle.minimal(rules)


def _needed(attempt: Attempt, changes: Sequence[Change]) -> list[Change]:
    """Those of some changes that are needed: a later one may say more of the same statement."""
    needed = list(changes)
    for change in changes[:-1]:
        others = [other for other in needed if other is not change]
        if attempt.fits(together(others)):
            needed = others
    return needed


def together(changes: Sequence[Change]) -> Change:
    """One change of several statements."""
    edits = [change.edit for change in changes]
    text = SEPARATOR.join(change.text for change in changes)
    return Change(text, partial(all_of, edits=edits), parts=tuple(changes))


def texts_of(changes: Sequence[Change]) -> list[str]:
    """Changes in words, where a later one may change a number again: all name its last value."""
    parts = [change.parts or (change,) for change in changes]
    last = {part.field: part.text for part in chain.from_iterable(parts) if part.field}
    texts = []
    for own in parts:
        latest = (last.get(part.field, part.text) for part in own)
        texts.append(SEPARATOR.join(dict.fromkeys(latest)))
    return texts
