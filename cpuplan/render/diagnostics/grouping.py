"""Findings that are alike, as one: thousands of stale files are a line for each class of nodes."""

from collections.abc import Iterable, Sequence

from cpuplan.diagnostics import Diagnostic
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
