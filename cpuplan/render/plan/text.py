"""The plan for people: classes that change alike together, then objects, rounds and numbers."""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.base.text import counted
from cpuplan.change.impact.changes import Cause, SettingChange
from cpuplan.change.impact.comparison import Change
from cpuplan.render.plan import report as words
from cpuplan.render.plan.report import (
    MARKS,
    Group,
    Kind,
    PlanReport,
    counts,
    duration,
    fate,
    groups,
    kind,
    longest_rollout,
    minutes,
    without_changes,
)
from cpuplan.render.text import paint

#: More settings of one cause, files or objects are counted only.
_MOST = 12
#: Groups of classes that are all told whole, and how many of more; of the others a line each.
_MOST_GROUPS, _FEW_GROUPS, _MOST_LINES = 6, 3, 20
_STYLES = {"+": "added", "-": "removed", "~": "note", ">": "note"}


def render(report: PlanReport, *, colour: bool = False) -> str:
    """The whole plan."""
    parts = [*_classes(report), *_objects(report), *_rounds(report), "".join(_summary(report))]
    text = "\n".join(part for part in parts if part)
    return "".join(map(_painted, text.splitlines(keepends=True))) if colour else text


def _painted(line: str) -> str:
    mark = line.strip()[:2].rstrip()
    if mark in _STYLES:
        return paint(line.rstrip("\n"), _STYLES[mark], colour=True) + "\n"
    is_title = line[:1] not in (" ", "\n")
    return paint(line.rstrip("\n"), "bold", colour=True) + "\n" if is_title else line


def _classes(report: PlanReport) -> Iterator[str]:
    """A part for all classes that change in the same way; of many such groups the first whole."""
    every = list(groups(report.comparison.changes, one_by_one=report.verbose))
    is_long = len(every) > _MOST_GROUPS and not report.verbose
    shown = every[:_FEW_GROUPS] if is_long else every
    yield from (_group(group, report) for group in shown)
    rest = every[len(shown) :]
    lines = [f"    {_heading(group)}\n" for group in rest[:_MOST_LINES]]
    if left := rest[_MOST_LINES:]:
        nodes = sum(group.nodes for group in left)
        lines.append(f"    and {counted(nodes, 'node')} in {len(left)} more groups of classes\n")
    if rest:
        yield "".join([f"{len(rest)} more groups of classes (-v shows each class)\n", *lines])


def _heading(group: Group) -> str:
    """`lab/du and 19 classes alike: 340 nodes: reboot`."""
    more = len(group.changes) - 1
    alike = f" and {counted(more, 'class')} alike" if more else ""
    number = counted(group.nodes, "node")
    return f"{words.title(group.first)}{alike}: {number}: {fate(group.first)}"


def _group(group: Group, report: PlanReport) -> str:
    of, first = fate(group.first), group.first
    body = "".join(_body(first, report))
    number = counted(group.nodes, "node")
    if len(group.changes) == 1:
        names = words.nodes(first.pair.nodes, verbose=report.verbose)
        return f"{words.title(first)}: {number}: {of}\n  nodes: {names}\n{body}"
    head = f"{counted(len(group.changes), 'class')} alike: {number}: {of}\n"
    return f"{head}{''.join(_members(group))}{body}"


def _members(group: Group) -> Iterator[str]:
    """The classes of a group; of many the first."""
    most = len(group.changes) if len(group.changes) <= _MOST + 1 else _MOST
    for change in group.changes[:most]:
        yield f"    {words.title(change)}: {words.nodes(change.pair.nodes)}\n"
    if most < len(group.changes):
        yield f"    and {counted(len(group.changes) - most, 'class')} more (-v shows each)\n"
    if group.values_differ:
        yield f"  CPUs and amounts are those of {words.title(group.first)}\n"


def _body(change: Change, report: PlanReport) -> Iterator[str]:
    """All that is told of a class but its name and its nodes."""
    if kind(change) in (Kind.NEW, Kind.GONE):
        yield from _coming_or_going(change, report)
    else:
        yield from _by_cause(change, report)
        yield from _listed("files of each node", _files(change), report)
        yield from _capacity(change)
    yield from _steps(change, report)


def _coming_or_going(change: Change, report: PlanReport) -> Iterator[str]:
    if kind(change) is Kind.GONE:
        yield f"  {words.went(change, report.comparison)}\n"
        return
    if came := words.came_from(change, report.comparison):
        yield f"  from cluster {came}\n"
    for pool in change.pools:
        yield f"    + {pool.name}: CPUs {pool.after}\n"


def _by_cause(change: Change, report: PlanReport) -> Iterator[str]:
    """Moves and settings below the statements that changed them."""
    groups: dict[tuple[Cause, ...], list[str]] = {}
    if change.moves:
        groups[change.causes] = [f"~ {words.move(move)}" for move in change.moves]
    settings, rest = words.shown(change, verbose=report.verbose)
    for setting in settings:
        groups.setdefault(setting.causes, []).append(_setting(setting, report))
    for causes, lines in groups.items():
        yield f"  {words.causes(causes)}\n"
        yield from _lines(lines, report)
    if rest:
        yield f"  and {rest} (-v lists them)\n"


