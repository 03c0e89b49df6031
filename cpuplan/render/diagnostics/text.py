"""Diagnostics as text for people: in the manner of rustc, each with its source lines."""

from collections.abc import Callable, Iterable, Sequence

from cpuplan.diagnostics import Diagnostic, Label
from cpuplan.printable import printable
from cpuplan.render.ansi import paint
from cpuplan.render.diagnostics.frame import Mark, draw
from cpuplan.render.diagnostics.report import Report, summarize
from cpuplan.source import Position

#: Diagnostics of one code that are shown as text: the hundredth says nothing that the first did
#: not.
SHOWN_PER_CODE = 20
#: A label this many lines from a marked line of the same file shares its frame.
NEAR = 8

ReadLines = Callable[[str], Sequence[str]]


def render(report: Report, *, colour: bool = False, read_lines: ReadLines = lambda _: ()) -> str:
    """Each diagnostic with its source lines, then a summary; empty without diagnostics.

    `read_lines` gives the lines of a file by the path of a Position; its OSError or UnicodeError
    only costs the lines.
    """
    writer = _Writer(report, colour, read_lines)
    blocks: list[str] = []
    by_code: dict[str, list[Diagnostic]] = {}
    for diagnostic in report.listed:
        alike = by_code.setdefault(diagnostic.code, [])
        alike.append(diagnostic)
        if report.verbose or len(alike) <= SHOWN_PER_CODE:
            blocks.append("\n".join(writer.block(diagnostic)))
    for code, alike in sorted(by_code.items()):
        if not report.verbose and len(alike) > SHOWN_PER_CODE:
            head = paint(f"{alike[0].severity.value}[{code}]", alike[0].severity.value, colour)
            blocks.append(f"{head}: and {len(alike) - SHOWN_PER_CODE} more; -v shows them")
    return (
        "\n\n".join([*blocks, *_end(report)]) + "\n"
        if report.diagnostics or report.elsewhere
        else ""
    )


def _end(report: Report) -> list[str]:
    words = [summarize(report.diagnostics)] if report.diagnostics else []
    if report.elsewhere:
        words.append(f"{report.elsewhere} more, excluded by --cluster or --node")
    return ["; ".join(words)]


class _Writer:
    """Writes findings; reads each file once, and no file twice that cannot be read."""

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

    def block(self, diagnostic: Diagnostic) -> list[str]:
        severity, colour = diagnostic.severity.value, self.colour
        head = f"{severity}[{diagnostic.code}]"
        first, *rest = diagnostic.message.split("\n")
        rows = [
            f"{paint(head, severity, colour)}{paint(f': {first}', 'bold', colour)}",
            *(f"  {line}" for line in rest),
        ]
        far = list(diagnostic.labels)
        # What is said of a whole file has its path in the message.
        if diagnostic.position and diagnostic.position.line:
            near, far = _split_near(diagnostic.position, far)
            main = _mark(diagnostic.position, diagnostic.label, severity, "^")
            marks = [main, *(_mark(label.position, label.text, "place", "-") for label in near)]
            rows += self.frame("-->", diagnostic.position, marks)
        for label in far:
            rows += self.frame(
                ":::", label.position, [_mark(label.position, label.text, "place", "-")]
            )
        if diagnostic.remedy:
            first, *rest = diagnostic.remedy.split("\n")
            rows += [
                f"  {paint('help', 'note', colour)}: {first}",
                *(f"        {line}" for line in rest),
            ]
        if diagnostic.waiver:
            why = f"until {diagnostic.waiver.expires}: {diagnostic.waiver.reason}"
            rows.append(f"  {paint('waived', 'note', colour)} {why}")
        if self.report.verbose and diagnostic.field:
            rows.append(f"  {paint('field', 'note', colour)}: {printable(diagnostic.field)}")
        rows.append(f"  {paint('docs', 'note', colour)}: cpuplan explain {diagnostic.code}")
        return rows

    def frame(self, arrow: str, position: Position, marks: list[Mark]) -> list[str]:
        """The place and its source lines. Words on a line that cannot be read follow their
        place.
        """
        lines = self.lines_of(position.path)
        shown = position._replace(path=self.report.shown(position.path))
        place = f"  {paint(arrow, 'place', self.colour)} {printable(str(shown))}"
        lost = [mark for mark in marks if not 1 <= mark.line <= len(lines)]
        words = [_lost(mark, position) for mark in lost if mark.text]
        return [": ".join([place, *words]), *draw(lines, marks, self.colour)]


def _lost(mark: Mark, position: Position) -> str:
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
