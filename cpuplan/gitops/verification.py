"""Whether compiled files are what the inputs give: every file, its bytes, and nothing beside."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.progress import stage
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.fleet.previous import is_manifest, path_of
from cpuplan.git import trees
from cpuplan.git.program import opened
from cpuplan.git.trees import EXECUTABLE, LINK, SUBMODULE
from cpuplan.git.trees import FILE as GIT_FILE
from cpuplan.gitops.branch import is_provenance, is_wanted
from cpuplan.gitops.provenance import Provenance
from cpuplan.plan import Classes
from cpuplan.write.manifest import WRITTEN, divide, lines, parse_manifest
from cpuplan.write.tree import FILE, FOLDER, read, scan

_FILES = (GIT_FILE, EXECUTABLE)
_KINDS = {LINK: "a symbolic link", SUBMODULE: "a submodule"}
_COMPILE = "run `cpuplan compile` and commit the result"


class Tree(NamedTuple):
    """Files by path, what is there beside files, and how messages call the folder."""

    files: Mapping[str, bytes]
    others: Mapping[str, str]
    shown: str


@stage("reading out/")
def of_folder(out: Path) -> Tree:
    """The tree on disk. Raises CpuplanError (CP605, CP607, CP1110)."""
    try:
        entries = {path: entry for path, entry in scan(out).items() if entry.kind != FOLDER}
        files = {path: read(out / path) for path, entry in entries.items() if entry.kind == FILE}
    except OSError as error:
        problem = error.strerror or str(error)
        raise CpuplanError([diagnose("CP607", path=out, problem=problem)]) from error
    others = {path: entry.kind for path, entry in entries.items() if entry.kind != FILE}
    return Tree(files, others, out.name)


@stage("reading the commit")
def of_commit(root: Path, ref: str, folder: str | None) -> Tree:
    """The tree in a commit of the repository of `root`, by default that of the project's `out/`.

    Raises CP688, CP689, CP6110 and CP6111.
    """
    with opened(root) as repository:
        place = f"{repository.prefix}out" if folder is None else folder
        shown = f"{ref}:{place}"
        entries = trees.entries_of(repository, trees.commit_of(repository, ref), place)
        files = trees.contents(repository, entries, shown, modes=_FILES)
    others = {path: _KINDS[entry.mode] for path, entry in entries.items() if entry.mode in _KINDS}
    return Tree(files, others, shown)


@stage("comparing files")
def compare(tree: Tree, wanted: Mapping[str, bytes], classes: Classes) -> list[Diagnostic]:
    """A finding for each path that is not as the inputs give it: CP608 to CP610 and CP699.

    The manifests must say which `classes` the files are of.
    """
    manifests = _manifests(tree)
    listed = {path_of(line) for listing in manifests.values() for line in listing}
    findings = {path: _found(tree, path, data) for path, data in wanted.items()}
    findings |= _of_manifests(tree, manifests, divide(lines(wanted, classes)))
    for path in {*tree.files, *tree.others} - wanted.keys() - {*manifests, WRITTEN}:
        if path in listed:
            findings[path] = _of_output(tree, path, "CP610")
        elif not is_provenance(path):
            findings[path] = _foreign(tree, path)
    return [finding for _, finding in sorted(findings.items()) if finding]


def _manifests(tree: Tree) -> dict[str, frozenset[str]]:
    """The lines of each manifest. Raises CP604."""
    return {
        path: parse_manifest(tree.files[path], f"{tree.shown}/{path}").lines
        for path in filter(is_manifest, tree.files)
    }


def _of_manifests(
    tree: Tree, listed: Mapping[str, frozenset[str]], wanted: Mapping[str, frozenset[str]]
) -> dict[str, Diagnostic]:
    """A finding for each manifest that lists other files than it should."""
    findings = {}
    for path in {*listed, *wanted}:
        if path not in wanted:
            findings[path] = _of_output(tree, path, "CP610")
        elif path not in listed:
            findings[path] = _of_output(tree, path, "CP608")
        elif listed[path] != wanted[path]:
            findings[path] = _of_output(tree, path, "CP609")
    return findings


def _found(tree: Tree, path: str, wanted: bytes) -> Diagnostic | None:
    if path in tree.others:
        problem = f"is {tree.others[path]}, but the inputs give a file"
        return _not_given(tree, path, problem, _COMPILE)
    if path not in tree.files:
        return _of_output(tree, path, "CP608")
    return None if tree.files[path] == wanted else _of_output(tree, path, "CP609")


def _foreign(tree: Tree, path: str) -> Diagnostic:
    hint = "move it out of the folder, unless you mean it to be there"
    return _not_given(tree, path, "is in the folder, but the inputs do not give it", hint)


def against(
    tree: Tree, statement: Provenance, now: Provenance, clusters: tuple[str, ...]
) -> Iterator[Diagnostic]:
    """CP699 for files, of some `clusters` or all, and inputs that are not those of a statement."""
    digests = {path: sha256(data).hexdigest() for path, data in tree.files.items()}
    manifests = _manifests(tree).values()
    owned = {path_of(line) for listing in manifests for line in listing}
    listed = {path for path in owned if is_wanted(path, clusters)}
    for path in sorted({*statement.files, *listed}):
        if problem := _difference(statement.files.get(path), digests.get(path)):
            yield _not_given(tree, path, problem, "take the file, or the statement, of one commit")
    for path in sorted({*statement.inputs, *now.inputs}):
        if problem := _difference(statement.inputs.get(path), now.inputs.get(path)):
            hint = "verify with the inputs of the commit that the published commit names"
            yield diagnose("CP699", Position(path, 0, 0), path=path, problem=problem, hint=hint)


def _difference(stated: str | None, actual: str | None) -> str:
    if stated == actual:
        return ""
    if stated is None:
        return "is not in the statement"
    return "is in the statement, but missing" if actual is None else "is not as in the statement"


def _of_output(tree: Tree, path: str, code: str) -> Diagnostic:
    shown = f"{tree.shown}/{path}"
    return diagnose(code, Position(shown, 0, 0), path=shown)


def _not_given(tree: Tree, path: str, problem: str, hint: str) -> Diagnostic:
    shown = f"{tree.shown}/{path}"
    return diagnose("CP699", Position(shown, 0, 0), path=shown, problem=problem, hint=hint)
