"""What becomes of nodes, in words and in order."""

from cpuplan.change.impact.changes import FileChange, How
from cpuplan.change.impact.comparison import Change
from cpuplan.change.impact.snapshot import Pair
from cpuplan.facts.settings.costs import Impact, Step
from cpuplan.render.plan.report import counts, duration, fate, groups

A, B = ("lab", "a"), ("lab", "b")


def change(before: tuple[str, str] | None, after: tuple[str, str] | None, impact: int) -> Change:
    steps = (Step(Impact(impact), "it", "x", "rule"),) if impact else ()
    return Change(Pair(before, after, "lab", ("n0", "n1")), steps)


def test_nodes_that_come_and_go_say_what_they_bear() -> None:
    given = [
        change(A, A, 0),
        change(None, A, 0),
        change(A, None, 4),
        change(A, A, 4),
        change(None, A, 4),
        change(A, B, 0),
    ]
    assert [(count.fate, count.nodes) for count in counts(given)] == [
        ("reboot", 2),
        ("new (reboot)", 2),
        ("gone (reboot)", 2),
        ("no impact", 2),
        ("new", 2),
        ("unchanged", 2),
    ]
    assert fate(change(A, A, 1)) == "live"


def test_classes_that_change_alike_are_one_group() -> None:
    first, second = change(A, A, 4), change(B, B, 4)
    (group,) = groups([first, second, change(A, A, 0)])
    assert (group.nodes, group.values_differ) == (4, False)
    assert len(groups([first, second], one_by_one=True)) == 2
    more = second._replace(files=(FileChange("/a", How.CHANGES),))
    assert len(groups([first, more])) == 2


def test_durations() -> None:
    assert [duration(minutes) for minutes in (0, 45, 60, 80)] == [
        "0 min",
        "45 min",
        "1 h",
        "1 h 20 min",
    ]
