"""What is told of a plan, whatever the format: its parts, in order, their numbers and words."""

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import Enum
from itertools import takewhile
from typing import Any, NamedTuple

from cpuplan.base.cpuset import cpus_text
from cpuplan.base.naming import fold_names
from cpuplan.base.text import counted, first_of, joined, printable
from cpuplan.change.impact.changes import Cause, How, Move, ObjectChange, SettingChange
from cpuplan.change.impact.comparison import Capacity, Change, Comparison, NumaNode, Room
from cpuplan.change.impact.rollout import Rounds
from cpuplan.components import nrt
from cpuplan.diagnostics import Diagnostic
from cpuplan.facts.settings.costs import Impact, Step


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
    return [Count(name, _nodes(members), tuple(members)) for name, members in groups.items()]


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
        return _nodes(self.changes)


def groups(changes: Iterable[Change], *, one_by_one: bool = False) -> list[Group]:
    """The changes that have something to tell, the worst first; equal ones together."""
    some = [change for change in changes if not change.is_same]
    by_form: dict[Hashable, list[Change]] = {}
    for change in sorted(some, key=_rank):
        is_alone = one_by_one or kind(change) is not Kind.CHANGED
        key = change.pair if is_alone else _form(change)
        by_form.setdefault(key, []).append(change)
    return [Group(tuple(members), _differ(members)) for members in by_form.values()]


def _form(change: Change) -> Hashable:
    """What changes, without values: CPUs and amounts follow the hardware."""
    return (
        fate(change),
        tuple((move.before, move.after) for move in change.moves),
        _origins(change.causes),
        tuple(_form_of(setting) for setting in change.settings if setting.component != nrt.NAME),
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
    """How long the rounds take at most; None where nobody said, or where no node boots."""
    if of_reboot is None or rounds.impact < Impact.REBOOT:
        return None
    return rounds.number * rounds.reboots * of_reboot


def longest_rollout(report: PlanReport) -> int:
    """The minutes of the pool or intent that takes longest, wave after wave."""
    totals: dict[tuple[str, str], int] = {}
    for rounds in report.rounds:
        key = rounds.cluster, rounds.group
        totals[key] = totals.get(key, 0) + (minutes(rounds, report.minutes) or 0)
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
    objects = {
        cluster: changed for cluster, changed in whole.objects.items() if cluster in clusters
    }
    rounds = tuple(rounds for rounds in report.rounds if rounds.cluster in clusters)
    number = _nodes(whole.changes) - _nodes(changes)
    comparison = whole._replace(changes=changes, objects=objects, others=())
    return report._replace(comparison=comparison, rounds=rounds, elsewhere=number)


def _left(change: Change, is_wanted: Callable[[str, str], bool]) -> Change:
    pair = change.pair
    names = tuple(name for name in pair.nodes if is_wanted(pair.cluster, name))
    return change._replace(pair=pair._replace(nodes=names))


def _nodes(changes: Iterable[Change]) -> int:
    return sum(len(change.pair.nodes) for change in changes)


#: More ranges of nodes, and more reasons of a step, are not named.
_MOST = 4
#: Longer values are shown around their first difference.
_WIDTH = 72
_BEFORE = 16
#: Longer reasons of a step end here.
_LONG = 120
_FOLLOW = {False: "follows", True: "follow"}
MARKS = {How.COMES: "+", How.CHANGES: "~", How.GOES: "-", How.RENAMED: ">"}


def nodes(names: Sequence[str], *, verbose: bool = False) -> str:
    """`worker-[0-2] and db`; of many ranges the first."""
    folded = fold_names(names)
    return joined(folded) if verbose else first_of(folded, _MOST)


def title(change: Change) -> str:
    """The class of now, else of before; of a renamed or left one both."""
    old, new = change.pair.before, change.pair.after
    name = "/".join(new or old or ())
    return f"{name} (was {'/'.join(old)})" if old and new and old != new else name


def shown(change: Change, *, verbose: bool = False) -> tuple[Sequence[SettingChange], str]:
    """The settings to tell, and a line on those that follow from them: what nodes publish."""
    own = [setting for setting in change.settings if setting.component != nrt.NAME]
    rest = len(change.settings) - len(own)
    if verbose or not own or not rest:
        return change.settings, ""
    return own, f"{counted(rest, 'value')} of the NodeResourceTopology that {_FOLLOW[rest > 1]}"


def value(items: tuple[Any, ...]) -> str:
    """The values of a key as one text."""
    return printable(", ".join(map(_plain, items)))


def _plain(item: Any) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, list) and all(isinstance(word, str) for word in item):
        return ",".join(item)
    return json.dumps(item)


def values(change: SettingChange, *, verbose: bool = False) -> tuple[str, str]:
    """Both values; of mappings the entries that differ, long texts around their difference."""
    if verbose:
        return value(change.before), value(change.after)
    old, new = map(value, _differing(change.before, change.after))
    is_long = max(len(old), len(new)) > _WIDTH
    start = max(0, _common(old, new) - _BEFORE) if is_long else 0
    return _cut(old, start), _cut(new, start)


