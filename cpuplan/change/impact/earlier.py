"""What was compiled before, read as a text of others: an editor or a merge had it since.

Whatever is compared goes through here first. Files of other releases are taken, with more or fewer
fields than those of this one; a value of another type is a damage, with its place.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.base.fits import Form, Schema, misfit
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.base.resources import resource
from cpuplan.fleet.before import CLASSES, VERSION
from cpuplan.language.read import yaml
from cpuplan.plan.expected.state import REASONS

#: Objects that Git delivers lie in folders of this name.
_MANIFESTS = "manifests"
_KUSTOMIZATION = "kustomization.yaml"
#: Objects that operators make of compiled ones, below the folder of a cluster.
OPERATOR = "expected/operator"
#: What YAML readers disagree on is no damage of a file that another release wrote.
_PASSED_OVER = ("CP103", "CP104", "CP113")
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "object", "additionalProperties": _TEXT}
_POOLS: Schema = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "required": ["cpus", "because"],
        "properties": {"cpus": _TEXT, "because": REASONS},
    },
}
_SETTING: Schema = {
    "type": "object",
    "required": ["component", "key", "value", "because"],
    "properties": {"component": _TEXT, "key": _TEXT, "because": REASONS},
}
#: What is compared of a class.
_CLASS = Form(
    {
        "type": "object",
        "required": ["cluster", "class", "intent", "hardware", "nodes", "pools", "settings"],
        "properties": {
            **dict.fromkeys(("cluster", "class", "intent", "hardware", "pool"), _TEXT),
            "nodes": {"type": "array", "items": _TEXT},
            "pools": _POOLS,
            "sets": _POOLS,
            "settings": {"type": "array", "items": _SETTING},
        },
    }
)
_METADATA: Schema = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": _TEXT,
        "namespace": _TEXT,
        "labels": {"anyOf": [_TEXTS, {"type": "null"}]},
        "annotations": {"anyOf": [_TEXTS, {"type": "null"}]},
    },
}
_ENVELOPE: Schema = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata"],
    "properties": {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _METADATA},
}
#: Kinds whose fields are read, and not only compared.
_READ = frozenset({"DaemonSet", "KubeletConfig", "MachineConfig", "MachineConfigPool"})
#: Keywords of a schema that say of which type a value is, and nothing else of it.
_OF_TYPES = frozenset({"type", "properties", "items", "additionalProperties", "anyOf"})


class DamagedError(ValueError):
    """A file is not what was compiled: the problem, and its line and column, 0 if not known."""

    def __init__(self, problem: str, line: int = 0, column: int = 0) -> None:
        super().__init__(problem)
        self.line, self.column = line, column


class LaterError(ValueError):
    """A file has a form of a later release: its number."""

    def __init__(self, version: int) -> None:
        super().__init__(version)
        self.version = version


class ObjectId(NamedTuple):
    """What the API server knows an object by."""

    group: str
    kind: str
    namespace: str
    name: str


class Object(NamedTuple):
    """An object and the path of its file below `out/`."""

    id: ObjectId
    path: str
    data: Mapping[str, Any]


def read_class(path: str, data: bytes) -> dict[str, Any]:
    """The plan of a class, by the path of its file. Raises DamagedError, LaterError."""
    try:
        plan = read_json(data)
        version = plan.get("version") if isinstance(plan, dict) else None
        if type(version) is int and version > VERSION:
            raise LaterError(version)
        if type(version) is not int:
            raise DamagedError("it has no version")
        if not _CLASS.fits(plan):
            raise DamagedError(str(misfit(plan, _CLASS.schema)))
    except ForeignError as error:
        raise DamagedError(str(error), error.line, error.column) from error
    if path != f"{CLASSES}/{plan['cluster']}/{plan['class']}.json":
        raise DamagedError(f"it is class {plan['class']} of cluster {plan['cluster']}")
    for name, pool in {**plan["pools"], **plan.get("sets", {})}.items():
        try:
            CpuSet.parse(pool["cpus"])
        except CpuSetError as error:
            raise DamagedError(f"the CPUs of {name} are no CPU list: {error}") from None
    return dict(plan)


def is_object(path: str) -> bool:
    """Whether a file below `out/` has an object for a cluster's API."""
    folder, _, name = path.rpartition("/")
    is_manifest = path.startswith("clusters/") and folder.endswith(f"/{_MANIFESTS}")
    return is_manifest and name.endswith(".yaml") and name != _KUSTOMIZATION


def is_made(path: str) -> bool:
    """Whether it has an object that an operator makes."""
    folder, _, name = path.rpartition("/")
    is_of_operator = path.startswith("clusters/") and folder.endswith(f"/{OPERATOR}")
    return is_of_operator and name.endswith(".yaml")


def damaged_objects(
    before: Mapping[str, bytes], after: Mapping[str, bytes]
) -> Iterator[tuple[str, DamagedError]]:
    """Manifests, and objects that operators make, that differ from those of now and are none."""
    for path, data in sorted(before.items()):
        if data != after.get(path) and (is_object(path) or is_made(path)):
            try:
                read_object(path, data)
            except DamagedError as error:
                yield path, error


def damaged(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[str]:
    """The paths of classes and objects that cannot be compared."""
    for path, data in sorted(before.items()):
        if path.startswith(f"{CLASSES}/"):
            try:
                read_class(path, data)
            except (DamagedError, LaterError):
                yield path
    for path, _ in damaged_objects(before, after):
        yield path


def read_object(path: str, data: bytes) -> Object:
    """The object of a manifest. Raises DamagedError."""
    sources, found = yaml.decode(path, data)
    for problem in found:
        if problem.code not in _PASSED_OVER:
            place = problem.position
            raise DamagedError(
                problem.message, place.line if place else 0, place.column if place else 0
            )
    if len(sources) != 1:
        raise DamagedError(f"it has {len(sources)} documents, not one")
    source = sources[0]
    value: Any = source.data
    for form in _forms(value):
        if not form.fits(value):
            wrong = misfit(value, form.schema)
            place = source.value_at(wrong.at if wrong else ())
            raise DamagedError(str(wrong), place.line, place.column)
    return Object(_id(value), path, value)


def _forms(value: Any) -> Iterator[Form]:
    yield _OBJECT
    if value["kind"] in _READ:
        yield _form_of(value["kind"])


_OBJECT = Form(_ENVELOPE)


@cache
def _form_of(kind: str) -> Form:
    """The types of what this release writes of a kind."""
    text = resource("schemas", "emitted", f"{kind}.schema.json").read_text(encoding="utf-8")
    return Form(_types_of(json.loads(text)))


def _types_of(schema: Any) -> Any:
    """A schema without all that is no type: other releases write other fields and values."""
    if not isinstance(schema, dict):
        return True
    kept = {key: value for key, value in schema.items() if key in _OF_TYPES}
    if "properties" in kept:
        kept["properties"] = {
            name: _types_of(inner) for name, inner in schema["properties"].items()
        }
    if "items" in kept:
        kept["items"] = _types_of(schema["items"])
    if "anyOf" in kept:
        kept["anyOf"] = [_types_of(choice) for choice in schema["anyOf"]]
    if "additionalProperties" in kept:
        kept["additionalProperties"] = _types_of(schema["additionalProperties"])
    return kept


def _id(data: Mapping[str, Any]) -> ObjectId:
    group, slash, _ = data["apiVersion"].partition("/")
    metadata = data["metadata"]
    namespace = metadata.get("namespace") or ""
    return ObjectId(group if slash else "", data["kind"], namespace, metadata["name"])
