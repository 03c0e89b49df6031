"""What is told of a plan, whatever the format: its parts, in order, and their numbers."""

from collections.abc import Callable, Hashable, Iterable
from enum import Enum
from typing import NamedTuple

from cpuplan.base.text import counted
from cpuplan.change.impact.comparison import Change, Comparison
from cpuplan.change.impact.impact import Impact
from cpuplan.change.impact.rollout import Rounds
from cpuplan.change.impact.settings import Cause, SettingChange
from cpuplan.components.published import nrt
from cpuplan.diagnostics import Diagnostic


class PlanReport(NamedTuple):
    """A comparison as one run of the command tells it.

    `against` is what people call the other side, `source` its commit or folder.
    `elsewhere` is the number of nodes that --cluster and --node leave out; `minutes` are those of
    a reboot, None where nobody said.
    """

    comparison: Comparison
    against: str
    source: str
    rounds: tuple[Rounds, ...] = ()
    minutes: int | None = None
    verbose: bool = False
    elsewhere: int = 0
    findings: tuple[Diagnostic, ...] = ()


def without_changes(report: PlanReport) -> str:
    """What to say of a plan that changes nothing which is read; empty for any other."""
    comparison = report.comparison
    if comparison.is_empty:
        return f"No changes: out/ would be the same as in {report.against}"
    if not comparison.is_silent:
        return ""
    if report.elsewhere:
        return f"No changes of these nodes, compared with {report.against}"
    files = counted(comparison.differing, "file")
    return f"No changes but in reasons and digests, against {report.against}: {files} of out/"


class Kind(Enum):
    """What becomes of nodes, beside the impact."""

    CHANGED = "changed"
    NEW = "new"
    GONE = "gone"
    UNCHANGED = "unchanged"


class Count(NamedTuple):
    """How many nodes have a fate: `reboot`, `new (reboot)`, `unchanged`."""

    fate: str
    nodes: int
    changes: tuple[Change, ...]


def kind(change: Change) -> Kind:
    """What becomes of the nodes of a change."""
    if change.pair.before is None:
        return Kind.NEW
    if change.pair.after is None:
        return Kind.GONE
    return Kind.UNCHANGED if change.is_same else Kind.CHANGED


def fate(change: Change) -> str:
    """What becomes of the nodes of a change, and what they bear."""
    of, impact = kind(change), change.impact
    if of is Kind.CHANGED:
        return impact.word if impact else "no impact"
    return f"{of.value} ({impact.word})" if impact else of.value


def _rank(change: Change) -> tuple[bool, int, int]:
    """The worst first, and what is told last: nodes without changes."""
    of = kind(change)
    return (of is Kind.UNCHANGED, -change.impact, list(Kind).index(of))


def counts(changes: Iterable[Change]) -> list[Count]:
    """The nodes by fate, the worst first."""
    groups: dict[str, list[Change]] = {}
    for change in sorted(changes, key=_rank):
        groups.setdefault(fate(change), []).append(change)
    return [
        Count(name, sum(len(change.pair.nodes) for change in members), tuple(members))
        for name, members in groups.items()
    ]


class Group(NamedTuple):
    """Classes that change in the same settings, files and steps for the same statements.

    The first one is told; `values_differ` where another one has other CPUs or amounts.
    """

    changes: tuple[Change, ...]
    values_differ: bool

    @property
    def first(self) -> Change:
        """The class whose values are told."""
        return self.changes[0]

    @property
    def nodes(self) -> int:
        """How many nodes all of them have."""
        return sum(len(change.pair.nodes) for change in self.changes)


def groups(changes: Iterable[Change], *, one_by_one: bool = False) -> list[Group]:
    """The changes that have something to tell, the worst first; equal ones together."""
    some = [change for change in changes if not change.is_same]
    found: dict[Hashable, list[Change]] = {}
    for change in sorted(some, key=_rank):
        is_alone = one_by_one or kind(change) is not Kind.CHANGED
        key = change.pair if is_alone else _form(change)
        found.setdefault(key, []).append(change)
    return [Group(tuple(members), _differ(members)) for members in found.values()]


def _form(change: Change) -> Hashable:
    """What changes, without values: CPUs and amounts follow the hardware."""
    return (
        fate(change),
        tuple((move.before, move.after) for move in change.moves),
        _origins(change.causes),
        tuple(_form_of(each) for each in change.settings if each.component != nrt.NAME),
        change.files,
        frozenset(step._replace(because="", origin="") for step in change.steps),
        change.pair.before == change.pair.after,
        tuple(room.workload for room in change.rooms),
    )


def _form_of(setting: SettingChange) -> Hashable:
    ends = bool(setting.before), bool(setting.after)
    return setting.component, setting.key, ends, _origins(setting.causes)


def _origins(causes: Iterable[Cause]) -> Hashable:
    return tuple((cause.origin, cause.place) for cause in causes)


def _differ(changes: Iterable[Change]) -> bool:
    """Whether the changes say other values."""
    return len({repr(change[1:]) for change in changes}) > 1


def minutes(rounds: Rounds, of_reboot: int | None) -> int | None:
    """How long the rounds take; None where nobody said, or where no node boots."""
    if of_reboot is None or rounds.impact < Impact.REBOOT:
        return None
    return rounds.number * of_reboot


def longest_rollout(report: PlanReport) -> int:
    """The minutes of the pool or intent that takes longest, wave after wave."""
    totals: dict[tuple[str, str], int] = {}
    for each in report.rounds:
        key = each.cluster, each.group
        totals[key] = totals.get(key, 0) + (minutes(each, report.minutes) or 0)
    return max(totals.values(), default=0)


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