def _common(text: str, other: str) -> int:
    """How many letters two texts begin with in common."""
    pairs = zip(text, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _differing(before: tuple[Any, ...], after: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
    """Both values; of two mappings the entries that differ."""
    if [len(before), len(after)] != [1, 1]:
        return before, after
    old, new = before[0], after[0]
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return before, after
    keys = {key for key in (*old, *new) if old.get(key) != new.get(key)}
    old_left = {key: entry for key, entry in old.items() if key in keys}
    new_left = {key: entry for key, entry in new.items() if key in keys}
    return (old_left,), (new_left,)


def _cut(text: str, start: int, width: int = _WIDTH) -> str:
    end = start + width
    return "..." * bool(start) + text[start:end] + "..." * (len(text) > end)


def cause(of: Cause) -> str:
    """`intents/a.yaml:12: shared takes 3 cores`; a statement that is gone by its name."""
    place = f"{of.place.path}:{of.place.line}" if of.place else of.origin
    return f"{place}: {of.text}" if of.text else place


def causes(of: Iterable[Cause]) -> str:
    """Several in one line."""
    return "; ".join(map(cause, of)) or "no statement of an intent"


def move(of: Move) -> str:
    """`CPUs 4,36: isolated -> shared`."""
    old, new = (joined(names) or "nothing" for names in (of.before, of.after))
    return f"{cpus_text(of.cpus)}: {old} -> {new}"


class StepLine(NamedTuple):
    """Steps that do the same by the same rule, with all their reasons."""

    step: Step
    because: tuple[str, ...]

    def why(self, *, verbose: bool = False) -> str:
        """The reasons; of many the first, and of long ones the beginning."""
        if verbose:
            return joined(self.because)
        return first_of([_cut(reason, 0, _LONG) for reason in self.because], _MOST)


def steps(change: Change) -> list[StepLine]:
    """The steps of a change in their order."""
    groups: dict[Step, list[str]] = {}
    for step in change.steps:
        groups.setdefault(step._replace(because="", origin=""), []).append(step.because)
    return [
        StepLine(step, tuple(dict.fromkeys(filter(None, because))))
        for step, because in groups.items()
    ]


def unsure(step: Step) -> str:
    """What to know of a rule that is not certain."""
    return "" if step.is_certain else "not known for sure, so the worse counts"


def object_name(change: ObjectChange) -> str:
    """`MachineConfig 50-du`, with the namespace of those that have one."""
    of = change.id
    return f"{of.kind} {of.namespace}/{of.name}" if of.namespace else f"{of.kind} {of.name}"


def capacity(sides: tuple[Capacity, Capacity]) -> list[tuple[str, str, str]]:
    """Rows of what a node gives: what, before, after; those alone that differ."""
    old, new = sides
    if old.unknown or new.unknown:
        return [("exclusive CPUs", _known(old), _known(new))]
    rows = [
        ("exclusive CPUs", str(old.exclusive), str(new.exclusive)),
        ("largest pod (CPUs)", str(old.largest), str(new.largest)),
    ]
    before = {node.number: node for node in old.numa_nodes}
    after = {node.number: node for node in new.numa_nodes}
    numbers = sorted(before.keys() | after.keys())
    if bool(before) != bool(after) and old.exclusive and new.exclusive:
        # One of two mechanisms does not tell them apart.
        was, now = ("by NUMA node" if numa else "as a whole" for numa in (before, after))
        rows.append(("exclusive CPUs are known", was, now))
        numbers = []
    for number in numbers if len(numbers) > 1 else ():
        none = NumaNode(number, 0, None)
        rows += _of_node(before.get(number, none), after.get(number, none))
    return [row for row in rows if row[1] != row[2]]


def _of_node(old: NumaNode, new: NumaNode) -> Iterable[tuple[str, str, str]]:
    yield f"exclusive CPUs of NUMA node {new.number}", str(old.cpus), str(new.cpus)
    if (old.largest, new.largest) not in ((old.cpus, new.cpus), (None, None)):
        was, now = ("any" if size is None else str(size) for size in (old.largest, new.largest))
        yield f"largest pod on NUMA node {new.number} (CPUs)", was, now


def _known(side: Capacity) -> str:
    return f"unknown: {side.unknown}" if side.unknown else str(side.exclusive)


def room(of: Room) -> tuple[str, str, str]:
    """How many pods of a workload fit: what, before, after."""
    was, now = ("unknown" if number is None else str(number) for number in of[2:])
    return f"pods of workload {of.workload} ({of.wanted} wanted)", was, now


def came_from(change: Change, of: Comparison) -> str:
    """The clusters that new nodes have left."""
    cluster, names = change.pair.cluster, change.pair.nodes
    olds = (of.moved.get((cluster, name)) for name in names)
    return joined(sorted({old[0] for old in olds if old}))


def went(change: Change, of: Comparison) -> str:
    """Where nodes that are gone are now."""
    cluster, names = change.pair.cluster, change.pair.nodes
    to = sorted({new[0] for new, old in of.moved.items() if old[0] == cluster and old[1] in names})
    if to:
        return f"Now in cluster {joined(to)}"
    return "In no class now: nothing is compiled for them any more"
