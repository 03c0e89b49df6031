"""Changes of an intent with which its pools would fit; each one is tried before it is proposed."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from cpuplan.plan import NodeClass
from cpuplan.solve import budget
from cpuplan.solve.remedies import combined
from cpuplan.solve.remedies.attempt import Attempt, Change, changed_problem, fits_changed
from cpuplan.solve.remedies.combined import larger, settling, texts_of, together
from cpuplan.solve.remedies.single import MOST_SHOWN, changes_of, leaves_over
from cpuplan.solve.rules.rule import Rule

#: More machines of an intent than these are not tried.
_MOST_KIN = 8
#: The seconds of work for changes of one statement each, and for changes of several together.
_EACH, _JOINT = 0.45, 0.3
#: The tests of changes together.
_TESTS = 24
__all__ = ["leaves_over", "sentences"]

_WITHOUT = "; tried without the conflicts that no single change resolves"


def sentences(
    node_class: NodeClass,
    conflicts: Sequence[Sequence[Rule]],
    tests: int,
    kin: Sequence[NodeClass] = (),
) -> list[str]:
    """For each conflict the changes of one statement that settle it, smallest first.

    Where no change of one statement does, it is one change of several.

    Each of several conflicts has one change: those that were tried together, with which there is a
    layout. Changes with which all `kin`, the classes of the intent, have layouts come before those
    that only keep the existing layouts.
    """
    left = [tests]
    unlike = {other.topology.fingerprint: other for other in kin if other is not node_class}
    machines = [*unlike.values()][:_MOST_KIN]
    fitting = [machine for machine in machines if fits_changed(machine, ())]
    for others in (machines, fitting) if len(fitting) < len(machines) else (machines,):
        attempt = Attempt(node_class, others, left)
        with budget.part(_EACH) as part:
            texts = _texts(attempt, conflicts)
            left[0] = -1 if part.is_over else left[0]
        if not texts:
            with budget.part(_JOINT):
                texts = _larger(Attempt(node_class, others, [_TESTS]), conflicts)
        if texts:
            return texts
    if len(conflicts) == 1:
        return [attempt.nothing]
    with budget.part(_JOINT):
        return _one_by_one(attempt, conflicts)


def _texts(attempt: Attempt, conflicts: Sequence[Sequence[Rule]]) -> list[str]:
    """For each conflict the changes that settle it, in words; none where such are not found."""
    if len(conflicts) > 1:
        return texts_of(_together(attempt, conflicts, []))
    changes = islice(changes_of(attempt, conflicts[0]), MOST_SHOWN)
    texts = dict.fromkeys(change.text for change in changes)
    return [", or ".join(texts)] if texts else []


def _larger(attempt: Attempt, conflicts: Sequence[Sequence[Rule]]) -> list[str]:
    """For each conflict changes of several statements, in words; none where such are not found."""
    changes = list(map(together, combined.joint_changes(attempt, conflicts)))
    if not changes and len(conflicts) == 1:
        changes = list(islice(larger(attempt, conflicts[0]), 1))
    return texts_of(changes)


def _together(
    attempt: Attempt, conflicts: Sequence[Sequence[Rule]], chosen: list[Change]
) -> list[Change]:
    """A change for each conflict, with which there is a layout; none where such are not found."""
    if len(chosen) == len(conflicts):
        return chosen
    here = attempt.after(None, _fields(conflicts[len(chosen) + 1 :]))
    for change in _next(here, conflicts[len(chosen)], chosen):
        changes = _together(attempt.after(change, ()), conflicts, [*chosen, change])
        if changes:
            return changes
    return []


def _next(here: Attempt, conflict: Sequence[Rule], chosen: Sequence[Change]) -> Iterator[Change]:
    """Changes that settle a conflict after the chosen ones; the last of these if it settles it."""
    if here.is_over:
        return
    if chosen and here.fits():
        yield chosen[-1]
    else:
        # The chosen ones may have taken out a statement of this conflict, too.
        stated = {rule.field for rule in changed_problem(here.node_class).rules}
        remaining = [rule for rule in conflict if rule.field in stated]
        yield from islice(settling(here, remaining), MOST_SHOWN)


def _one_by_one(attempt: Attempt, conflicts: Sequence[Sequence[Rule]]) -> list[str]:
    """One change for each conflict; conflicts without one are left out for the others."""
    chosen: list[Change | None] = []
    given_up: set[str] = set()
    for index, conflict in enumerate(conflicts):
        here = attempt.after(None, _fields(conflicts[index + 1 :]) | given_up)
        changes = _next(here, conflict, [change for change in chosen if change])
        change = next(changes, None)
        chosen.append(change)
        if change is None:
            given_up |= _fields([conflict])
        attempt = attempt.after(change, ())
    further = _WITHOUT if None in chosen else ""
    return [change.text + further if change else attempt.nothing for change in chosen]


def _fields(conflicts: Iterable[Sequence[Rule]]) -> set[str]:
    return {rule.field for conflict in conflicts for rule in conflict}
