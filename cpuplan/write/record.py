"""Results of earlier runs, so that an unchanged project is neither read nor solved again.

A record is a cache: it lies in the user's cache folder, never in the project, and its name is one
digest over all inputs as they were read, the lock, and the program; or over the values of the
documents instead, with the places of findings as fields of these. It is believed of `out/` only
after every file there was looked at.
"""

import json
import os
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from cpuplan.diagnostics import Diagnostic, Label, Severity, Waiver
from cpuplan.files import Unreadable, cached, read_regular
from cpuplan.program import program_digest
from cpuplan.progress import stage
from cpuplan.read.files import POD_FOLDER
from cpuplan.read.inputs import Inputs
from cpuplan.source import Position, Source
from cpuplan.write import places

#: Records that are kept; the oldest go first.
MOST = 400
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
    record = find(inputs) or _of_values(inputs)
    return record if record and _tree_of(out) == record.tree else None


def _tree_of(out: Path) -> str:
    """The digest of the files in `out` that cpuplan owns; empty where `compile` has work to do."""
    from cpuplan.write.compare import digest_of
    from cpuplan.write.stage import stage_of

    return "" if os.path.lexists(stage_of(out).folder) else digest_of(out)


def find(inputs: Inputs) -> Record | None:
    """The record of inputs that were judged before; None if there is none that can be read."""
    found = _read(_place(inputs.digest())) if not inputs.diagnostics else None
    return found[0] if found else None


def _of_values(inputs: Inputs) -> Record | None:
    """The record of the same values that were written otherwise, at the lines that they have now.

    The next run finds it without reading the values.
    """
    sources = _sources(inputs)
    if not sources:
        return None
    found = _read(_place(_digest_of_values(inputs, sources)))
    if found is None:
        return None
    record, named = found
    try:
        diagnostics = [
            places.found(each, name, sources)
            for each, name in zip(record.diagnostics, named, strict=True)
        ]
    except (LookupError, TypeError, ValueError):
        return None
    record = record._replace(diagnostics=tuple(diagnostics))
    _write(_place(inputs.digest()), record, [])
    return record


def _sources(inputs: Inputs) -> Sequence[Source]:
    """The documents of inputs; none of such whose values are not all in these."""
    from cpuplan.read import yaml  # inputs that are as they were are not read

    sources: list[Source] = []
    for name, data in inputs.texts.items():
        of_file, problems = yaml.decode(name, data)
        if problems or _is_manifest(name):
            return ()
        sources += of_file
    return () if inputs.diagnostics else sources


def _is_manifest(name: str) -> bool:
    """Whether a file is in the values of documents that name it, and no document itself."""
    return name.startswith(f"{POD_FOLDER}/")


def _digest_of_values(inputs: Inputs, sources: Iterable[Source]) -> str:
    lock = "-" if inputs.lock is None else sha256(inputs.lock).hexdigest()
    return f"values {places.digest(sources)} {lock}"


def _read(place: Path | None) -> tuple[Record, list[places.Named]] | None:
    """A record, and the places of its findings."""
    if place is None:
        return None
    try:
        if os.lstat(place).st_uid != os.geteuid():
            return None
        data = json.loads(read_regular(place, limit=_MAX_BYTES))
        diagnostics = tuple(map(_diagnostic, data["diagnostics"]))
        named = list(map(_named, data["places"]))
        record = Record(diagnostics, str(data["tree"]), int(data["nodes"]), int(data["classes"]))
    except (Unreadable, OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None
    return record, named


@stage("recording the result")
def save(inputs: Inputs, record: Record, sources: Sequence[Source]) -> None:
    """Keep the record of `inputs`, which have these documents.

    Where the cache folder cannot be written there will be none.
    """
    if inputs.diagnostics:
        return
    _write(_place(inputs.digest()), record, [])
    has_all = not any(map(_is_manifest, inputs.texts))
    named = places.named(record.diagnostics, sources) if has_all else None
    if named is not None:
        _write(_place(_digest_of_values(inputs, sources)), record, named)


def _write(place: Path | None, record: Record, named: Sequence[places.Named]) -> None:
    data = {**record._asdict(), "diagnostics": list(map(_data, record.diagnostics))}
    text = json.dumps({**data, "places": named}).encode()
    if place is None or len(text) > _MAX_BYTES:
        return
    try:
        if cached.write(place, text):
            _prune(place.parent)
    except OSError:
        return


def _place(digest: str) -> Path | None:
    """The file of the record of inputs with this digest; None without a home folder."""
    folder = cached.folder()
    if folder is None:
        return None
    name = sha256(f"{program_digest()} {digest}".encode()).hexdigest()
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


def _named(data: Any) -> places.Named:
    place, of_labels = data
    return _placed(place) if place else None, tuple(map(_placed, of_labels))


def _placed(data: Any) -> places.Place:
    document, field, is_key, is_beginning = data
    return places.Place(int(document), tuple(field), bool(is_key), bool(is_beginning))