def _setting(setting: SettingChange, report: PlanReport) -> str:
    name = f"{setting.component} {setting.key}"
    old, new = words.values(setting, verbose=report.verbose)
    if not setting.before:
        return f"+ {name}: {new}"
    if not setting.after:
        return f"- {name}: {old}"
    return f"~ {name}: {old} -> {new}"


def _lines(lines: Sequence[str], report: PlanReport) -> Iterator[str]:
    """Indented lines; of many the first."""
    most = len(lines) if report.verbose or len(lines) <= _MOST + 1 else _MOST
    for line in lines[:most]:
        yield f"    {line}\n"
    if most < len(lines):
        yield f"    and {len(lines) - most} more (-v lists them)\n"


def _listed(name: str, lines: Iterable[str], report: PlanReport) -> Iterator[str]:
    listed = list(lines)
    if listed:
        yield f"  {name}\n"
        yield from _lines(listed, report)


def _files(change: Change) -> Iterator[str]:
    for file in change.files:
        yield f"{MARKS[file.how]} {file.path}"


def _capacity(change: Change) -> Iterator[str]:
    rows = words.capacity(change.capacity) if change.capacity else []
    rows += [words.room(room) for room in change.rooms]
    if rows:
        yield "  capacity of each node\n"
        for what, old, new in rows:
            yield f"    {what}: {old} -> {new}\n"


def _steps(change: Change, report: PlanReport) -> Iterator[str]:
    lines = words.steps(change)
    if lines:
        yield "  on each node\n"
    for line in lines:
        step = line.step
        why = line.why(verbose=report.verbose)
        ends = [f"; {words.unsure(step)}"] if words.unsure(step) else []
        because = f", because {why}" if why else ""
        yield f"    {step.impact.word}: {step.does}{because} ({step.rule}{''.join(ends)})\n"


def _objects(report: PlanReport) -> Iterator[str]:
    """The objects of each cluster, then files for nobody's API."""
    for cluster, changes in report.comparison.objects.items():
        lines = []
        for change in changes:
            was = f" (was {change.was})" if change.was else ""
            fields = f": {', '.join(change.fields)}" if change.fields else ""
            lines.append(f"{MARKS[change.how]} {words.object_name(change)}{was}{fields}")
        yield f"objects of cluster {cluster}\n" + "".join(_lines(lines, report))
    others = report.comparison.others
    if others:
        lines = [f"{MARKS[file.how]} out/{file.path}" for file in others]
        head = "other files, for Argo CD, Flux and `cpuplan check`\n"
        shown = (
            _lines(lines, report) if report.verbose else [f"    {counted(len(lines), 'file')}\n"]
        )
        yield head + "".join(shown)


def _rounds(report: PlanReport) -> Iterator[str]:
    lines = []
    for rounds in report.rounds:
        group = f"pool {rounds.group}" if rounds.is_pool else f"intent {rounds.group}"
        group += f", wave {rounds.wave}" * bool(rounds.wave)
        time = minutes(rounds, report.minutes)
        how = f"{rounds.at_once} at a time: {counted(rounds.number, 'round')}"
        how += f" of up to {rounds.reboots} reboots each" * (rounds.reboots > 1)
        ends = f", {duration(time)}" if time is not None else ""
        nodes = counted(rounds.nodes, "node")
        told = f"{nodes} ({rounds.impact.word}), {how}{ends}"
        lines.append(f"  {rounds.cluster}, {group}: {told}\n")
    if lines:
        yield "rollout\n" + "".join(lines)


def _summary(report: PlanReport) -> Iterator[str]:
    comparison = report.comparison
    if nothing := without_changes(report):
        yield f"{nothing}.\n"
        return
    numbers = counts(comparison.changes)
    total = sum(count.nodes for count in numbers)
    clusters = len({change.pair.cluster for change in comparison.changes})
    fates = ", ".join(f"{count.nodes} {count.fate}" for count in numbers)
    where = f"{counted(clusters, 'cluster')}, {counted(total, 'node')}"
    yield f"Plan against {report.against}: {where}: {fates or 'nothing'}.\n"
    yield from _fleet(report)
    if longest := longest_rollout(report):
        yield f"The longest rollout of a cluster takes {duration(longest)}.\n"


def _fleet(report: PlanReport) -> Iterator[str]:
    fleet = report.comparison.fleet
    if fleet.before != fleet.after:
        unknown = f", without {counted(fleet.unknown, 'node')}" if fleet.unknown else ""
        difference = f"{fleet.after - fleet.before:+d}"
        numbers = f"{fleet.before} -> {fleet.after} ({difference}{unknown})"
        yield f"Exclusive CPUs of all nodes: {numbers}.\n"
