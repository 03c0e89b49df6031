"""Findings that are alike, as one: thousands of stale files are a line for each class of nodes or
cluster.
"""

from collections.abc import Iterable, Sequence

from cpuplan.diagnostics import Diagnostic

#: What is said of single files of out/: edited by hand, missing, stale, left over.
_OF_FILES = ("CP603", "CP608", "CP609", "CP610")
#: As many are told one by one.
FEW = 4
_EXAMPLES = 3


def grouped(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The same with files of out/ that are alike together: of one class of nodes, else of one
    folder.
    """
    found: list[Diagnostic] = []
    groups: dict[tuple[str, str], list[Diagnostic]] = {}
    for each in diagnostics:
        if each.code in _OF_FILES and each.position and not each.position.line:
            groups.setdefault((each.code, _folder(each.position.path)), []).append(each)
        else:
            found.append(each)
    for (_, folder), alike in groups.items():
        found += alike if len(alike) <= FEW else [_together(folder, alike)]
    return found


def _folder(path: str) -> str:
    """The folder of a class of nodes (`out/nodes/<cluster>/<class>`), else that which the file is
    in.
    """
    parts = path.split("/")[:-1]
    return "/".join(parts[:4] if parts[1:2] == ["nodes"] else parts)


def _together(folder: str, alike: Sequence[Diagnostic]) -> Diagnostic:
    """One for all: its message is theirs, of the folder, with the number of files and the first
    ones.
    """
    first = alike[0]
    assert first.position  # noqa: S101 - `grouped` looked
    files = [each.position.path.removeprefix(f"{folder}/") for each in alike if each.position]
    what = f"{folder} ({len(files)} files: {', '.join(files[:_EXAMPLES])} and {len(files) - _EXAMPLES} more)"
    before, _, said = first.message.partition(first.position.path)
    place = first.position._replace(path=folder)
    return first._replace(message=f"{before}{what}{said}", position=place, stands_for=len(files))
