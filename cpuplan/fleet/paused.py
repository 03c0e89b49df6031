"""Paused intents: the files of their classes in `out/` stay, byte for byte, until they resume.

Without the files, Argo CD would remove the objects, and the users' tools the files on nodes; files
from the present inputs would be rolled out. The class's file in `out/.cpuplan/classes/` lists the
kept files with their SHA-256, because nothing else could show an edit.
"""

import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from cpuplan.base.files import Unreadable, is_plain, read_regular
from cpuplan.base.program import emitted_schema
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.fleet import previous
from cpuplan.fleet.lock import Lock
from cpuplan.fleet.previous import Before, Key
from cpuplan.plan import ConfiguredPlan, Kept, NodeClass

#: In a class's file: SHA-256 by path below `out/`.
FIELD = "paused"


def keep(
    out: Path, compiled: Before, lock: Lock, nodes: Iterable[ConfiguredPlan], locate: Locate
) -> tuple[dict[Key, Kept], list[Diagnostic]]:
    """What stays of each paused class, and why it cannot.

    CP565 for changed files, CP566 where nothing shows what they were.
    """
    kept: dict[Key, Kept] = {}
    problems: list[Diagnostic] = []
    for node in nodes:
        if not node.spec.paused:
            continue
        node_class = node.node_class
        record = _whole(compiled.get(node_class.key))
        paths = _paths(out, record, node_class.key) if record else None
        if record and paths is not None:
            files = {path: _read(out, path) for path in paths}
            problems += _changes(record, files, node_class, locate)
            present = {path: data for path, data in files.items() if data is not None}
            kept[node_class.key] = Kept(record, present)
        else:
            kept[node_class.key] = Kept({}, {})
            if node_class.key in lock:
                problems.append(_unrecorded(node_class, locate, has_record=record is not None))
    return kept, problems


def _changes(
    record: dict[str, Any], files: dict[str, bytes | None], node_class: NodeClass, locate: Locate
) -> Iterator[Diagnostic]:
    digests = record.get(FIELD)
    if isinstance(digests, dict):
        place = locate(node_class.place("paused"))
        for path in sorted(digests):
            if _digest(files.get(path)) != digests[path]:
                yield diagnose("CP565", place, path=f"out/{path}", intent=node_class.intent)


def _unrecorded(node_class: NodeClass, locate: Locate, *, has_record: bool) -> Diagnostic:
    cluster, name = node_class.key
    path, problem = f"{previous.CLASSES}/{cluster}/{name}.json", "is missing or damaged"
    if has_record:
        path, problem = f"{previous.MANIFESTS}/{cluster}", "does not say which files are of a class"
    place = locate(node_class.place("paused"))
    return diagnose("CP566", place, intent=node_class.intent, path=f"out/{path}", problem=problem)


def _whole(record: dict[str, Any] | None) -> dict[str, Any] | None:
    """The file of a class if it is valid: after a merge, it may be one that cannot be kept."""
    if record is None:
        return None
    import jsonschema  # heavy, and only paused intents need it

    validator = jsonschema.Draft7Validator(emitted_schema("class"))
    return record if validator.is_valid(record) else None


def noted(kept: Kept, current: dict[str, Any]) -> dict[str, Any]:
    """The content of a class's file: as before, else `current`, with digests of kept files."""
    digests = {path: sha256(data).hexdigest() for path, data in kept.files.items()}
    return {**(kept.record or current), FIELD: digests}


def _paths(out: Path, record: dict[str, Any], key: Key) -> list[str] | None:
    """The paths that were kept before; at first, those that the manifest says are of the class.

    None where the manifest is of a release that did not say so.
    """
    digests = record.get(FIELD)
    listed = digests if isinstance(digests, dict) else previous.files_of_class(out, key)
    return None if listed is None else kept_of(listed)


def kept_of(listed: Iterable[str]) -> list[str]:
    """The paths that can stay, of those that are listed as a class's."""
    return sorted(path for path in listed if is_plain(path) and path[0] != ".")


def _read(out: Path, path: str) -> bytes | None:
    try:
        return read_regular(out / path, within=os.path.realpath(out))
    except Unreadable:
        return None


def _digest(data: bytes | None) -> str:
    return "" if data is None else sha256(data).hexdigest()
