"""What was compiled before: `out/` of a commit, or of a folder, without foreign files in it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.files import Unreadable, read_regular
from cpuplan.base.files.listing import list_files
from cpuplan.base.progress import stage
from cpuplan.change.impact import earlier
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.fleet.before import CLASSES, VERSION, is_manifest
from cpuplan.language.read.files import refusal

#: Of one machine.
_NOT_COMPARED = ".cpuplan/written"
_FOLDER = "out"
#: Letters of a commit's name.
_SHORT = 12


class Tree(NamedTuple):
    """The files below an `out/`, what people call it, and the commit or folder that it is of."""

    name: str
    source: str
    files: Mapping[str, bytes]
    #: Where it lies; None for a commit.
    folder: Path | None = None


@stage("reading what was compiled")
def of_commit(root: Path, ref: str | None) -> Tree:
    """The tree of a commit; by default, of the one where the main branch was left."""
    from cpuplan.git import trees  # starts Git
    from cpuplan.git.door import opened

    with opened(root) as repository:
        commit = ref or trees.merge_base(repository)
        name = ref or f"{commit[:_SHORT]} (merge base)"
        files = _owned(trees.read(repository, commit, _FOLDER))
    tree = Tree(name, commit, files)
    _check(tree)
    return tree


@stage("reading what was compiled")
def of_folder(folder: Path) -> Tree:
    """The tree of a folder. An empty folder stands for nothing compiled."""
    listed = list_files(folder, within=folder, suffixes=("",), hidden=True)
    if listed.problems:
        raise CpuplanError(refusal(str(path), error) for path, error in listed.problems)
    within = os.path.realpath(folder)
    found = {path.relative_to(folder).as_posix(): _read(path, within) for path in listed.files}
    tree = Tree(str(folder), str(folder), _owned(found), folder)
    if found:
        _check(tree)
    return tree


def _read(path: Path, within: str) -> bytes:
    try:
        return read_regular(path, within=within)
    except Unreadable as error:
        raise CpuplanError([refusal(str(path), error)]) from None


def _owned(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files that cpuplan wrote; all of them where no manifest lists any."""
    texts = [files[path].decode(errors="replace") for path in filter(is_manifest, files)]
    listed = {line for text in texts for line in text.splitlines()} or files.keys()
    return {
        path: files[path]
        for path in files
        if path in listed and path != _NOT_COMPARED and not is_manifest(path)
    }


def _check(tree: Tree) -> None:
    """CP680 without compiled classes, CP681 and CP139 for a class that cannot be compared."""
    what = _what(tree)
    classes = [path for path in sorted(tree.files) if path.startswith(f"{CLASSES}/")]
    if not classes:
        raise CpuplanError([diagnose("CP680", what=what)])
    problems = []
    for path in classes:
        try:
            earlier.read_class(path, tree.files[path])
        except earlier.DamagedError as error:
            problems.append(_damaged("CP681", tree, path, error))
        except earlier.LaterError as error:
            place, kind = _place(tree, path), f"a class of {what}"
            found = error.version
            problems.append(diagnose("CP139", place, what=kind, found=found, expected=VERSION))
    if problems:
        raise CpuplanError(problems)


def _what(tree: Tree) -> str:
    return tree.name if tree.folder else f"{_FOLDER}/ of {tree.source}"


def _place(tree: Tree, path: str, line: int = 1, column: int = 1) -> Position | None:
    """A place in a file of a folder; those of a commit are nowhere to look at."""
    return Position((tree.folder / path).as_posix(), line, column) if tree.folder else None


def _damaged(code: str, tree: Tree, path: str, error: earlier.DamagedError) -> Diagnostic:
    at = f" (line {error.line})" if error.line and not tree.folder else ""
    place = _place(tree, path, error.line or 1, error.column or 1)
    return diagnose(code, place, path=path, what=_what(tree), problem=f"{error}{at}")


def check_objects(before: Tree, after: Mapping[str, bytes]) -> None:
    """CP682 for manifests that differ from those of now and are no objects."""
    problems = [
        _damaged("CP682", before, path, error)
        for path, error in earlier.damaged_objects(before.files, after)
    ]
    if problems:
        raise CpuplanError(problems)
