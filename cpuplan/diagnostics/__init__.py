"""Findings on the input, as values; `render` makes sentences of them."""

from collections.abc import Iterable
from enum import Enum
from typing import Any, NamedTuple

from cpuplan.base.text import printable
from cpuplan.diagnostics.source import Position

#: Findings about what a check has not looked at: they come first, and have an exit code.
UNPROVEN = frozenset(("CP8130", "CP8131", "CP8132"))


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Reason(NamedTuple):
    """The reason for a value: a sentence, and its statement as `Kind/name:field.path`.

    The statement is named by field and not by line, so that a comment added above it changes no
    output; `read.documents.Documents.locate` finds its line. An `origin` without a colon names a
    built-in rule or default.
    """

    text: str
    origin: str = ""


class Label(NamedTuple):
    """A further place of a diagnostic, with a few words on its part in it."""

    position: Position
    text: str


class Waiver(NamedTuple):
    """The reason why a warning does not count, and the last day of that (YYYY-MM-DD)."""

    reason: str
    expires: str


class Diagnostic(NamedTuple):
    """One finding: a code of `codes.CODES`, its place, the problem and the remedy.

    `field` is its place as `Kind/name:path`, if known; one with a day `after` counts from the next
    day on. `classes` are the classes of nodes (`cluster/name`) that it was found on, if it is about
    some of them. A position in line 0 is the whole file. `stands_for` is the number of findings
    that this one represents.
    """

    code: str
    message: str
    remedy: str
    position: Position | None = None
    label: str = ""
    labels: tuple[Label, ...] = ()
    severity: Severity = Severity.ERROR
    stands_for: int = 1
    waiver: Waiver | None = None
    field: str = ""
    after: str = ""
    classes: tuple[str, ...] = ()


class CpuplanError(Exception):
    """A stage could not do its work; `diagnostics` has all that it found."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("; ".join(f"{cause.code}: {cause.message}" for cause in self.diagnostics))


def diagnose(
    code: str,
    position: Position | None = None,
    *,
    label: str = "",
    labels: Iterable[Label] = (),
    **values: Any,
) -> Diagnostic:
    """Make the diagnostic `code` with its wording from the table, filled with `values`.

    Who wrote a value can begin no line of a report.
    """
    from cpuplan.diagnostics.codes import CODES  # most runs find nothing

    entry = CODES[code]
    return Diagnostic(
        code=code,
        message=printable(entry.message.format(**values)),
        remedy=printable(entry.remedy.format(**values)),
        position=position,
        label=label,
        labels=tuple(labels),
        severity=Severity(entry.severity),
    )


#: More than any file has.
_MOST_LINES = 1 << 31


def is_possible(diagnostic: Diagnostic) -> bool:
    """Whether a finding that was read from a file can be one: each code has its severity."""
    from cpuplan.diagnostics.codes import CODES

    entry = CODES.get(diagnostic.code)
    if entry is None or Severity(entry.severity) is not diagnostic.severity:
        return False
    positions = [label.position for label in diagnostic.labels]
    positions += [diagnostic.position] if diagnostic.position else []
    return diagnostic.stands_for > 0 and all(map(_is_place, positions))


def _is_place(position: Position) -> bool:
    """Line -1 is a field that has no line yet."""
    numbers = (position.line + 1, position.column, position.end)
    return all(0 <= number < _MOST_LINES for number in numbers)


def errors(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Those that stop a command."""
    return [finding for finding in diagnostics if finding.severity is Severity.ERROR]


def counting(diagnostics: Iterable[Diagnostic], *, strict: bool = False) -> list[Diagnostic]:
    """Those that make a command fail: errors, and with `strict` warnings without a waiver."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    severe = (finding for finding in diagnostics if finding.severity in failing)
    return [finding for finding in severe if not finding.waiver]


def as_of(diagnostics: Iterable[Diagnostic], day: str) -> list[Diagnostic]:
    """Those of a day (YYYY-MM-DD), with the waivers that hold then."""
    return [_as_of(finding, day) for finding in diagnostics if finding.after < day]


def _as_of(diagnostic: Diagnostic, day: str) -> Diagnostic:
    if diagnostic.waiver and diagnostic.waiver.expires < day:
        return diagnostic._replace(waiver=None)
    return diagnostic


class Findings:
    """Findings on several classes of nodes: each once, with its classes."""

    def __init__(self) -> None:
        self._classes: dict[Diagnostic, dict[str, None]] = {}

    def add(self, diagnostics: Iterable[Diagnostic], classes: Iterable[str]) -> None:
        """Add findings on classes, by `cluster/name`."""
        names = dict.fromkeys(classes)
        for diagnostic in diagnostics:
            self._classes.setdefault(diagnostic, {}).update(names)

    def all(self) -> list[Diagnostic]:
        """All findings, in the order in which they were first added."""
        return [
            finding._replace(classes=tuple(classes)) for finding, classes in self._classes.items()
        ]
