"""Which files are the input of a project, each read once, so that what is checked is recorded."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from cpuplan.base import files
from cpuplan.base.files import Outside, Special, TooLarge, Unreadable, list_files, read_regular
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


class InputFiles(NamedTuple):
    """The YAML files of some folders, by name, and errors for those not listed (CP108 to CP112)."""

    files: list[Path]
    diagnostics: list[Diagnostic]


def input_files(root: Path) -> InputFiles:
    """The YAML files under `inventories/` and `intents/`, with the lock, without the catalogue."""
    catalog = str(root / CATALOG)
    listing = list_files(*(root / folder for folder in FOLDERS), within=root)
    paths = [path for path in listing.files if not str(path).startswith(f"{catalog}{os.sep}")]
    refusals = [refusal(shown(root, path), error) for path, error in listing.problems]
    return InputFiles(paths, [*refusals, *_lock_as_folder(root), *_repositories(root)])


def _lock_as_folder(root: Path) -> Iterator[Diagnostic]:
    """CP111 where a folder has the name of the lock: its layouts would count as not there."""
    path = root / LOCK_FOLDER / LOCK_NAME
    if os.path.isdir(path) and not os.path.islink(path):
        yield refusal(shown(root, path), Special("it is a folder, not a file"))


def _repositories(root: Path) -> Iterator[Diagnostic]:
    """CP1110 for repositories where none belongs: their configuration names programs."""
    folders = [os.path.join(root, name) for name in (*FOLDERS, POD_FOLDER, OUTPUT)]
    with suppress(OSError):
        if files.is_repository(os.listdir(root)):
            folders.insert(0, os.fspath(root))
    for path in sorted(files.find_repositories(*folders)):
        name = shown(root, Path(path))
        yield diagnose("CP1110", Position(name, 0, 0), path=name)


def manifest_files(root: Path) -> list[Path]:
    """The files under `pods/`; what is not listed, its intent misses."""
    return list_files(root / POD_FOLDER, within=root).files


def object_files(path: Path, *, json: bool = True) -> InputFiles:
    """The file `path`, or the YAML and JSON files below it; hidden ones only if `path` is one."""
    if not os.path.isdir(path):
        return InputFiles([path], [])
    suffixes = (".yaml", ".yml", ".json") if json else (".yaml", ".yml")
    listing = list_files(path, within=path, suffixes=suffixes)
    refusals = [refusal(str(refused), error) for refused, error in listing.problems]
    return InputFiles(listing.files, refusals)


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


LOCK_PATH = f"{LOCK_FOLDER}/{LOCK_NAME}"


class Inputs(NamedTuple):
    """The bytes of the files under `inventories/`, `intents/` and `pods/`, by their names."""

    root: Path
    texts: Mapping[str, bytes]
    lock: bytes | None
    #: What could not be read: a judgement of the rest is none of the whole.
    diagnostics: tuple[Diagnostic, ...] = ()

    def digest(self) -> str:
        """SHA-256 over names and contents, the lock among them."""
        import hashlib

        total = hashlib.sha256()
        for name, data in [*sorted(self.texts.items()), (LOCK_PATH, self.lock)]:
            size = "-" if data is None else len(data)
            total.update(f"{name}\0{size}\0".encode())
            total.update(data or b"")
        return total.hexdigest()


def read_inputs(root: Path, also: Sequence[Path] = ()) -> Inputs:
    """Read all files of the project, and the files `also`; what cannot be read is a diagnostic."""
    paths, refused = input_files(root)
    paths += manifest_files(root)
    if also:
        # A file may be named that is the project's anyway, or twice.
        named: dict[Path, Path] = {}
        for path in (*paths, *also):
            named.setdefault(path.resolve(), path)
        paths = [*named.values()]
    texts, problems = read_files(root, paths)
    return Inputs(root, texts, texts.pop(LOCK_PATH, None), (*refused, *problems))


def read_files(root: Path, paths: Sequence[Path]) -> tuple[dict[str, bytes], list[Diagnostic]]:
    """The bytes of files by name; those below `root` must not be links that leave it."""
    real, top = os.path.realpath(root), os.path.abspath(root)
    texts: dict[str, bytes] = {}
    problems = []
    for path in paths:
        name = shown(root, path)
        # Absolute, for `../file` has the prefix of the project's folder if that is `.`.
        is_below = Path(os.path.abspath(path)).is_relative_to(top)
        try:
            texts[name] = read_regular(path, within=real if is_below else None)
        except Unreadable as error:
            problems.append(refusal(name, error))
    return texts, problems
