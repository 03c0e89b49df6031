"""What is told of a plan, whatever the format: its parts, in order, and their numbers."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from cpuplan.diagnostics import Diagnostic
from cpuplan.impact.comparison import Change, Comparison
from cpuplan.impact.impact import Impact
from cpuplan.impact.rollout import Rounds


class PlanReport(NamedTuple):
    """A comparison as one run of the command tells it.

    `elsewhere` is the number of nodes that --cluster and --node leave out; `minutes` are those of
    a reboot, None where nobody said.
    """

    comparison: Comparison
    against: str
    rounds: tuple[Rounds, ...] = ()
    minutes: int | None = None
    verbose: bool = False
    elsewhere: int = 0
    findings: tuple[Diagnostic, ...] = ()


class Count(NamedTuple):
    """How many nodes have a fate: the word of an impact, `new`, `gone`, or `unchanged`."""

    fate: str
    nodes: int
    changes: tuple[Change, ...]


#: In the order in which they are told.
NEW, GONE, UNCHANGED, NO_IMPACT = "new", "gone", "unchanged", "no impact"
_FATES = (*(impact.word for impact in sorted(Impact, reverse=True)[:-1]), NO_IMPACT)
FATES = (*_FATES, NEW, GONE, UNCHANGED)


def fate(change: Change) -> str:
    """What becomes of the nodes of a change, in a word."""
    if change.pair.before is None:
        return NEW
    if change.pair.after is None:
        return GONE
    if change.is_same:
        return UNCHANGED
    return change.impact.word if change.impact else NO_IMPACT


def counts(changes: Iterable[Change]) -> list[Count]:
    """The nodes by fate, the worst first."""
    groups: dict[str, list[Change]] = {}
    for change in changes:
        groups.setdefault(fate(change), []).append(change)
    return [
        Count(name, sum(len(change.pair.nodes) for change in groups[name]), tuple(groups[name]))
        for name in FATES
        if name in groups
    ]


def told(changes: Iterable[Change]) -> list[Change]:
    """The changes that have something to tell, the worst first."""
    some = [change for change in changes if not change.is_same]
    return sorted(some, key=lambda change: FATES.index(fate(change)))


def minutes(rounds: Rounds, of_reboot: int | None) -> int | None:
    """How long the rounds take; None where nobody said, or where no node boots."""
    if of_reboot is None or rounds.impact < Impact.REBOOT:
        return None
    return rounds.number * of_reboot


def duration(total: int) -> str:
    """`45 min`, `4 h`, `4 h 20 min`."""
    hours, rest = divmod(total, 60)
    parts = [f"{hours} h"] * bool(hours) + [f"{rest} min"] * bool(rest or not hours)
    return " ".join(parts)


def narrowed(report: PlanReport, is_wanted: Callable[[str, str], bool]) -> PlanReport:
    """The report about the wanted nodes (cluster, name), and the objects of their clusters."""
    whole = report.comparison
    left = [_left(change, is_wanted) for change in whole.changes]
    changes = tuple(change for change in left if change.pair.nodes)
    clusters = {change.pair.cluster for change in changes}
    objects = {cluster: each for cluster, each in whole.objects.items() if cluster in clusters}
    rounds = tuple(each for each in report.rounds if each.cluster in clusters)
    number = _nodes(whole.changes) - _nodes(changes)
    comparison = whole._replace(changes=changes, objects=objects, others=())
    return report._replace(comparison=comparison, rounds=rounds, elsewhere=number)


def _left(change: Change, is_wanted: Callable[[str, str], bool]) -> Change:
    pair = change.pair
    names = tuple(name for name in pair.nodes if is_wanted(pair.cluster, name))
    return change._replace(pair=pair._replace(nodes=names))


def _nodes(changes: Iterable[Change]) -> int:
    return sum(len(change.pair.nodes) for change in changes)
