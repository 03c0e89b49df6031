"""What was compiled before: `out/` of a commit, or of a folder, without foreign files in it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from cpuplan.cpuset import CpuSet
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.files import Unreadable, read_regular
from cpuplan.files.listing import list_files
from cpuplan.fleet.before import CLASSES, VERSION, is_manifest
from cpuplan.impact import sides
from cpuplan.progress import stage
from cpuplan.read.files import refusal
from cpuplan.source import Position

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
    files, what = tree.files, _what(tree)
    classes = [path for path in sorted(files) if path.startswith(f"{CLASSES}/")]
    if not classes:
        raise CpuplanError([diagnose("CP680", what=what)])
    problems = []
    for path in classes:
        place = _place(tree, path)
        version = _version(path, files[path])
        if version is None:
            problems.append(diagnose("CP681", place, path=path, what=what))
        elif version > VERSION:
            kind = f"a class of {what}"
            problems.append(diagnose("CP139", place, what=kind, found=version, expected=VERSION))
    if problems:
        raise CpuplanError(problems)


def _what(tree: Tree) -> str:
    return tree.name if tree.folder else f"{_FOLDER}/ of {tree.source}"


def _place(tree: Tree, path: str) -> Position | None:
    """A file of a folder; those of a commit are nowhere to look at."""
    return Position((tree.folder / path).as_posix(), 1, 1) if tree.folder else None


def _version(path: str, data: bytes) -> int | None:
    """The form of a class's file; None for one that is damaged."""
    try:
        plan = json.loads(data)
        if plan["version"] <= VERSION:
            _look_through(path, plan)
        return int(plan["version"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _look_through(path: str, plan: Mapping[str, Any]) -> None:
    """Raises an error for a class without what is compared, or of another name."""
    if path != f"{CLASSES}/{plan['cluster']}/{plan['class']}.json":
        raise ValueError(path)
    pools = (*plan["pools"].values(), *plan.get("sets", {}).values())
    for pool in pools:
        CpuSet.parse(pool["cpus"])
    for entry in (*pools, *plan["settings"]):
        for reason in entry["because"]:
            _ = reason["text"], reason["origin"]
    for setting in plan["settings"]:
        _ = setting["component"], setting["key"], setting["value"]
    _ = plan["intent"], plan["hardware"], frozenset(plan["nodes"])


def check_objects(before: Tree, after: Mapping[str, bytes]) -> None:
    """CP682 for manifests that differ from those of now and are no objects."""
    problems = []
    for path, data in sorted(before.files.items()):
        if sides.is_object(path) and data != after.get(path) and not _is_readable(path, data):
            place = _place(before, path)
            problems.append(diagnose("CP682", place, path=path, what=_what(before)))
    if problems:
        raise CpuplanError(problems)


def _is_readable(path: str, data: bytes) -> bool:
    try:
        sides.read_object(path, data)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError):
        return False
    return True
