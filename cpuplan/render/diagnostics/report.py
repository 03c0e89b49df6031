"""What all formats are made from: diagnostics in their order, alike ones as one, names of files."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from cpuplan.base.text import printable
from cpuplan.diagnostics import UNPROVEN, Diagnostic, Severity, counting
from cpuplan.diagnostics.source import Position

#: Of single files in out/: edited by hand, missing, stale, left over.
_OF_FILES = ("CP603", "CP608", "CP609", "CP610")
#: So many are shown one by one.
FEW = 4
_EXAMPLES = 3


def grouped(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The same, with files of out/ together that are alike: of one class of nodes or one folder."""
    findings: list[Diagnostic] = []
    groups: dict[tuple[str, str], list[Diagnostic]] = {}
    for finding in diagnostics:
        if finding.code in _OF_FILES and finding.position and not finding.position.line:
            key = finding.code, _folder(finding.position.path)
            groups.setdefault(key, []).append(finding)
        else:
            findings.append(finding)
    for (_, folder), alike in groups.items():
        findings += alike if len(alike) <= FEW else [_together(folder, alike)]
    return findings


def _folder(path: str) -> str:
    """The folder of a class of nodes (`out/nodes/<cluster>/<class>`), or that of the file."""
    parts = path.split("/")[:-1]
    return "/".join(parts[:4] if parts[1:2] == ["nodes"] else parts)


def _together(folder: str, alike: Sequence[Diagnostic]) -> Diagnostic:
    """One for all, with their message for the folder, the number of files and the first ones."""
    paths = [finding.position.path for finding in alike if finding.position]
    names = [path.removeprefix(f"{folder}/") for path in paths[:_EXAMPLES]]
    more = len(paths) - _EXAMPLES
    files = f"{folder} ({len(paths)} files: {', '.join(names)} and {more} more)"
    before, _, after = alike[0].message.partition(paths[0])
    return alike[0]._replace(
        message=f"{before}{files}{after}",
        position=Position(folder, 0, 0),
        stands_for=len(paths),
    )


class Report(NamedTuple):
    """The findings of one command."""

    diagnostics: tuple[Diagnostic, ...] = ()
    #: The name of a file for the reader: relative to the repository, absolute outside of it.
    shown: Callable[[str], str] = str
    command: str = "cpuplan"
    #: Whether warnings fail the command.
    strict: bool = False
    #: Whether the command came to its end.
    finished: bool = True
    #: Whether waived findings are shown too.
    verbose: bool = False
    #: Findings that --cluster and --node exclude.
    elsewhere: int = 0

    @property
    def listed(self) -> tuple[Diagnostic, ...]:
        """Those that are shown: waived ones only on request."""
        return tuple(d for d in self.diagnostics if self.verbose or not d.waiver)

    def file_of(self, diagnostic: Diagnostic) -> str:
        """The file of a finding, or the project's folder: code hosts require a path."""
        return self.shown(diagnostic.position.path if diagnostic.position else ".")

    def fails(self, diagnostic: Diagnostic) -> bool:
        """Whether the finding fails the command."""
        return bool(counting([diagnostic], strict=self.strict))


def ordered(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sorted by file, line, column and code, those without a place last; otherwise as given.

    What was not looked at comes before all that was.

    All formats print these: their texts are printable; paths are as the file system has them.
    """
    return tuple(sorted(map(_printable, diagnostics), key=_place))


def _place(diagnostic: Diagnostic) -> tuple[bool, bool, tuple[object, ...], str]:
    position, is_seen = diagnostic.position, diagnostic.code not in UNPROVEN
    return is_seen, position is None, (position or ())[:3], diagnostic.code


def _printable(diagnostic: Diagnostic) -> Diagnostic:
    labels = [label._replace(text=printable(label.text, "\n")) for label in diagnostic.labels]
    waiver = diagnostic.waiver
    return diagnostic._replace(
        message=printable(diagnostic.message, "\n"),
        remedy=printable(diagnostic.remedy, "\n"),
        label=printable(diagnostic.label, "\n"),
        labels=tuple(labels),
        waiver=waiver and waiver._replace(reason=printable(waiver.reason)),
    )


def worst_first(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """By severity, waived ones last: for code hosts that show only so many."""
    severities = list(Severity)
    return sorted(diagnostics, key=lambda d: (bool(d.waiver), severities.index(d.severity)))


def summarize(diagnostics: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning, 1 waived`: what occurs, worst first."""
    counts = [(name, number) for name, number in summary(diagnostics).items() if number]
    words = [
        f"{number} {name.removesuffix('s') if number == 1 else name}" for name, number in counts
    ]
    return ", ".join(words)


def summary(diagnostics: Iterable[Diagnostic]) -> dict[str, int]:
    """How many findings of each severity count, and how many are waived."""
    counts = {"errors": 0, "warnings": 0, "notes": 0, "waived": 0}
    for diagnostic in diagnostics:
        counts["waived" if diagnostic.waiver else f"{diagnostic.severity.value}s"] += 1
    return counts


def message_of(diagnostic: Diagnostic) -> str:
    """What is wrong, and what to do about it."""
    remedy = f"\nhelp: {diagnostic.remedy}" if diagnostic.remedy else ""
    return diagnostic.message + remedy


def fingerprints(report: Report, diagnostics: Iterable[Diagnostic]) -> list[str]:
    """One for each that stays if lines move, files are renamed and numbers in a message change.

    From the code and the field `Kind/name:path`; without a field, from code, file and message, for
    a whole file without the message. Equal ones are counted.
    """
    seen: dict[str, int] = {}
    unique = []
    for diagnostic in diagnostics:
        text = "\0".join((diagnostic.code, *map(printable, _identity(diagnostic, report))))
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        seen[digest] = seen.get(digest, 0) + 1
        unique.append(digest if seen[digest] == 1 else f"{digest}:{seen[digest]}")
    return unique


def _identity(diagnostic: Diagnostic, report: Report) -> tuple[str, ...]:
    if diagnostic.field or diagnostic.position is None:
        return (diagnostic.field or diagnostic.message,)
    file = report.shown(diagnostic.position.path)
    return (file, diagnostic.message) if diagnostic.position.line else (file,)
