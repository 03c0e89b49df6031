"""Provenance: an in-toto statement of which inputs gave which files, by SHA-256.

It is no part of `out/` in the inputs' repository: a digest of all inputs would conflict in every
merge. `publish` adds it to what it publishes. It names no time, host or user, so that the same
inputs give the same bytes.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from cpuplan import __version__
from cpuplan.base.files import is_plain
from cpuplan.base.fits import Schema, misfit
from cpuplan.base.foreign import read_json
from cpuplan.base.progress import stage
from cpuplan.diagnostics import CpuplanError, diagnose
from cpuplan.language.read.inputs import LOCK_PATH, Inputs
from cpuplan.pipeline import solver_version

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
    found: dict[str, str] = {}
    for resource in resources:
        name, digest = resource["name"], resource["digest"]["sha256"]
        if not is_plain(name):
            raise ValueError(f"names {name!r}, which is not a path inside the folder")
        if found.setdefault(name, digest) != digest:
            raise ValueError(f"names {name!r} twice")
    return found
