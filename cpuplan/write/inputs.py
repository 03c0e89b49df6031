"""What a tree was compiled from: with it, a compile without changes reads no document and imports no solver.

The record `out/.cpuplan/inputs.json` holds digests of the inputs and of cpuplan itself. A tree is only ever written
from inputs without errors, so inputs that are equal to the record are known to be right.
"""

import os
from collections.abc import Iterator
from pathlib import Path

RECORD = ".cpuplan/inputs.json"


def record(root: Path, lock_path: str, lock: str, *, warnings: bool) -> bytes:
    """The record of the inputs under `root`, with `lock` as the text that is about to be the lock file's."""
    import hashlib

    from cpuplan.emit import to_json

    inputs = _digests(root)
    inputs[lock_path] = hashlib.sha256(lock.encode()).hexdigest()
    known = {"cpuplan": _code_digest(), "inputs": inputs, "warnings": warnings}
    return to_json(known).encode()


def unchanged(root: Path, out: Path) -> bool:
    """Whether the inputs, and cpuplan itself, are those that `out` was written from, without a warning to repeat."""
    import json

    from cpuplan.diagnostics import CpuplanError
    from cpuplan.files import Unreadable, read_regular

    try:
        known = json.loads(read_regular(out / RECORD))
        return known["warnings"] is False and known["inputs"] == _digests(root) and known["cpuplan"] == _code_digest()
    except (CpuplanError, Unreadable, OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def is_intact(out: Path) -> bool:
    """Whether every file that the manifest of `out` lists is there, with the content that was written."""
    from hashlib import sha256

    from cpuplan.diagnostics import CpuplanError
    from cpuplan.write.manifest import MANIFEST, parse_manifest

    try:
        files = parse_manifest((out / MANIFEST).read_bytes(), MANIFEST)
        return all(sha256((out / path).read_bytes()).hexdigest() == digest for path, digest in files.items())
    except (OSError, CpuplanError):
        return False


def _digests(root: Path) -> dict[str, str]:
    import hashlib

    from cpuplan.diagnostics import CpuplanError
    from cpuplan.files import read_regular
    from cpuplan.load.files import input_files

    found = input_files(root)
    if found.diagnostics:
        raise CpuplanError(found.diagnostics)
    within = os.path.realpath(root)
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(read_regular(path, within=within)).hexdigest()
        for path in found.files
    }


def _code_digest() -> str:
    """A digest of the program's own files: another release, or an edited template, compiles anew."""
    import hashlib

    from cpuplan.resources import resource

    digest = hashlib.sha256()
    for folder in (Path(__file__).parents[1], resource("templates")):
        for path in sorted(_files_below(str(folder))):
            # A wheel has the templates inside the package, a checkout beside it: the same names in both.
            digest.update(path.removeprefix(str(folder)).encode() + b"\0")
            with open(path, "rb", buffering=0) as file:  # some hundred files: a Path would cost more than reading
                digest.update(file.read())
    return digest.hexdigest()


def _files_below(folder: str) -> Iterator[str]:
    """The files that are read, without what Python and a wheel's builder put beside them."""
    for entry in os.scandir(folder):
        if entry.is_dir():
            if entry.name not in ("__pycache__", "data"):
                yield from _files_below(entry.path)
        else:
            yield entry.path
