"""Which files are the input of a project, and how it is said that one of them is not read."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.files import Outside, Special, TooLarge, Unreadable, repositories
from cpuplan.base.files.listing import list_files
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Position

#: Where documents are looked for, below the project's folder.
FOLDERS = ("inventories", "intents")
#: Where manifests of workloads are looked for, which intents name.
POD_FOLDER = "pods"
#: Where compiled files are written.
OUTPUT = "out"
#: The solved layouts lie beside the intents and are read by `lock`.
LOCK_FOLDER, LOCK_NAME = "intents", "plan.lock.yaml"
#: The catalogue of server models lies beside the sample's own inventories, and is no project's
#: input.
CATALOG = "inventories/catalog"


class Inputs(NamedTuple):
    """The YAML files of some folders, by name, and errors for those not listed (CP108 to CP112)."""

    files: list[Path]
    diagnostics: list[Diagnostic]


def input_files(root: Path) -> Inputs:
    """The YAML files under `inventories/` and `intents/`, with the lock, without the catalogue."""
    catalog = str(root / CATALOG)
    listing = list_files(*(root / folder for folder in FOLDERS), within=root)
    paths = [path for path in listing.files if not str(path).startswith(f"{catalog}{os.sep}")]
    refusals = [refusal(shown(root, path), error) for path, error in listing.problems]
    return Inputs(paths, [*refusals, *_lock_as_folder(root), *_repositories(root)])


def _lock_as_folder(root: Path) -> Iterator[Diagnostic]:
    """CP111 where a folder has the name of the lock: its layouts would count as not there."""
    path = root / LOCK_FOLDER / LOCK_NAME
    if os.path.isdir(path) and not os.path.islink(path):
        yield refusal(shown(root, path), Special("it is a folder, not a file"))


def _repositories(root: Path) -> Iterator[Diagnostic]:
    """CP1110 for repositories where none belongs: their configuration names programs."""
    folders = [os.path.join(root, name) for name in (*FOLDERS, POD_FOLDER, OUTPUT)]
    with suppress(OSError):
        if repositories.is_repository(os.listdir(root)):
            folders.insert(0, os.fspath(root))
    for path in sorted(repositories.find(*folders)):
        name = shown(root, Path(path))
        yield diagnose("CP1110", Position(name, 0, 0), path=name)


def manifest_files(root: Path) -> list[Path]:
    """The files under `pods/`; what is not listed, its intent misses."""
    return list_files(root / POD_FOLDER, within=root).files


def object_files(path: Path, *, json: bool = True) -> Inputs:
    """The file `path`, or the YAML and JSON files below it; hidden ones only if `path` is one."""
    if not os.path.isdir(path):
        return Inputs([path], [])
    suffixes = (".yaml", ".yml", ".json") if json else (".yaml", ".yml")
    listing = list_files(path, within=path, suffixes=suffixes)
    refusals = [refusal(str(refused), error) for refused, error in listing.problems]
    return Inputs(listing.files, refusals)


def shown(root: Path, path: Path) -> str:
    """What messages call a file: its name below the project, else as given."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def refusal(name: str, error: Unreadable) -> Diagnostic:
    """The diagnostic of a file or folder that is not read."""
    if isinstance(error, TooLarge):
        return diagnose("CP112", path=name, problem=error.problem)
    codes = {Outside: "CP110", Special: "CP111"}
    return diagnose(
        codes.get(type(error), "CP108"), Position(name, 1, 1), path=name, problem=error.problem
    )
