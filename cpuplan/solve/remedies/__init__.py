"""Changes of an intent that would make its pools fit; each one is tried before it is proposed."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from cpuplan.plan import NodeClass
from cpuplan.solve.remedies.attempt import Attempt, fits
from cpuplan.solve.remedies.changes import REST, other_changes
from cpuplan.solve.remedies.edits import Change
from cpuplan.solve.remedies.numbers import numbers
from cpuplan.solve.rules.rule import Rule

#: More ways out than these are not read.
_MOST_SHOWN = 3
#: More machines of an intent than these are not asked.
_MOST_KIN = 8
_WITHOUT = "; tried without the conflicts that one change does not settle"


def sentences(
    node_class: NodeClass,
    conflicts: Sequence[Sequence[Rule]],
    tests: int,
    kin: Sequence[NodeClass] = (),
) -> list[str]:
    """For each conflict the changes of one statement that settle it, smallest first.

    Of several conflicts each has one change: those that were tried together, after which there is a
    layout. Changes after which all `kin` have layouts too, the other classes of the intent, are
    taken before those that only keep the layouts that there are.
    """
    left = [tests]
    unlike = {each.topology.fingerprint(): each for each in kin}
    some = [*unlike.values()][:_MOST_KIN]
    fitting = [each for each in some if fits(each, ())]
    for others in (some, fitting) if len(fitting) < len(some) else (some,):
        attempt = Attempt(node_class, others, left)
        if len(conflicts) == 1:
            found = dict.fromkeys(
                change.text for change in islice(_changes(attempt, conflicts[0]), _MOST_SHOWN)
            )
            if found:
                return [", or ".join(found)]
        elif together := _together(attempt, conflicts, []):
            return [change.text for change in together]
    return [attempt.nothing] if len(conflicts) == 1 else _one_by_one(attempt, conflicts)


def _together(
    attempt: Attempt, conflicts: Sequence[Sequence[Rule]], chosen: list[Change]
) -> list[Change]:
    """A change for each conflict, after all of which there is a layout; none where such were not
    found.
    """
    if len(chosen) == len(conflicts):
        return chosen
    open_still = {rule.field for conflict in conflicts[len(chosen) + 1 :] for rule in conflict}
    here = attempt.after(None, open_still)
    for change in _next(here, conflicts[len(chosen)], chosen):
        if found := _together(attempt.after(change, ()), conflicts, [*chosen, change]):
            return found
    return []


def _next(here: Attempt, conflict: Sequence[Rule], chosen: Sequence[Change]) -> Iterator[Change]:
    """Changes that settle a conflict after the chosen ones; the latest of these if it does so
    already.
    """
    if chosen and here.fits():
        yield chosen[-1]
    else:
        yield from islice(_changes(here, conflict), _MOST_SHOWN)


def _one_by_one(attempt: Attempt, conflicts: Sequence[Sequence[Rule]]) -> list[str]:
    """The same where some conflicts are not settled by one change each: these are left out for the
    others.
    """
    chosen: list[Change | None] = []
    given_up: set[str] = set()
    for index, conflict in enumerate(conflicts):
        open_still = {rule.field for other in conflicts[index + 1 :] for rule in other}
        here = attempt.after(None, open_still | given_up)
        change = next(_next(here, conflict, [each for each in chosen if each]), None)
        chosen.append(change)
        if change is None:
            given_up |= {rule.field for rule in conflict}
        attempt = attempt.after(change, ())
    further = _WITHOUT if None in chosen else ""
    return [change.text + further if change else attempt.nothing for change in chosen]


def _changes(attempt: Attempt, conflict: Sequence[Rule]) -> Iterator[Change]:
    """Changes of one statement of the conflict, after which there is a layout, those first that
    change least.
    """
    others = [
        changes
        for rule in conflict
        for changes in other_changes(attempt.node_class, rule)
        if changes
    ]
    rests = [changes for changes in others if leaves_over(conflict) and REST in changes[0].text]
    yield from _fitting(attempt, rests)
    found = [each for rule in conflict for each in numbers(attempt, rule)]
    yield from (change for _, change in sorted(found, key=lambda each: (each[0], each[1].text)))
    yield from _fitting(attempt, [changes for changes in others if changes not in rests])


def _fitting(attempt: Attempt, alternatives: Iterable[Sequence[Change]]) -> Iterator[Change]:
    """The first change of each list after which there is a layout."""
    for changes in alternatives:
        if fitting := next(filter(attempt.fits, changes), None):
            yield fitting


def leaves_over(rules: Sequence[Rule]) -> bool:
    """Is it part of the conflict that every CPU needs a pool?"""
    return any(rule.reason.origin == "rule every-cpu" for rule in rules)
