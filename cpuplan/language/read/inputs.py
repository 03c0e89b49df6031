"""A project's input, each file read once, so that what is checked is what is recorded."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.files import Unreadable, read_regular
from cpuplan.diagnostics import Diagnostic
from cpuplan.language.read import files

LOCK_PATH = f"{files.LOCK_FOLDER}/{files.LOCK_NAME}"


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


def read(root: Path, also: Sequence[Path] = ()) -> Inputs:
    """Read all files of the project, and the files `also`; what cannot be read is a diagnostic."""
    paths, refused = files.input_files(root)
    paths += files.manifest_files(root)
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
        name = files.shown(root, path)
        # Absolute, for `../file` has the prefix of the project's folder if that is `.`.
        is_below = Path(os.path.abspath(path)).is_relative_to(top)
        try:
            texts[name] = read_regular(path, within=real if is_below else None)
        except Unreadable as error:
            problems.append(files.refusal(name, error))
    return texts, problems
