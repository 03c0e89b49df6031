"""Changes of several statements, where no change of one settles a conflict.

A change that settles the conflict by itself leaves others, which have some of its statements. These
are settled in turn.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice

from cpuplan.solve import faults, feasibility
from cpuplan.solve.remedies import joint
from cpuplan.solve.remedies.attempt import Attempt, problem_of
from cpuplan.solve.remedies.changes import removal
from cpuplan.solve.remedies.edits import Change, all_of
from cpuplan.solve.remedies.single import changes_of, settling_alone
from cpuplan.solve.rules.rule import Rule

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
        numbers = map(together, joint.changes(attempt, [conflict]))
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
    names = dict.fromkeys((*own, *reversed(problem_of(attempt.node_class).names)))
    found: list[Change] = []
    here = attempt
    for name in names:
        if attempt.is_over:
            return
        change = removal(here.node_class, name)
        if change and not faults.errors_of(change.edit(here.node_class)):
            found.append(change)
            here = here.after(change, attempt.left_out)
            if here.fits():
                yield together(_needed(attempt, found))
            for changes in joint.changes(here, [conflict]):
                yield together(_needed(attempt, [*found, *changes]))
            if len(found) == _MOST_CHANGES:
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
    if attempt.tests[0] < 0 or faults.errors_of(attempt.node_class):
        return []
    problem = problem_of(attempt.node_class)
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
    return [
        SEPARATOR.join(dict.fromkeys(last.get(part.field, part.text) for part in own))
        for own in parts
    ]
