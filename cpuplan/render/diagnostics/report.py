"""What every format tells of: diagnostics in their order, and how files are called."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from cpuplan.diagnostics import Diagnostic, Severity
from cpuplan.printable import printable
from cpuplan.source import Position


class Report(NamedTuple):
    """The findings of one command."""

    diagnostics: tuple[Diagnostic, ...] = ()
    #: A file as the reader calls it: relative to the repository, absolute outside of it.
    shown: Callable[[str], str] = str
    command: str = "cpuplan"
    #: Whether warnings fail the command.
    strict: bool = False
    #: Whether the command came to its end.
    finished: bool = True
    #: Whether waived findings are told too.
    verbose: bool = False
    #: Findings that a filter leaves out.
    elsewhere: int = 0

    @property
    def listed(self) -> tuple[Diagnostic, ...]:
        """Those that are told: waived ones only on request."""
        return tuple(d for d in self.diagnostics if self.verbose or not d.waiver)

    def file_of(self, diagnostic: Diagnostic) -> str:
        """The file of a finding; the project's folder for one without a place: code hosts want a
        path of each.
        """
        return self.shown(diagnostic.position.path if diagnostic.position else ".")

    def fails(self, diagnostic: Diagnostic) -> bool:
        """Whether the finding fails the command."""
        if diagnostic.waiver:
            return False
        return diagnostic.severity is Severity.ERROR or (
            self.strict and diagnostic.severity is Severity.WARNING
        )


def ordered(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sorted by file, line, column and code, those without a place last; otherwise in the order
    given.

    Every format prints these: their texts are printable, and paths are as the file system has them.
    """
    return tuple(
        sorted(
            map(_shown, diagnostics),
            key=lambda d: (d.position is None, (d.position or ())[:3], d.code),
        )
    )


def _shown(d: Diagnostic) -> Diagnostic:
    message, remedy, label = (printable(text, "\n") for text in (d.message, d.remedy, d.label))
    labels = tuple(each._replace(text=printable(each.text, "\n")) for each in d.labels)
    waiver = d.waiver and d.waiver._replace(reason=printable(d.waiver.reason))
    return d._replace(message=message, remedy=remedy, label=label, labels=labels, waiver=waiver)


def summarize(diagnostics: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning, 1 waived`: what occurs, worst first."""
    counts = (
        f"{number} {name.removesuffix('s') if number == 1 else name}"
        for name, number in _counts(diagnostics)
    )
    return ", ".join(counts)


def _counts(diagnostics: Iterable[Diagnostic]) -> list[tuple[str, int]]:
    return [(name, number) for name, number in summary(diagnostics).items() if number]


def summary(diagnostics: Iterable[Diagnostic]) -> dict[str, int]:
    """How many findings of each severity count, and how many are waived."""
    counts = {"errors": 0, "warnings": 0, "notes": 0, "waived": 0}
    for each in diagnostics:
        counts["waived" if each.waiver else f"{each.severity.value}s"] += 1
    return counts


def to_data(report: Report) -> dict[str, Any]:
    """The stable form for programs; keys are only ever added while `version` is 1.

    {"version": 1, "diagnostics": [{"code", "severity": "error" | "warning" | "note", "message",
    "remedy", "file", "line", "column", "endColumn", "field", "label", "labels": [{"file", "line",
    "column", "endColumn", "message"}], "classes", "count", "fingerprint", "waived": {"reason",
    "expires"} | null, "docs"}], "summary": {"errors", "warnings", "notes", "waived", "elsewhere"}}.
    Lines and columns count from 1, in code points; `endColumn` is the column after the last one.
    Places that are not known are null. `count` is how many things a finding stands for that -v
    tells one by one; `classes` are those of nodes (`cluster/name`) that it was found on, where it
    is about some of them; `elsewhere` how many findings --cluster and --node leave out.
    """
    return {"version": 1, "diagnostics": findings(report), "summary": summary_data(report)}


def summary_data(report: Report) -> dict[str, int]:
    return {**summary(report.diagnostics), "elsewhere": report.elsewhere}


def findings(report: Report) -> list[dict[str, Any]]:
    """The data of each finding."""
    prints = fingerprints(report, report.listed)
    return [_finding(d, one, report) for d, one in zip(report.listed, prints, strict=True)]


def _finding(d: Diagnostic, fingerprint: str, report: Report) -> dict[str, Any]:
    return {
        "code": d.code,
        "severity": d.severity.value,
        "message": d.message,
        "remedy": d.remedy,
        **_place(d.position, report),
        "field": printable(d.field),
        "label": d.label,
        "labels": [{**_place(label.position, report), "message": label.text} for label in d.labels],
        "classes": [printable(name) for name in d.classes],
        "count": d.stands_for,
        "fingerprint": fingerprint,
        "waived": {"reason": d.waiver.reason, "expires": d.waiver.expires} if d.waiver else None,
        "docs": f"cpuplan explain {d.code}",
    }


def _place(position: Position | None, report: Report) -> dict[str, str | int | None]:
    if position is None:
        return {"file": None, "line": None, "column": None, "endColumn": None}
    line, column, end = position.line or None, position.column or None, position.end or None
    return {
        "file": printable(report.shown(position.path)),
        "line": line,
        "column": column,
        "endColumn": end,
    }


def message_of(diagnostic: Diagnostic) -> str:
    """What is wrong, and what to do about it."""
    remedy = f"\nhelp: {diagnostic.remedy}" if diagnostic.remedy else ""
    return diagnostic.message + remedy


def fingerprints(report: Report, diagnostics: Iterable[Diagnostic]) -> list[str]:
    """One for each, which holds when lines move, files are renamed and numbers in a message change.

    From the code and the field `Kind/name:path`; where there is none, from code, file and message,
    of a whole file without the message. Equal ones are counted.
    """
    seen: dict[str, int] = {}
    found = []
    for d in diagnostics:
        text = "\0".join((d.code, *map(printable, _where(d, report))))
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        seen[digest] = seen.get(digest, 0) + 1
        found.append(digest if seen[digest] == 1 else f"{digest}:{seen[digest]}")
    return found


def _where(d: Diagnostic, report: Report) -> tuple[str, ...]:
    if d.field or d.position is None:
        return (d.field or d.message,)
    file = report.shown(d.position.path)
    return (file, d.message) if d.position.line else (file,)
