"""Diagnostics as text for people, as JSON for programs and as SARIF for code hosts."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cpuplan import __version__
from cpuplan.codes import CODES
from cpuplan.diagnostics import Diagnostic, Label, Severity
from cpuplan.emit import to_json as data_to_json
from cpuplan.printable import printable
from cpuplan.render.ansi import paint
from cpuplan.render.frame import Mark, draw
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
    ordered = _ordered(diagnostics)
    lines_of = _LineReader(read_lines)
    blocks: list[str] = []
    by_code: dict[str, list[Diagnostic]] = {}
    for diagnostic in ordered:
        alike = by_code.setdefault(diagnostic.code, [])
        alike.append(diagnostic)
        if len(alike) <= SHOWN_PER_CODE:
            blocks.append("\n".join(_block(diagnostic, lines_of, colour)))
    for code, alike in sorted(by_code.items()):
        if len(alike) > SHOWN_PER_CODE:
            severity = alike[0].severity.value
            blocks.append(f"{paint(f'{severity}[{code}]', severity, colour)}: and {len(alike) - SHOWN_PER_CODE} more")
    return "\n\n".join([*blocks, summarize(ordered)]) + "\n" if ordered else ""


def to_json(diagnostics: Iterable[Diagnostic]) -> str:
    """The stable form for programs; keys are only ever added while `version` is 1.

    {"version": 1, "diagnostics": [{"code", "severity": "error" | "warning" | "note", "message", "remedy", "file",
    "line", "column", "endColumn", "label", "labels": [{"file", "line", "column", "endColumn", "message"}], "docs"}],
    "summary": {"errors", "warnings", "notes"}}. Lines and columns count from 1, in code points; `endColumn` is the
    column after the last one. Places that are not known are null.
    """
    return data_to_json(to_data(diagnostics), sort_keys=False)


def to_data(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """What `to_json` prints."""
    ordered = _ordered(diagnostics)
    return {
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


def to_sarif(diagnostics: Iterable[Diagnostic]) -> str:
    """SARIF 2.1.0 (OASIS), which GitHub, GitLab and Azure DevOps show beside the lines of a change.

    One run; paths become relative URIs, fingerprints hold when lines move.
    """
    ordered = _ordered(diagnostics)
    codes = sorted({d.code for d in ordered})
    prints = _fingerprints(ordered)
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {"name": "cpuplan", "version": __version__, "rules": [_rule(code) for code in codes]}
                },
                "columnKind": "unicodeCodePoints",
                "results": [
                    _result(d, codes.index(d.code), fingerprint) for d, fingerprint in zip(ordered, prints, strict=True)
                ],
            }
        ],
    }
    return data_to_json(log, sort_keys=False)


def summarize(diagnostics: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning`: the severities that occur, worst first."""
    counts = ((severity.value, _count(diagnostics, severity)) for severity in Severity)
    return ", ".join(f"{count} {name}{'s' if count > 1 else ''}" for name, count in counts if count)


def _ordered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by file, line, column and code, those without a place last; otherwise in the order given.

    Every format prints these: their texts are printable, and paths are as the file system has them.
    """
    return sorted(map(_shown, diagnostics), key=lambda d: (d.position is None, (d.position or ())[:3], d.code))


def _shown(d: Diagnostic) -> Diagnostic:
    message, remedy, label = (printable(text, "\n") for text in (d.message, d.remedy, d.label))
    labels = tuple(each._replace(text=printable(each.text, "\n")) for each in d.labels)
    return d._replace(message=message, remedy=remedy, label=label, labels=labels)


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
    first, *rest = diagnostic.message.split("\n")
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
        first, *rest = diagnostic.remedy.split("\n")
        rows += [f"  {paint('help', 'note', colour)}: {first}", *(f"        {line}" for line in rest)]
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
    return [": ".join([place, *(" ".join(text.split()) for text in words)]), *draw(lines, marks, colour)]


def _json_place(position: Position | None) -> dict[str, str | int | None]:
    if position is None:
        return {"file": None, "line": None, "column": None, "endColumn": None}
    path, end = printable(position.path), position.end or None
    return {"file": path, "line": position.line, "column": position.column, "endColumn": end}


def _count(diagnostics: Iterable[Diagnostic], severity: Severity) -> int:
    return sum(d.severity is severity for d in diagnostics)


def _rule(code: str) -> dict[str, Any]:
    entry = CODES[code]
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in entry.title.replace("-", " ").split()),
        "shortDescription": {"text": entry.title},
        "fullDescription": {"text": entry.about},
        "help": {"text": f"{entry.about}\n\nMore: cpuplan explain {code}"},
        "defaultConfiguration": {"level": entry.severity},
    }


def _result(diagnostic: Diagnostic, rule: int, fingerprint: str) -> dict[str, Any]:
    text = f"{diagnostic.message}\nhelp: {diagnostic.remedy}" if diagnostic.remedy else diagnostic.message
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": diagnostic.severity.value,
        "message": {"text": text},
    }
    if diagnostic.position:
        result["locations"] = [_location(diagnostic.position, diagnostic.label)]
    if diagnostic.labels:
        result["relatedLocations"] = [
            _related(number, label) for number, label in enumerate(diagnostic.labels, start=1)
        ]
    result["partialFingerprints"] = {"cpuplan/v1": fingerprint}
    return result


def _related(number: int, label: Label) -> dict[str, Any]:
    return {"id": number, **_location(label.position, label.text)}


def _location(position: Position, text: str) -> dict[str, Any]:
    region = {"startLine": position.line, "startColumn": position.column}
    if position.end > position.column:
        region["endColumn"] = position.end
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(position.path)}, "region": region}
    }
    return {**location, "message": {"text": text}} if text else location


def _uri(path: str) -> str:
    """A relative URI reference without dot segments (section 3.4.3); an absolute path becomes a file URI."""
    from posixpath import normpath
    from urllib.parse import quote

    quoted = quote(normpath(path), errors="surrogateescape")
    return f"file://{quoted}" if quoted.startswith("/") else quoted


def _fingerprints(diagnostics: list[Diagnostic]) -> list[str]:
    """From code, file and message, and a counter where these are equal: not from the line, which a comment moves."""
    import hashlib

    seen: dict[str, int] = {}
    found = []
    for d in diagnostics:
        text = "\0".join((d.code, d.position.path if d.position else "", d.message))
        digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:32]
        seen[digest] = seen.get(digest, 0) + 1
        found.append(digest if seen[digest] == 1 else f"{digest}:{seen[digest]}")
    return found
