"""Diagnostics as text for people, as JSON for programs and as SARIF for code hosts."""

from collections.abc import Callable, Iterable, Sequence

from cpuplan.diagnostics import Diagnostic, Label, Severity
from cpuplan.render.ansi import paint
from cpuplan.render.frame import Mark, draw, printable
from cpuplan.source import Position

#: Diagnostics of one code that are shown as text: the hundredth says nothing that the first did not.
SHOWN_PER_CODE = 20
#: A label this many lines from a marked line of the same file shares its frame.
NEAR = 8

ReadLines = Callable[[str], Sequence[str]]


def to_text(diagnostics: Iterable[Diagnostic], *, colour: bool, read_lines: ReadLines) -> str:
    """Each diagnostic with its source lines, then a summary; empty without diagnostics.

    `read_lines` gives the lines of a file by the path of a Position; its OSError or UnicodeError only costs the lines.
    """
    ordered = ordered_diagnostics(diagnostics)
    lines_of = _LineReader(read_lines)
    blocks: list[str] = []
    count: dict[str, int] = {}
    for diagnostic in ordered:
        count[diagnostic.code] = count.get(diagnostic.code, 0) + 1
        if count[diagnostic.code] <= SHOWN_PER_CODE:
            blocks.append("\n".join(_block(diagnostic, lines_of, colour)))
    for code, severity in sorted({(d.code, d.severity.value) for d in ordered}):
        if count[code] > SHOWN_PER_CODE:
            more = f"and {count.pop(code) - SHOWN_PER_CODE} more"
            blocks.append(f"{paint(f'{severity}[{code}]', severity, colour)}: {more}")
            count[code] = 0
    return "\n\n".join([*blocks, summarize(ordered)]) + "\n" if ordered else ""


def to_json(diagnostics: Iterable[Diagnostic]) -> str:
    """The stable form for programs; keys are only ever added while `version` is 1.

    {"version": 1, "diagnostics": [{"code", "severity": "error" | "warning" | "note", "message", "remedy", "file",
    "line", "column", "endColumn", "label", "labels": [{"file", "line", "column", "endColumn", "message"}], "docs"}],
    "summary": {"errors", "warnings", "notes"}}. Lines and columns count from 1, in code points; `endColumn` is the
    column after the last one. Places that are not known are null.
    """
    import json

    ordered = ordered_diagnostics(diagnostics)
    document = {
        "version": 1,
        "diagnostics": [
            {
                "code": d.code,
                "severity": d.severity.value,
                "message": d.message,
                "remedy": d.remedy,
                **_json_place(d.position),
                "label": d.label,
                "labels": [{**_json_place(label.position), "message": label.text} for label in d.labels],
                "docs": f"cpuplan explain {d.code}",
            }
            for d in ordered
        ],
        "summary": {f"{severity.value}s": _count(ordered, severity) for severity in Severity},
    }
    return json.dumps(document, indent=2) + "\n"


def summarize(diagnostics: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning`: the severities that occur, worst first."""
    counts = ((severity.value, _count(diagnostics, severity)) for severity in Severity)
    return ", ".join(f"{count} {name}{'s' if count > 1 else ''}" for name, count in counts if count)


def ordered_diagnostics(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by file, line, column and code, those without a place last; otherwise in the order given."""
    return sorted(diagnostics, key=lambda d: (d.position is None, (d.position or ())[:3], d.code))


class _LineReader:
    """Reads each file once, and no file twice that cannot be read."""

    def __init__(self, read_lines: ReadLines) -> None:
        self.read_lines = read_lines
        self.known: dict[str, Sequence[str]] = {}

    def __call__(self, path: str) -> Sequence[str]:
        if path not in self.known:
            try:
                self.known[path] = self.read_lines(path)
            except (OSError, UnicodeError):
                self.known[path] = ()
        return self.known[path]


def _block(diagnostic: Diagnostic, lines_of: ReadLines, colour: bool) -> list[str]:
    severity = diagnostic.severity.value
    head = f"{severity}[{diagnostic.code}]"
    first, *rest = printable(diagnostic.message).split("\n")
    rows = [f"{paint(head, severity, colour)}{paint(f': {first}', 'bold', colour)}", *(f"  {line}" for line in rest)]
    far = list(diagnostic.labels)
    if diagnostic.position:
        near, far = _split_near(diagnostic.position, far)
        main = _mark(diagnostic.position, diagnostic.label, severity, "^")
        marks = [main, *(_mark(label.position, label.text, "place", "-") for label in near)]
        rows += _frame("-->", diagnostic.position, marks, lines_of, colour)
    for label in far:
        rows += _frame(":::", label.position, [_mark(label.position, label.text, "place", "-")], lines_of, colour)
    if diagnostic.remedy:
        rows.append(f"  {paint('help', 'note', colour)}: {printable(diagnostic.remedy).replace(chr(10), chr(10) + '        ')}")
    rows.append(f"  {paint('docs', 'note', colour)}: cpuplan explain {diagnostic.code}")
    return rows


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


def _frame(arrow: str, position: Position, marks: list[Mark], lines_of: ReadLines, colour: bool) -> list[str]:
    """The place and its source lines. Words on a line that cannot be read follow their place."""
    lines = lines_of(position.path)
    place = f"  {paint(arrow, 'place', colour)} {printable(str(position))}"
    lost = [mark for mark in marks if not 1 <= mark.line <= len(lines)]
    words = [f"{'' if mark.line == position.line else f'line {mark.line}: '}{mark.text}" for mark in lost if mark.text]
    return [": ".join([place, *(printable(" ".join(text.split())) for text in words)]), *draw(lines, marks, colour)]


def _json_place(position: Position | None) -> dict[str, str | int | None]:
    if position is None:
        return {"file": None, "line": None, "column": None, "endColumn": None}
    return {"file": position.path, "line": position.line, "column": position.column, "endColumn": position.end or None}


def _count(diagnostics: Iterable[Diagnostic], severity: Severity) -> int:
    return sum(d.severity is severity for d in diagnostics)
