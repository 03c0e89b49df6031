"""Diagnostics as text for people: in the manner of rustc, each with its source lines.

Of many that are alike only the first are shown: the hundredth of a kind says nothing new.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from unicodedata import category, east_asian_width

from cpuplan.base.text import counted, listed, printable
from cpuplan.diagnostics import Diagnostic, Label
from cpuplan.diagnostics.source import Position
from cpuplan.render.diagnostics.report import Report, summarize
from cpuplan.render.text import paint

#: Terminal columns of a source line that are shown; of a longer line, a window around the marker.
LIMIT = 100
#: Columns before the marker that a window keeps.
CONTEXT = 30
#: Columns of the line numbers.
GUTTER = 4


class Mark(NamedTuple):
    """What to underline: columns `start` to `end` - 1 of a line, from 1, and words on it."""

    line: int
    start: int
    end: int
    text: str
    style: str  # of ansi.STYLES; "place" for all but the main place
    sign: str  # ^ for the main place, - for others


def draw(lines: Sequence[str], marks: Iterable[Mark], colour: bool) -> list[str]:
    """Each marked line with its markers, in ascending order, without marks beyond the end."""
    by_line: dict[int, list[Mark]] = {}
    for mark in sorted(marks, key=lambda mark: (mark.line, mark.start)):
        if 1 <= mark.line <= len(lines):
            by_line.setdefault(mark.line, []).append(mark)
    rows: list[str] = []
    last = 0
    for number, marks_here in by_line.items():
        if last and number == last + 2:
            rows += _marked_line(last + 1, lines[last], [], colour)
        elif last and number > last + 2:
            rows.append(paint("...".rjust(GUTTER), "place", colour))
        rows += _marked_line(number, lines[number - 1], marks_here, colour)
        last = number
    return rows


def _marked_line(number: int, line: str, marks: list[Mark], colour: bool) -> list[str]:
    cells = ["    " if char == "\t" else printable(char) for char in line.rstrip("\r\n")]
    widths = [_width(cell) for cell in cells]
    if sum(widths) <= LIMIT:
        markers = [_marker(mark, widths, 0, len(cells), colour) for mark in marks]
        return [_row(number, "".join(cells), colour), *markers]
    rows = []
    for mark in marks:  # markers of a long line may be far apart: each gets its own window
        first, last = _window(widths, min(mark.start - 1, len(cells)))
        rows.append(_row(number, _cut(cells, first, last), colour))
        rows.append(_marker(mark, widths, first, last, colour))
    return rows or [_row(number, _cut(cells, *_window(widths, 0)), colour)]


def _cut(cells: list[str], first: int, last: int) -> str:
    before, after = "…" if first else "", "…" if last < len(cells) else ""
    return before + "".join(cells[first:last]) + after


def _window(widths: list[int], start: int) -> tuple[int, int]:
    """The part of a long line that is shown: some of it before `start`, then as much as fits."""
    first, room = start, CONTEXT
    while first and widths[first - 1] <= room:
        first -= 1
        room -= widths[first]
    last, room = first, LIMIT - 2
    while last < len(widths) and widths[last] <= room:
        room -= widths[last]
        last += 1
    while last == len(widths) and first and widths[first - 1] <= room:
        first -= 1
        room -= widths[first]
    return first, last


def _marker(mark: Mark, widths: list[int], first: int, last: int, colour: bool) -> str:
    start = max(first, min(mark.start - 1, last))
    end = min(max(mark.end - 1, start), last)
    before = " " * (sum(widths[first:start]) + (1 if first else 0))
    sign = mark.sign * max(1, sum(widths[start:end]))
    text = f"{sign} {mark.text}".rstrip().replace("\n", " ")
    return f"{_gutter('', colour)} {before}{paint(text, mark.style, colour)}"


def _row(number: int, text: str, colour: bool) -> str:
    return f"{_gutter(str(number), colour)} {text}".rstrip()


def _gutter(number: str, colour: bool) -> str:
    return paint(f"{number:>{GUTTER}} |", "place", colour)


def _width(text: str) -> int:
    """Terminal columns: 2 for an East Asian wide character (UAX #11), 0 for a combining one."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if category(character) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


#: Of one code, findings that are all shown; of more, those in the first places.
MOST = 12
_FIRST = 3
#: At one place: those on classes of nodes differ in the class alone, others in what they say.
_AT_PLACE = 3
#: Files and classes that are named.
_NAMED = 3


class Shown(NamedTuple):
    """A finding, and further ones of its code at its place."""

    finding: Diagnostic
    more: tuple[Diagnostic, ...] = ()


class Left(NamedTuple):
    """Findings of one code that are not shown: at places where none is."""

    findings: tuple[Diagnostic, ...]


def selected(findings: Iterable[Diagnostic], *, every: bool) -> tuple[list[Shown], list[Left]]:
    """What is shown, in its order, and by code what is not; `every` shows all."""
    by_code: dict[str, list[Diagnostic]] = {}
    given = list(findings)
    if every:
        return [Shown(finding) for finding in given], []
    for finding in given:
        by_code.setdefault(finding.code, []).append(finding)
    chosen: dict[int, Shown] = {}
    left: list[Left] = []
    for _, alike in sorted(by_code.items()):
        groups = _by_place(alike)
        shown = groups if len(_heads(groups)) <= MOST else groups[:_FIRST]
        for group in shown:
            few = 1 if len(shown) < len(groups) else _few(group)
            chosen |= {id(finding): Shown(finding) for finding in group[: few - 1]}
            chosen[id(group[few - 1])] = Shown(group[few - 1], tuple(group[few:]))
        if rest := [finding for group in groups[len(shown) :] for finding in group]:
            left.append(Left(tuple(rest)))
    return [chosen[id(finding)] for finding in given if id(finding) in chosen], left


def _by_place(alike: Iterable[Diagnostic]) -> list[list[Diagnostic]]:
    """Groups of one place each; a finding without a line is a group of its own."""
    groups: dict[object, list[Diagnostic]] = {}
    for finding in alike:
        position = finding.position
        place: object = position[:3] if position and position.line else id(finding)
        groups.setdefault((place, finding.severity), []).append(finding)
    return list(groups.values())


def _heads(groups: Sequence[Sequence[Diagnostic]]) -> list[Diagnostic]:
    """What is shown of groups if all are."""
    return [finding for group in groups for finding in group[: _few(group)]]


def _few(group: Sequence[Diagnostic]) -> int:
    """How many of a place are shown."""
    if len(group) <= _AT_PLACE:
        return len(group)
    return 1 if all(finding.classes for finding in group) else _AT_PLACE


def more_here(more: Sequence[Diagnostic]) -> str:
    """`and 19 more here, on lab/a, lab/b, lab/c and 16 more; -v shows them`."""
    names = list(dict.fromkeys(name for finding in more for name in finding.classes))
    on = f", on {listed(names, _NAMED)}" if names else ""
    return f"and {len(more)} more here{on}; -v shows them"


def more_elsewhere(left: Left) -> str:
    """`and 90 more in 3 files: a.yaml (40), b.yaml (30), c.yaml (20); -v shows them`."""
    return f"and {len(left.findings)} more{''.join(_where(left.findings))}; -v shows them"


def _where(findings: Sequence[Diagnostic]) -> Iterator[str]:
    places = [finding.position for finding in findings if finding.position]
    files = Counter(place.path for place in places)
    if len(files) == 1:
        lines = sorted({place.line for place in places})
        yield f" in {places[0].path}"
        if lines[0] and len(lines) > 1:
            yield f", lines {lines[0]} to {lines[-1]}"
    elif files:
        named = [f"{path} ({number})" for path, number in files.most_common()]
        yield f" in {counted(len(files), 'file')}: {listed(named, _NAMED)}"


#: A label this many lines from a marked line of the same file shares its frame.
NEAR = 8
#: Further places of a finding that are drawn: nobody reads hundreds of them.
_MOST_PLACES = 20

ReadLines = Callable[[str], Sequence[str]]


def render(report: Report, *, colour: bool = False, read_lines: ReadLines = lambda _: ()) -> str:
    """Each diagnostic with its source lines, then a summary; empty without diagnostics.

    `read_lines` returns the lines of a file by the path of a Position; an OSError or UnicodeError
    only costs the lines.
    """
    if not report.diagnostics and not report.elsewhere:
        return ""
    writer = _Writer(report, colour, read_lines)
    shown, left = selected(report.listed, every=report.verbose)
    blocks = ["\n".join(writer.block(finding)) for finding in shown]
    for rest in left:
        known = rest._replace(findings=tuple(map(writer.shown, rest.findings)))
        blocks.append(f"{_code(rest.findings[0], colour)}: {printable(more_elsewhere(known))}")
    return "\n\n".join([*blocks, _end(report)]) + "\n"


def _code(diagnostic: Diagnostic, colour: bool) -> str:
    severity = diagnostic.severity.value
    return paint(f"{severity}[{diagnostic.code}]", severity, colour)


def _end(report: Report) -> str:
    words = [summarize(report.diagnostics)] if report.diagnostics else []
    if report.elsewhere:
        words.append(f"{report.elsewhere} more, excluded by --cluster or --node")
    return "; ".join(words)


class _Writer:
    """Writes findings; reads each file once, even one that cannot be read."""

    def __init__(self, report: Report, colour: bool, read_lines: ReadLines) -> None:
        self.report, self.colour, self.read_lines = report, colour, read_lines
        self.known: dict[str, Sequence[str]] = {}

    def lines_of(self, path: str) -> Sequence[str]:
        if path not in self.known:
            try:
                self.known[path] = self.read_lines(path)
            except (OSError, UnicodeError):
                self.known[path] = ()
        return self.known[path]

    def shown(self, diagnostic: Diagnostic) -> Diagnostic:
        """The same with the path as its reader sees it."""
        position = diagnostic.position
        shown = position and position._replace(path=self.report.shown(position.path))
        return diagnostic._replace(position=shown)

    def block(self, shown: Shown) -> Iterator[str]:
        diagnostic = shown.finding
        first, *rest = diagnostic.message.split("\n")
        yield _code(diagnostic, self.colour) + paint(f": {first}", "bold", self.colour)
        yield from (f"  {line}" for line in rest)
        yield from self.frames(diagnostic)
        if diagnostic.remedy:
            first, *rest = diagnostic.remedy.split("\n")
            yield f"  {self.word('help')}: {first}"
            yield from (f"        {line}" for line in rest)
        if diagnostic.waiver:
            why = f"until {diagnostic.waiver.expires}: {diagnostic.waiver.reason}"
            yield f"  {self.word('waived')} {why}"
        if shown.more:
            yield f"  {self.word('more')}: {more_here(shown.more)}"
        if self.report.verbose and diagnostic.field:
            yield f"  {self.word('field')}: {printable(diagnostic.field)}"
        from cpuplan.diagnostics.codes import CODES  # there is a finding

        was = CODES[diagnostic.code].was if diagnostic.code in CODES else ""
        before = f" (before: {was})" * bool(was)
        yield f"  {self.word('docs')}: cpuplan explain {diagnostic.code}{before}"

    def word(self, text: str) -> str:
        return paint(text, "note", self.colour)

    def frames(self, diagnostic: Diagnostic) -> Iterator[str]:
        """The main place with labels near it, then the others. A whole file is in the message."""
        position, far = diagnostic.position, list(diagnostic.labels)
        if position and position.line:
            near, far = _split_near(position, diagnostic.labels)
            main = _mark(position, diagnostic.label, diagnostic.severity.value, "^")
            yield from self.frame("-->", position, [main, *map(_label_mark, near)])
        most = len(far) if self.report.verbose else _MOST_PLACES
        for label in far[:most]:
            yield from self.frame(":::", label.position, [_label_mark(label)])
        if len(far) > most:
            yield f"  {paint('...', 'place', self.colour)} {_left_out(len(far) - most)}"

    def frame(self, arrow: str, position: Position, marks: list[Mark]) -> Iterator[str]:
        """The place and its source lines; the words on a line without source follow the place."""
        lines = self.lines_of(position.path)
        shown = position._replace(path=self.report.shown(position.path))
        place = f"  {paint(arrow, 'place', self.colour)} {printable(str(shown))}"
        lost = [mark for mark in marks if not 1 <= mark.line <= len(lines)]
        words = [_words(mark, position) for mark in lost if mark.text]
        yield ": ".join([place, *words])
        yield from draw(lines, marks, self.colour)


def _left_out(number: int) -> str:
    return f"and {counted(number, 'more place')}; -v shows them"


def _words(mark: Mark, position: Position) -> str:
    line = "" if mark.line == position.line else f"line {mark.line}: "
    return " ".join(f"{line}{mark.text}".split())


def _split_near(position: Position, labels: Iterable[Label]) -> tuple[list[Label], list[Label]]:
    """The labels that share the frame of `position`, and the others, each in their order."""
    near: list[Label] = []
    far: list[Label] = []
    for label in labels:
        place = label.position
        close = place.path == position.path and abs(place.line - position.line) <= NEAR
        (near if close else far).append(label)
    return near, far


def _mark(position: Position, text: str, style: str, sign: str) -> Mark:
    return Mark(position.line, position.column, position.end, text, style, sign)


def _label_mark(label: Label) -> Mark:
    return _mark(label.position, label.text, "place", "-")
