"""The plan as a comment of a merge request: the answer first, then tables, details folded away."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from cpuplan.impact.comparison import Change
from cpuplan.impact.settings import Cause
from cpuplan.printable import printable
from cpuplan.render.plan import words
from cpuplan.render.plan.marks import cell, code, plain
from cpuplan.render.plan.report import (
    GONE,
    NEW,
    UNCHANGED,
    PlanReport,
    counts,
    duration,
    fate,
    minutes,
    told,
)
from cpuplan.render.plan.words import MARKS
from cpuplan.text import counted

#: Comments have a limit (GitHub: 65,536 characters); what is folded away is cut before.
_MOST_LINES = 60


def render(report: PlanReport) -> str:
    """The whole comment."""
    parts = [
        _title(report),
        _fates(report),
        _warnings(report),
        _rollout(report),
        _capacity(report),
        *_classes(report),
        *_objects(report),
        f"Compared with {code(report.against)} by `cpuplan plan`.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _title(report: PlanReport) -> str:
    comparison = report.comparison
    if comparison.is_empty:
        return "## cpuplan: no changes"
    numbers = counts(comparison.changes)
    fates = [f"{each.nodes} {each.fate}" for each in numbers if each.fate != UNCHANGED]
    total = words.counted_nodes(sum(each.nodes for each in numbers))
    return f"## cpuplan: {', '.join(fates)}, of {total}" if fates else "## cpuplan: no node changes"


def _fates(report: PlanReport) -> str:
    rows = [
        (count.fate, str(count.nodes), ", ".join(_title_of(each) for each in count.changes[:8]))
        for count in counts(report.comparison.changes)
    ]
    table = _table(("Impact", "Nodes", "Classes"), rows, "l r l")
    return "" if report.comparison.is_empty else table


def _title_of(change: Change) -> str:
    return cell(words.title(change))


def _warnings(report: PlanReport) -> str:
    lines = []
    for each in report.findings:
        place = f" ({code(f'{each.position.path}:{each.position.line}')})" if each.position else ""
        lines.append(f"> **{each.code}** {plain(each.message)}{place}. *{plain(each.remedy)}*")
    return "\n>\n".join(["> ⚠ **Warnings**", *lines]) if lines else ""


def _rollout(report: PlanReport) -> str:
    rows = []
    for each in report.rounds:
        time = minutes(each, report.minutes)
        group = f"{'pool' if each.is_pool else 'intent'} {cell(each.group)}"
        row = (cell(each.cluster), group, str(each.nodes), each.impact.word)
        ends = str(each.at_once), str(each.number), "" if time is None else duration(time)
        rows.append((*row, *ends))
    head = ("Cluster", "Group", "Nodes", "Impact", "At once", "Rounds", "Time")
    return f"### Rollout\n\n{_table(head, rows, 'l l r l r r r')}" if rows else ""


def _capacity(report: PlanReport) -> str:
    rows = []
    for change in report.comparison.changes:
        own = words.capacity(change.capacity) if change.capacity else []
        own += [words.room(each) for each in change.rooms]
        rows += [(_title_of(change), plain(what), cell(old), cell(new)) for what, old, new in own]
    fleet = report.comparison.fleet
    if fleet.before != fleet.after:
        difference = f"{fleet.after} ({fleet.after - fleet.before:+d})"
        rows.append(("**all nodes**", "exclusive CPUs", str(fleet.before), difference))
    head = ("Each node of", "", "Before", "After")
    return f"### Capacity\n\n{_table(head, rows, 'l l r r')}" if rows else ""


def _classes(report: PlanReport) -> Iterator[str]:
    """What changes, once for all classes that change alike."""
    groups: dict[tuple[str, str], list[Change]] = {}
    for change in told(report.comparison.changes):
        body = "\n\n".join(filter(None, _body(change, report)))
        groups.setdefault((fate(change), body), []).append(change)
    if groups:
        yield "### Changes of nodes"
    for (of, body), changes in groups.items():
        number = sum(len(change.pair.nodes) for change in changes)
        head = f"#### {', '.join(map(_title_of, changes))}: {words.counted_nodes(number)}, {of}"
        nodes = "; ".join(code(words.nodes(change.pair.nodes)) for change in changes)
        yield "\n\n".join([head, f"Nodes: {nodes}", body] if body else [head, f"Nodes: {nodes}"])


def _body(change: Change, report: PlanReport) -> Iterator[str]:
    if fate(change) == NEW:
        rows = [(cell(each.name), cell(str(each.after))) for each in change.pools]
        came = words.came_from(change, report.comparison)
        yield f"From cluster {plain(came)}." if came else ""
        yield _table(("Pool", "CPUs"), rows, "l l")
        yield _steps(change)
    elif fate(change) == GONE:
        yield words.went(change, report.comparison) + "."
        yield _steps(change)
    else:
        yield _steps(change)
        yield _moves(change)
        yield _settings(change, report)
        files = [f"{MARKS[each.how]} {each.path}" for each in change.files]
        yield _folded(f"{counted(len(files), 'file')} of each node", files, report)


def _steps(change: Change) -> str:
    lines = []
    for line in words.steps(change):
        ends = f"; {words.unsure(line.step)}" if words.unsure(line.step) else ""
        why = f" because {plain(line.why())}" if line.because else ""
        does = f"**{line.step.impact.word}**: {plain(line.step.does)}"
        lines.append(f"- {does}{why} ({code(line.step.rule)}{ends})")
    return "\n".join(lines)


def _moves(change: Change) -> str:
    if not change.moves:
        return ""
    moves = [f"- {plain(words.move(each))}" for each in change.moves]
    return "\n".join([f"{_because(change.causes)}:", *moves])


def _settings(change: Change, report: PlanReport) -> str:
    rows = []
    settings, rest = words.shown(change, verbose=report.verbose)
    by_cause = sorted(settings, key=lambda each: words.causes(each.causes))
    for causes, members in groupby(by_cause, key=lambda each: each.causes):
        why = _because(causes)
        for each in members:
            old, new = words.values(each, verbose=report.verbose)
            values = cell(old) if each.before else "", cell(new) if each.after else ""
            rows.append((f"{cell(f'{each.component} {each.key}')}", *values, why))
            why = "the same"
    table = _table(("Setting", "Before", "After", "Because"), rows[:_MOST_LINES], "l l l l")
    more = [f"and {len(rows) - _MOST_LINES} more"] * (len(rows) > _MOST_LINES)
    more += [f"and {rest}"] * bool(rest)
    return _details(counted(len(rows), "setting"), "\n\n".join([table, *more])) if rows else ""


def _because(causes: Iterable[Cause]) -> str:
    """`intents/a.yaml:12` and the words of the statement."""
    texts = []
    for each in causes:
        place = f"{each.place.path}:{each.place.line}" if each.place else each.origin
        texts.append(f"{cell(place)}: {plain(each.text)}")
    return "; ".join(texts) or "no statement of an intent"


def _objects(report: PlanReport) -> Iterator[str]:
    rows = []
    for cluster, changes in report.comparison.objects.items():
        for each in changes:
            was = f"was {cell(each.was)}" if each.was else ""
            fields = was or ", ".join(map(cell, each.fields))
            rows.append((cell(cluster), each.how.value, cell(words.object_name(each)), fields))
    if rows:
        head = ("Cluster", "", "Object", "Fields")
        body = _table(head, rows[:_MOST_LINES], "l l l l")
        more = len(rows) - _MOST_LINES
        ends = f"\n\nand {more} more" if more > 0 else ""
        yield _details(counted(len(rows), "object"), body + ends)
    others = [f"{MARKS[each.how]} out/{each.path}" for each in report.comparison.others]
    yield _folded(f"{counted(len(others), 'file')} that no node and no API gets", others, report)


def _folded(name: str, lines: Sequence[str], report: PlanReport) -> str:
    if not lines:
        return ""
    most = len(lines) if report.verbose else _MOST_LINES
    more = [f"and {len(lines) - most} more"] * (len(lines) > most)
    text = "\n".join(printable(line) for line in (*lines[:most], *more))
    fence = "`" * 3
    while fence in text:
        fence += "`"
    return _details(name, f"{fence}diff\n{text}\n{fence}")


def _details(name: str, body: str) -> str:
    """Blank lines around Markdown in HTML, or it is shown as it is written."""
    return f"<details><summary>{name}</summary>\n\n{body}\n\n</details>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> str:
    if not rows:
        return ""
    rule = ["---:" if side == "r" else "---" for side in sides.split()]
    lines = (head, rule, *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
