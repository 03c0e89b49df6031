"""Results of earlier runs, so that an unchanged project is neither read nor solved again.

A record is a cache: it lies in the user's cache folder, never in the project, and its name is one
digest over all inputs as they were read, the lock, and the program. It is believed of `out/` only
after every file there was looked at.
"""

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from cpuplan.diagnostics import Diagnostic, Label, Severity, Waiver
from cpuplan.files import Unreadable, cached, read_regular
from cpuplan.program import program_digest
from cpuplan.progress import stage
from cpuplan.read.inputs import Inputs
from cpuplan.source import Position

#: Records that are kept; the oldest go first.
MOST = 200
_MAX_BYTES = 4 * 1024 * 1024


class Record(NamedTuple):
    """A project without errors: what was said of it, and what `out/` holds then."""

    diagnostics: tuple[Diagnostic, ...]
    tree: str  # see `write.manifest.tree_digest`
    nodes: int
    classes: int


@stage("reading the project")
def unchanged(inputs: Inputs, out: Path) -> Record | None:
    """The record of these inputs, if every file of `out` is still as they produced it."""
    record = find(inputs)
    return record if record and _tree_of(out) == record.tree else None


def _tree_of(out: Path) -> str:
    """The digest of the files in `out` that cpuplan owns; empty where `compile` has work to do."""
    from cpuplan.write.compare import digest_of
    from cpuplan.write.stage import stage_of

    return "" if os.path.lexists(stage_of(out).folder) else digest_of(out)


def find(inputs: Inputs) -> Record | None:
    """The record of inputs that were judged before; None if there is none that can be read."""
    place = _place(inputs)
    if place is None or inputs.diagnostics:
        return None
    try:
        if os.lstat(place).st_uid != os.geteuid():
            return None
        data = json.loads(read_regular(place, limit=_MAX_BYTES))
        diagnostics = tuple(map(_diagnostic, data["diagnostics"]))
        return Record(diagnostics, str(data["tree"]), int(data["nodes"]), int(data["classes"]))
    except (Unreadable, OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None


@stage("recording the result")
def save(inputs: Inputs, record: Record) -> None:
    """Keep the record of `inputs`; where the cache folder cannot be written there will be none."""
    place = _place(inputs)
    if place is None or inputs.diagnostics:
        return
    data = {**record._asdict(), "diagnostics": list(map(_data, record.diagnostics))}
    text = json.dumps(data).encode()
    if len(text) > _MAX_BYTES:
        return
    try:
        if cached.write(place, text):
            _prune(place.parent)
    except OSError:
        return


def _place(inputs: Inputs) -> Path | None:
    """The file of the record of `inputs`; None without a home folder."""
    folder = cached.folder()
    if folder is None:
        return None
    name = sha256(f"{program_digest()} {inputs.digest()}".encode()).hexdigest()
    return folder / f"{name}.json"


def _prune(folder: Path) -> None:
    records = [entry for entry in os.scandir(folder) if entry.name.endswith(".json")]
    for entry in sorted(records, key=lambda entry: entry.stat().st_mtime_ns)[:-MOST]:
        os.unlink(entry.path)


def _data(diagnostic: Diagnostic) -> dict[str, Any]:
    return {**diagnostic._asdict(), "severity": diagnostic.severity.value}


def _diagnostic(data: dict[str, Any]) -> Diagnostic:
    position, waiver = data["position"], data["waiver"]
    return Diagnostic(**data)._replace(
        position=Position(*position) if position else None,
        labels=tuple(Label(Position(*where), text) for where, text in data["labels"]),
        severity=Severity(data["severity"]),
        waiver=Waiver(*waiver) if waiver else None,
    )
