"""Which inputs gave which files: an in-toto statement, and the commit that the inputs are in."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from cpuplan import __version__
from cpuplan.base.files import Unreadable, is_plain, read_regular
from cpuplan.base.fits import Schema, misfit
from cpuplan.base.foreign import read_json
from cpuplan.base.progress import stage
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.diagnostics.source import Position
from cpuplan.git import trees
from cpuplan.git.program import opened
from cpuplan.git.repository import Repository, object_name
from cpuplan.git.trees import EXECUTABLE, FILE, LINK, Entry
from cpuplan.language.read.files import FOLDERS, LOCK_PATH, POD_FOLDER, Inputs
from cpuplan.pipeline.lock_diff import solver_version

#: in-toto.io/Statement v1, with the predicate of slsa.dev/provenance v1.
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD = "https://cpuplan.io/compile/v1"
BUILDER = "https://cpuplan.io/cpuplan"


_TEXT: Schema = {"type": "string"}
_RESOURCES: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["name", "digest"],
        "properties": {
            "name": _TEXT,
            "digest": {"type": "object", "required": ["sha256"], "properties": {"sha256": _TEXT}},
        },
    },
}
_BUILDER: Schema = {
    "type": "object",
    "required": ["version"],
    "properties": {"version": {"type": "object", "additionalProperties": _TEXT}},
}
#: What is read of a statement.
_FORM: Schema = {
    "type": "object",
    "required": ["subject", "predicate"],
    "properties": {
        "subject": _RESOURCES,
        "predicate": {
            "type": "object",
            "required": ["buildDefinition", "runDetails"],
            "properties": {
                "buildDefinition": {
                    "type": "object",
                    "required": ["buildType", "resolvedDependencies"],
                    "properties": {"resolvedDependencies": _RESOURCES},
                },
                "runDetails": {
                    "type": "object",
                    "required": ["builder"],
                    "properties": {"builder": _BUILDER},
                },
            },
        },
    },
}


class Provenance(NamedTuple):
    """What a statement says: SHA-256 of files and inputs by path, versions of programs by name."""

    files: Mapping[str, str]
    inputs: Mapping[str, str]
    versions: Mapping[str, str]


@stage("digesting files")
def of(files: Mapping[str, bytes], inputs: Inputs) -> Provenance:
    """The provenance of files that inputs gave just now."""
    read = dict(inputs.texts)
    if inputs.lock is not None:
        read[LOCK_PATH] = inputs.lock
    versions = {"cpuplan": __version__, "ortools": solver_version()}
    return Provenance(_digests(files), _digests(read), versions)


def _digests(files: Mapping[str, bytes]) -> dict[str, str]:
    return {path: sha256(data).hexdigest() for path, data in files.items()}


@stage("writing the statement")
def render(provenance: Provenance) -> bytes:
    """The statement; the same provenance gives the same bytes."""
    statement = {
        "_type": STATEMENT,
        "subject": _resources(provenance.files),
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD,
                "externalParameters": {},
                "resolvedDependencies": _resources(provenance.inputs),
            },
            "runDetails": {"builder": {"id": BUILDER, "version": dict(provenance.versions)}},
        },
    }
    return (json.dumps(statement, indent=1, ensure_ascii=False) + "\n").encode()


def _resources(digests: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"name": path, "digest": {"sha256": digests[path]}} for path in sorted(digests)]


def parse(data: bytes, shown: str) -> Provenance:
    """What a statement says. Raises CP699, with `shown` as its name, for what is none."""
    try:
        statement = read_json(data)
        kinds = [statement.get(key) for key in ("_type", "predicateType")]
        if kinds != [STATEMENT, PREDICATE]:
            raise ValueError("is no in-toto statement of provenance, version 1")
        if wrong := misfit(statement, _FORM):
            raise ValueError(f"is no statement that cpuplan wrote: {wrong}")
        predicate = statement["predicate"]
        build = predicate["buildDefinition"]
        if build["buildType"] != BUILD:
            raise ValueError("was made by another program")
        return Provenance(
            _by_name(statement["subject"]),
            _by_name(build["resolvedDependencies"]),
            predicate["runDetails"]["builder"]["version"],
        )
    except (ValueError, AttributeError) as error:
        known = type(error) is ValueError
        problem = str(error) if known else "is no statement that cpuplan wrote"
        hint = "give a file that `cpuplan publish` or `cpuplan provenance` wrote"
        raise CpuplanError([diagnose("CP699", path=shown, problem=problem, hint=hint)]) from error


def _by_name(resources: Sequence[Any]) -> dict[str, str]:
    digests: dict[str, str] = {}
    for resource in resources:
        name, digest = resource["name"], resource["digest"]["sha256"]
        if not is_plain(name):
            raise ValueError(f"names {name!r}, which is not a path inside the folder")
        if digests.setdefault(name, digest) != digest:
            raise ValueError(f"names {name!r} twice")
    return digests


_FOLDERS = (*FOLDERS, POD_FOLDER)
_ENDINGS = (".yaml", ".yml")
_CHANGED = "changed and not committed"
_ABSENT = "not committed"


class Source(NamedTuple):
    """Where inputs come from: the commit, empty for none, and why it is not all of them."""

    commit: str
    dirty: tuple[Diagnostic, ...]


@stage("asking Git for changes")
def source_of(inputs: Inputs) -> Source:
    """The source of inputs. CP692 for each that is in no commit."""
    root = inputs.root
    try:
        with opened(root) as repository:
            commit = trees.find_commit(repository, "HEAD")
            if commit is None:
                state = "in a repository without commits"
                return Source("", (diagnose("CP692", path=root, state=state),))
            return Source(commit, tuple(_dirty(repository, commit, inputs)))
    except CpuplanError as error:
        state = f"in no repository ({error.diagnostics[0].message})"
        return Source("", (diagnose("CP692", path=root, state=state),))


def _dirty(repository: Repository, commit: str, inputs: Inputs) -> Iterator[Diagnostic]:
    """CP692 for inputs that are not as in the commit: their bytes are compared, by no filter."""
    texts = dict(inputs.texts)
    if inputs.lock is not None:
        texts[LOCK_PATH] = inputs.lock
    places = {path: _place(repository, inputs.root, path) for path in texts}
    known = _entries(repository, commit, places.values())
    states = {}
    for path, data in texts.items():
        entry = known.get(places[path])
        if entry is None or entry.mode not in (FILE, EXECUTABLE):
            states[path] = _ABSENT
        elif entry.object not in _names(repository, data):
            states[path] = _CHANGED
    for place, entry in known.items():
        path = place.removeprefix(repository.prefix)
        is_document = path.startswith(tuple(f"{name}/" for name in _FOLDERS))
        is_read = path in texts or not (is_document and path.endswith(_ENDINGS))
        if not is_read and not _is_as_committed(repository, inputs.root / path, entry):
            states[path] = _CHANGED
    for path, state in sorted(states.items()):
        yield diagnose("CP692", Position(path, 0, 0), path=path, state=state)


def _place(repository: Repository, root: Path, path: str) -> str:
    """The path in the commit of what is read: where a link leads, not where it lies."""
    real = os.path.realpath(root / path)
    return os.path.relpath(real, repository.top)


def _entries(repository: Repository, commit: str, places: Iterable[str]) -> dict[str, Entry]:
    """What the commit has in the folders of documents, and of other inputs, by its paths."""
    folders = {f"{repository.prefix}{name}" for name in _FOLDERS}
    for place in places:
        if not place.startswith((*(f"{folder}/" for folder in folders), "../")):
            folders.add(str(PurePosixPath(place).parent).removeprefix("."))
    known: dict[str, Entry] = {}
    for folder in sorted(folders):
        start = f"{folder}/" if folder else ""
        entries = trees.entries_of(repository, commit, folder)
        known |= {f"{start}{path}": entry for path, entry in entries.items()}
    return known


def _names(repository: Repository, data: bytes) -> tuple[str, str]:
    """The names of a content in Git, also of one whose line ends a checkout changed."""
    return object_name(repository, data), object_name(repository, data.replace(b"\r\n", b"\n"))


def _is_as_committed(repository: Repository, path: Path, entry: Entry) -> bool:
    """Whether a file that is no input is as in the commit; one that is gone is not."""
    try:
        if entry.mode == LINK:
            return object_name(repository, os.fsencode(os.readlink(path))) == entry.object
        if entry.mode not in (FILE, EXECUTABLE):
            return True
        return entry.object in _names(repository, read_regular(path, within=repository.top))
    except (OSError, Unreadable):
        return False
