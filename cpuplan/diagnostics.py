"""What cpuplan says to people and programs about their input: values first, the sentence is made by
`render`.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Any, NamedTuple

from cpuplan.source import Position


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Reason(NamedTuple):
    """Why a value is what it is: a sentence, and the statement it comes from as
    `Kind/name:field.path`.

    The statement is named by field and not by line, so that a comment added above it changes no
    output; `load.Documents.locate` finds its line. An `origin` without a colon names a built-in
    rule or default.
    """

    text: str
    origin: str = ""


class Label(NamedTuple):
    """A further place that belongs to a diagnostic, with a few words on its part in it."""

    position: Position
    text: str


class Waiver(NamedTuple):
    """Why a warning does not count, and the last day on which it does not (YYYY-MM-DD)."""

    reason: str
    expires: str


class Diagnostic(NamedTuple):
    """One finding: a code of `codes.CODES`, where it is, what is wrong and what to do about it.

    `field` is its place as `Kind/name:path`, where that is known; one with a day `after` counts
    from the next day on. `classes` are the classes of nodes (`cluster/name`) that it was found on,
    where it is about some of them. A position in line 0 is the whole file. `stands_for` counts the
    findings that are told by this one.
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
    """A stage could not do its work; `diagnostics` says all that it found."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("; ".join(f"{d.code}: {d.message}" for d in self.diagnostics))


def diagnose(
    code: str,
    position: Position | None = None,
    *,
    label: str = "",
    labels: Iterable[Label] = (),
    **values: Any,
) -> Diagnostic:
    """Make the diagnostic `code` with its wording from the table; `values` fill the wording's
    gaps.
    """
    from cpuplan.codes import CODES  # most runs find nothing

    entry = CODES[code]
    return Diagnostic(
        code=code,
        message=entry.message.format(**values),
        remedy=entry.remedy.format(**values),
        position=position,
        label=label,
        labels=tuple(labels),
        severity=Severity(entry.severity),
    )


def errors(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Those that stop a command."""
    return [d for d in diagnostics if d.severity is Severity.ERROR]


def counting(diagnostics: Iterable[Diagnostic], *, strict: bool = False) -> list[Diagnostic]:
    """Those that make a command fail: errors, and with `strict` warnings that nobody has waived."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return [d for d in diagnostics if d.severity in failing and not d.waiver]


def as_of(diagnostics: Iterable[Diagnostic], day: str) -> list[Diagnostic]:
    """Those that there are on a day (YYYY-MM-DD), with the waivers that hold then."""
    present = (each for each in diagnostics if each.after < day)
    return [
        each._replace(waiver=None) if each.waiver and each.waiver.expires < day else each
        for each in present
    ]


class Findings:
    """Findings on several classes of nodes: each once, with the classes that it was found on."""

    def __init__(self) -> None:
        self._classes: dict[Diagnostic, dict[str, None]] = {}

    def add(self, found: Iterable[Diagnostic], classes: Iterable[str]) -> None:
        """Add what was found on classes, by `cluster/name`."""
        names = dict.fromkeys(classes)
        for each in found:
            self._classes.setdefault(each, {}).update(names)

    def all(self) -> list[Diagnostic]:
        """Them all, in the order in which they were found first."""
        return [each._replace(classes=tuple(classes)) for each, classes in self._classes.items()]
