"""Diagnostics as text for people: in the manner of rustc, each with its source lines."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from cpuplan.base.printable import printable
from cpuplan.base.text import counted
from cpuplan.diagnostics import Diagnostic, Label
from cpuplan.diagnostics.source import Position
from cpuplan.render.ansi import paint
from cpuplan.render.diagnostics.frame import Mark, draw
from cpuplan.render.diagnostics.report import Report, summarize
from cpuplan.render.diagnostics.selection import Shown, more_elsewhere, more_here, selected

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
    blocks = ["\n".join(writer.block(each)) for each in shown]
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
        yield f"  {self.word('docs')}: cpuplan explain {diagnostic.code}"

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
