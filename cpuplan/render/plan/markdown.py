"""The plan as a comment of a merge request: the answer first, then tables, details folded away."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from cpuplan.base.text import counted, listed, printable
from cpuplan.change.impact.changes import Cause
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
    minutes,
    without_changes,
)

#: Within a word an underscore is a letter (GFM, section 6.2).
_MARKS = re.compile(r"([\\`*\[\]<&#|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


#: Words that GitHub and GitLab make links of, or tell somebody about, after Markdown is read: so a
#: backslash changes nothing. They leave code alone.
_REFERENCE = re.compile(r"@|://|www\.|#[0-9]|![0-9]|\bGH-[0-9]|mailto:", re.IGNORECASE)
_WORD = re.compile(r"\S+")


def plain(text: str) -> str:
    """Text whose marks are letters, and that links to nothing, on one line."""
    shown, parts, at = printable(text), [], 0
    for word in _WORD.finditer(shown):
        if _REFERENCE.search(word[0]):
            parts += [_MARKS.sub(r"\\\1", shown[at : word.start()]), cell(word[0])]
            at = word.end()
    return "".join([*parts, _MARKS.sub(r"\\\1", shown[at:])])


def code(text: str) -> str:
    """A piece of code; its fence is longer than any in it (CommonMark, section 6.1)."""
    shown = printable(text)
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def cell(text: str) -> str:
    """A piece of code in a table, where pipes end cells even in code (GFM, section 4.10)."""
    return code(text).replace("|", "\\|") if text else ""


#: Comments have a limit (GitHub: 65,536 characters); what is folded away is cut before.
_MOST_LINES, _MOST_LETTERS = 60, 40_000
#: Of a cell, of the table of capacities, and of the warnings.
_MOST_NAMES, _MOST_ROWS, _MOST_WARNINGS = 6, 20, 3


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
    if nothing := without_changes(report):
        return f"## cpuplan: {nothing.partition(',')[0].partition(':')[0].lower()}"
    numbers = counts(comparison.changes)
    fates = [
        f"{count.nodes} {count.fate}" for count in numbers if count.fate != Kind.UNCHANGED.value
    ]
    total = counted(sum(count.nodes for count in numbers), "node")
    return f"## cpuplan: {total}: {', '.join(fates)}" if fates else "## cpuplan: no node changes"


def _fates(report: PlanReport) -> str:
    rows = [
        (count.fate, str(count.nodes), listed(list(map(_title_of, count.changes)), _MOST_NAMES))
        for count in counts(report.comparison.changes)
    ]
    table = _table(("Impact", "Nodes", "Classes"), rows, "l r l")
    return "" if report.comparison.is_silent else table


def _title_of(change: Change) -> str:
    return cell(words.title(change))


def _warnings(report: PlanReport) -> str:
    lines = []
    for finding in report.findings[:_MOST_WARNINGS]:
        at = finding.position
        place = f" ({code(f'{at.path}:{at.line}')})" if at else ""
        message, remedy = plain(finding.message), plain(finding.remedy)
        lines.append(f"> **{finding.code}** {message}{place}. *{remedy}*")
    more = len(report.findings) - _MOST_WARNINGS
    lines += [f"> and {more} more"] * (more > 0)
    return "\n>\n".join(["> ⚠ **Warnings**", *lines]) if lines else ""


def _rollout(report: PlanReport) -> str:
    rows = []
    for rounds in report.rounds:
        time = minutes(rounds, report.minutes)
        group = f"{'pool' if rounds.is_pool else 'intent'} {cell(rounds.group)}"
        group += f", wave {cell(rounds.wave)}" * bool(rounds.wave)
        twice = f", up to {rounds.reboots} times" * (rounds.reboots > 1)
        row = (cell(rounds.cluster), group, str(rounds.nodes), rounds.impact.word + twice)
        ends = str(rounds.at_once), str(rounds.number), "" if time is None else duration(time)
        rows.append((*row, *ends))
    head = ("Cluster", "Group", "Nodes", "Impact", "At once", "Rounds", "Time")
    return f"### Rollout\n\n{_table(head, rows, 'l l r l r r r')}" if rows else ""


def _capacity(report: PlanReport) -> str:
    rows = []
    for group in groups(report.comparison.changes, one_by_one=report.verbose):
        change, others = group.first, len(group.changes) - 1
        name = _title_of(change) + f" and {counted(others, 'class')} like it" * bool(others)
        own = words.capacity(change.capacity) if change.capacity else []
        own += [words.room(room) for room in change.rooms]
        rows += [(name, plain(what), cell(old), cell(new)) for what, old, new in own]
    if len(rows) > _MOST_ROWS:
        rows[_MOST_ROWS:] = [(f"and {len(rows) - _MOST_ROWS} rows more", "", "", "")]
    fleet = report.comparison.fleet
    if fleet.before != fleet.after:
        unknown = f", without {counted(fleet.unknown, 'node')}" if fleet.unknown else ""
        difference = f"{fleet.after} ({fleet.after - fleet.before:+d}{unknown})"
        rows.append(("**all nodes**", "exclusive CPUs", str(fleet.before), difference))
    head = ("Each node of", "", "Before", "After")
    return f"### Capacity\n\n{_table(head, rows, 'l l r r')}" if rows else ""


def _classes(report: PlanReport) -> Iterator[str]:
    """What changes, once for all classes that change alike."""
    every = groups(report.comparison.changes, one_by_one=report.verbose)
    room = _MOST_LETTERS
    if every:
        yield "### Changes of nodes"
    for index, group in enumerate(every):
        part = "\n\n".join(filter(None, _class(group, report)))
        room -= len(part)
        if room < 0 and not report.verbose:
            rest = every[index:]
            nodes = counted(sum(group.nodes for group in rest), "node")
            yield f"And {nodes} in {counted(len(rest), 'group')} of classes more."
            return
        yield part


def _class(group: Group, report: PlanReport) -> Iterator[str]:
    first = group.first
    many = len(group.changes) > 1
    name = f"{counted(len(group.changes), 'class')} alike" if many else _title_of(first)
    yield f"#### {name}: {counted(group.nodes, 'node')}, {fate(first)}"
    if many:
        lines = [
            f"{words.title(change)}: {words.nodes(change.pair.nodes)}" for change in group.changes
        ]
        yield _folded(counted(len(lines), "class"), lines, report)
        yield f"CPUs and amounts are those of {_title_of(first)}." if group.values_differ else ""
    else:
        yield f"Nodes: {code(words.nodes(first.pair.nodes, verbose=report.verbose))}"
    yield from _body(first, report)


def _body(change: Change, report: PlanReport) -> Iterator[str]:
    if kind(change) is Kind.NEW:
        rows = [(cell(pool.name), cell(str(pool.after))) for pool in change.pools]
        came = words.came_from(change, report.comparison)
        yield f"From cluster {plain(came)}." if came else ""
        yield _table(("Pool", "CPUs"), rows, "l l")
        yield _steps(change)
    elif kind(change) is Kind.GONE:
        yield plain(words.went(change, report.comparison)) + "."
        yield _steps(change)
    else:
        yield _steps(change)
        yield _moves(change)
        yield _settings(change, report)
        files = [f"{MARKS[file.how]} {file.path}" for file in change.files]
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
    moves = [f"- {plain(words.move(move))}" for move in change.moves]
    return "\n".join([f"{_because(change.causes)}:", *moves])


def _settings(change: Change, report: PlanReport) -> str:
    rows = []
    settings, rest = words.shown(change, verbose=report.verbose)
    by_cause = sorted(settings, key=lambda setting: words.causes(setting.causes))
    for causes, members in groupby(by_cause, key=lambda setting: setting.causes):
        why = _because(causes)
        for setting in members:
            old, new = words.values(setting, verbose=report.verbose)
            values = cell(old) if setting.before else "", cell(new) if setting.after else ""
            rows.append((f"{cell(f'{setting.component} {setting.key}')}", *values, why))
            why = "the same"
    table = _table(("Setting", "Before", "After", "Because"), rows[:_MOST_LINES], "l l l l")
    more = [f"and {len(rows) - _MOST_LINES} more"] * (len(rows) > _MOST_LINES)
    more += [f"and {rest}"] * bool(rest)
    return _details(counted(len(rows), "setting"), "\n\n".join([table, *more])) if rows else ""


def _because(causes: Iterable[Cause]) -> str:
    """`intents/a.yaml:12` and the words of the statement."""
    texts = []
    for cause in causes:
        place = f"{cause.place.path}:{cause.place.line}" if cause.place else cause.origin
        texts.append(f"{cell(place)}: {plain(cause.text)}")
    return "; ".join(texts) or "no statement of an intent"


def _objects(report: PlanReport) -> Iterator[str]:
    rows = []
    for cluster, changes in report.comparison.objects.items():
        for change in changes:
            was = f"was {cell(change.was)}" if change.was else ""
            fields = was or ", ".join(map(cell, change.fields))
            rows.append((cell(cluster), change.how.value, cell(words.object_name(change)), fields))
    if rows:
        head = ("Cluster", "", "Object", "Fields")
        body = _table(head, rows[:_MOST_LINES], "l l l l")
        more = len(rows) - _MOST_LINES
        ends = f"\n\nand {more} more" if more > 0 else ""
        yield _details(counted(len(rows), "object"), body + ends)
    others = [f"{MARKS[file.how]} out/{file.path}" for file in report.comparison.others]
    name = f"{counted(len(others), 'other file')}, for Argo CD, Flux and checks of nodes"
    yield _folded(name, others, report)


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
