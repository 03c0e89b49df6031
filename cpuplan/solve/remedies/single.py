"""Changes of one statement with which a conflict is settled."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from cpuplan.solve import alike
from cpuplan.solve.remedies.attempt import Attempt, problem_of
from cpuplan.solve.remedies.changes import REST, other_changes
from cpuplan.solve.remedies.edits import Change
from cpuplan.solve.remedies.numbers import numbers
from cpuplan.solve.rules.rule import Rule

#: More remedies than these are not read.
MOST_SHOWN = 3
#: A sort of statements and one of its ways to change, and the changes of one statement.
Alternatives: TypeAlias = tuple[tuple[int, int], Sequence[Change]]


def changes_of(attempt: Attempt, conflict: Sequence[Rule]) -> Iterator[Change]:
    """Changes of one statement of the conflict with which there is a layout, smallest first."""
    if attempt.is_over:
        return
    sorts = alike.sorts(conflict, problem_of(attempt.node_class).rules)
    named = {rule: index for index, sort in enumerate(sorts) for rule in _named(sort)}
    others: list[Alternatives] = []
    for rule in filter(named.__contains__, conflict):
        found = filter(None, other_changes(attempt.node_class, rule))
        others += [((named[rule], at), changes) for at, changes in enumerate(found)]
    rests = [other for other in others if leaves_over(conflict) and REST in other[1][0].text]
    yield from _fitting(attempt, rests)
    fitting = [change for sort in sorts for change in _numbers(attempt, sort)]
    fitting.sort(key=lambda change: (change[0], change[1].text))
    yield from (change for _, change in fitting)
    yield from _fitting(attempt, [other for other in others if other not in rests])


def settling_alone(attempt: Attempt, conflict: Sequence[Rule], most: int) -> Iterator[Change]:
    """Changes with which the statements of a conflict hold together, whatever others say."""
    fields = {rule.field for rule in conflict}
    others = {rule.field for rule in problem_of(attempt.node_class).rules} - fields
    alone = Attempt(attempt.node_class, (), attempt.tests)
    alone.left_out = frozenset(others)
    return islice(changes_of(alone, conflict), most)


def _named(sort: Sequence[Rule]) -> Sequence[Rule]:
    """The statements of a sort whose changes are named: where they are many, one stands for all."""
    return sort if len(sort) <= MOST_SHOWN else sort[:1]


def _numbers(attempt: Attempt, sort: Sequence[Rule]) -> Iterator[tuple[float, Change]]:
    """Other numbers of statements of one sort: all of them fit, or none do."""
    for rule in _named(sort):
        found = list(numbers(attempt, rule))
        if not found:
            return
        yield from found


def _fitting(attempt: Attempt, alternatives: Iterable[Alternatives]) -> Iterator[Change]:
    """The first change of each list with which there is a layout; of a sort, all have one."""
    without: set[tuple[int, int]] = set()
    for sort, changes in alternatives:
        change = next(filter(attempt.fits, changes), None) if sort not in without else None
        if change:
            yield change
        else:
            without.add(sort)


def leaves_over(rules: Sequence[Rule]) -> bool:
    """Whether the rule that every CPU needs a pool is part of the conflict."""
    return any(rule.reason.origin == "rule every-cpu" for rule in rules)
