"""Projects in which one value of one document is extreme, made from the schemas of all kinds."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

import yaml

from cpuplan.language.read.documents import KINDS, schema

#: What a field of a number may hold, as it is written in YAML.
NUMBERS = (
    "-1",
    "0",
    "1",
    "8",
    "1024",
    "8193",
    "100000",
    "10000000",
    "1000000000000",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "1" + "0" * 30,
    "1" + "0" * 5000,
)
#: What a text that is read as a number, range, list, quantity or duration may hold.
TEXTS = (
    "-1",
    "10000000",
    "9999999999",
    "999999999999999999",
    "9223372036854775808",
    "0-8191",
    "0-99999999999",
    "0-9223372036854775807",
    "8191",
    "0-8191:1/2",
    "0-8191:1/9999999999",
    "0-8191:9999999999/9999999999",
    "0,0,0",
    ",".join(["0-8191"] * 500),
    "1e30",
    "1E99",
    "1e-30",
    "9999999999Gi",
    "999999999999999999Ei",
    "0.000000001m",
    "10000000M",
    "999999999999k",
    "99999999999h",
    "99999999999999999999999s",
    "1" + "0" * 5000,
    "0x" + "f" * 5000,
    "f" * 100_000,
    "w-[0-99999]",
    "w-[0-9999999999]",
    "w-[000000000-9]",
    "w-[0-999]-[0-999]",
    "w-[0-9]" * 40,
    "w-[1-0]",
    "w-[" + "0" * 5000 + "-" + "9" * 5000 + "]",
    "100%",
    "99999999999999999999%",
    "99999999999.99999999",
)
#: Keys of mappings whose keys a schema leaves open, where any key would not do.
_KEYS = {
    "partitions": "part",
    "apart": "isolated",
    "together": "isolated",
    "cpuManagerPolicyOptions": "distribute-cpus-across-numa",
    "topologyManagerPolicyOptions": "max-allowable-numa-nodes",
    "kubeReserved": "memory",
    "systemReserved": "memory",
    "evictionHard": "memory.available",
    "evictionSoft": "memory.available",
    "evictionSoftGracePeriod": "memory.available",
    "evictionMinimumReclaim": "memory.available",
    "hugePages": "2Mi",
}

SITE = """\
apiVersion: cpuplan.io/v1alpha1
kind: Hardware
metadata: {name: small}
spec:
  vendor: GenuineIntel
  regular: {sockets: 2, coresPerSocket: 4, threadsPerCore: 2, memoryPerNumaNode: 16Gi}
---
apiVersion: cpuplan.io/v1alpha1
kind: Nodes
metadata: {name: lab}
spec:
  cluster: lab
  hardware: small
  nodes:
  - {name: worker-0, labels: {role: worker}}
"""
INTENT = """\
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata: {name: main}
spec:
  selector: {matchLabels: {role: worker}}
  targets: [{platform: kubernetes, version: "1.33", runtime: crio}]
  pools: {reserved: {cores: 1, per: numaNode}, isolated: rest}
"""
#: A machine as an import describes it.
_TOPOLOGY = {
    "cores": [{"threads": ["0-7", "8-15"]}],
    "sockets": [{"id": 0, "cpus": "0-3,8-11"}, {"id": 1, "cpus": "4-7,12-15"}],
    "numaNodes": [
        {"id": 0, "cpus": "0-3,8-11", "memory": "16Gi"},
        {"id": 1, "cpus": "4-7,12-15", "memory": "16Gi"},
    ],
    "caches": [{"level": 3, "cpus": ["0-3,8-11", "4-7,12-15"]}],
}
_INTENT_PATHS = {"Hardware": 0, "Nodes": 1}

Path = tuple[str | int, ...]


class Leaf(NamedTuple):
    """A field that holds a number or text: its kind of document, its path, and a usual value."""

    kind: str
    path: Path
    is_number: bool
    usual: Any

    def __str__(self) -> str:
        return f"{self.kind}:{'.'.join(map(str, self.path))}"


class _Literal(str):
    """A scalar that is written as it stands."""


class _Dumper(yaml.SafeDumper):
    pass


def _write_literal(dumper: yaml.SafeDumper, value: _Literal) -> yaml.ScalarNode:
    # The tag that a plain scalar of this form has, so that none is written.
    tag: str = dumper.resolve(yaml.ScalarNode, str(value), (True, False))  # type: ignore[no-untyped-call]
    return dumper.represent_scalar(tag, str(value))


_Dumper.add_representer(_Literal, _write_literal)


@cache
def leaves() -> tuple[Leaf, ...]:
    """The numbers and texts of all kinds, in the order of their schemas."""
    made = []
    for kind in KINDS:
        whole = schema(kind)
        walked = _walk(whole["properties"]["spec"], whole["definitions"], (), ())
        made += [Leaf(kind, path, number, usual) for path, number, usual in walked]
    return tuple(dict.fromkeys(made))


def _walk(
    form: Mapping[str, Any], definitions: Mapping[str, Any], path: Path, seen: tuple[str, ...]
) -> Iterator[tuple[Path, bool, Any]]:
    """(path, whether it is a number, a usual value) of each scalar below a form."""
    if "$ref" in form:
        name = form["$ref"].rsplit("/", 1)[1]
        if name not in seen:
            yield from _walk(definitions[name], definitions, path, (*seen, name))
        return
    for other in (*form.get("anyOf", ()), *form.get("oneOf", ())):
        if "required" not in other and "not" not in other:
            yield from _walk(other, definitions, path, seen)
    for key, field in form.get("properties", {}).items():
        yield from _walk(field, definitions, (*path, key), seen)
    if isinstance(form.get("additionalProperties"), dict):
        key = _KEYS.get(str(path[-1]) if path else "", "some.example.com")
        yield from _walk(form["additionalProperties"], definitions, (*path, key), seen)
    if isinstance(form.get("items"), dict):
        yield from _walk(form["items"], definitions, (*path, 0), seen)
    if form.get("type") == "integer":
        yield path, True, form.get("minimum", 1)
    elif form.get("type") == "string" and "enum" not in form and "const" not in form:
        yield path, False, _usual_text(form)


def _usual_text(form: Mapping[str, Any]) -> str:
    """A text that fits a form."""
    pattern = form.get("pattern", "")
    for example in (*form.get("examples", ()), *_USUAL):
        if isinstance(example, str) and re.search(pattern, example):
            return example
    return "some"


def _minimal(form: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """The least that fits a form."""
    if "$ref" in form:
        return _minimal(definitions[form["$ref"].rsplit("/", 1)[1]], definitions)
    if "const" in form:
        return form["const"]
    if "enum" in form:
        return form["enum"][0]
    if "anyOf" in form:
        return _minimal(form["anyOf"][0], definitions)
    kind = form.get("type")
    if kind == "array":
        return [_minimal(form["items"], definitions)]
    if kind == "object":
        required = form.get("required", ())
        return {key: _minimal(form["properties"][key], definitions) for key in required}
    scalars = {"integer": form.get("minimum", 1), "boolean": True}
    return scalars[kind] if kind in scalars else _usual_text(form)


def _around(form: Mapping[str, Any], definitions: Mapping[str, Any], path: Path, value: Any) -> Any:
    """What a form needs around the value at a path; KeyError where the form has no such path."""
    if not path:
        return value
    if "$ref" in form:
        return _around(definitions[form["$ref"].rsplit("/", 1)[1]], definitions, path, value)
    key, rest = path[0], path[1:]
    if key in form.get("properties", {}):
        made = {
            other: _minimal(form["properties"][other], definitions)
            for other in form.get("required", ())
            if other != key
        }
        made[key] = _around(form["properties"][key], definitions, rest, value)
        return made
    if isinstance(key, int) and isinstance(form.get("items"), dict):
        return [_around(form["items"], definitions, rest, value)]
    if isinstance(key, str) and isinstance(form.get("additionalProperties"), dict):
        return {key: _around(form["additionalProperties"], definitions, rest, value)}
    for other in (*form.get("anyOf", ()), *form.get("oneOf", ())):
        try:
            return _around(other, definitions, path, value)
        except KeyError:
            continue
    raise KeyError(path)


#: Texts of which one fits most patterns.
_USUAL = ("0-1", "1Gi", "2M", "50", "some", "some.example.com", "/some", "performance", "a.service")
#: What may be needed beside a value, in the mapping that holds it.
_BESIDE: tuple[dict[str, Any], ...] = (
    {},
    {"count": 2},
    {"percent": 20},
    {"rest": True},
    {"cpus": 2},
    {"percent": "50", "cpus": 1},
    {"percent": "50"},
    {"cpus": "2"},
    {"per": "numaNode", "count": 1},
    {"cores": [{"threads": ["0-7", "8-15"]}]},
    {"cpus": ["0-3,8-11", "4-7,12-15"]},
    {"id": 0},
    {"level": 3, "per": "socket"},
    {"actions": [{"type": "None"}]},
    {"machineConfigSelector": {"matchLabels": {"a": "b"}}},
)


@cache
def _schema(kind: str) -> dict[str, Any]:
    return schema(kind)


@cache
def _document(kind: str) -> Any:
    """The spec of the usual document of a kind."""
    documents = {"Intent": INTENT, "Hardware": SITE, "Nodes": SITE}
    for document in yaml.safe_load_all(documents.get(kind, "")):
        if document["kind"] == kind:
            return document["spec"]
    return {}


def _specs(leaf: Leaf, value: Any) -> Iterator[Any]:
    """Specs that may be right where the value is."""
    whole = _schema(leaf.kind)
    definitions = whole["definitions"]
    base = _base(leaf)
    depths = range(len(leaf.path) - 1, -1, -1)
    for depth in depths:
        for beside in _BESIDE:
            spec = _around(whole["properties"]["spec"], definitions, leaf.path, value)
            holder = spec
            for step in leaf.path[:depth]:
                holder = holder[step]
            if not isinstance(holder, dict) or set(beside) & set(holder):
                continue
            holder.update(deepcopy(beside))
            yield _merged(base, spec, leaf.path)


def _base(leaf: Leaf) -> Any:
    """The spec of the usual document of a kind, without what the leaf replaces."""
    if leaf.kind == "Hardware" and leaf.path[0] == "topology":
        return {"topology": deepcopy(_TOPOLOGY)}
    return deepcopy(_document(leaf.kind))


#: Mappings that are replaced as a whole: their keys exclude each other.
_WHOLE = {"reserved", "isolated", "shared", "isolcpus", "offlined", "near", "perDevice"}


def _merged(base: Any, spec: Any, path: Path) -> Any:
    """The spec with what the base has besides."""
    if not isinstance(base, dict) or not isinstance(spec, dict):
        return spec
    made = {**base, **spec}
    for key in base:
        if path and key == path[0] and key not in _WHOLE:
            made[key] = _merged(base[key], spec[key], path[1:])
        elif key in spec and not (path and key == path[0]):
            made[key] = base[key]
    return made


@cache
def _form(leaf: Leaf) -> int | None:
    """Which of the specs is right with a usual value; None if none is."""
    for number, spec in enumerate(_specs(leaf, leaf.usual)):
        try:
            KINDS[leaf.kind].model_validate(spec)
        except ValueError:
            continue
        return number
    return None


def is_reachable(leaf: Leaf) -> bool:
    """Whether the generator knows a document that is right where the leaf has a usual value."""
    return _form(leaf) is not None


def project(leaf: Leaf, text: str) -> dict[str, str]:
    """The files of a project with one value."""
    wanted = _form(leaf) or 0
    written = _Literal(text) if leaf.is_number else text
    spec = next(spec for number, spec in enumerate(_specs(leaf, written)) if number == wanted)
    files = {"inventories/site.yaml": SITE, "intents/main.yaml": INTENT}
    name = {"Hardware": "small", "Nodes": "lab", "Intent": "main"}.get(leaf.kind, "some")
    document = {
        "apiVersion": "cpuplan.io/v1alpha1",
        "kind": leaf.kind,
        "metadata": {"name": name if leaf.kind != "Cluster" else "lab"},
        "spec": spec,
    }
    made = yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=10**6)
    if leaf.kind == "Intent":
        files["intents/main.yaml"] = made
    elif leaf.kind in _INTENT_PATHS:
        kept = SITE.split("---\n")[1 - _INTENT_PATHS[leaf.kind]]
        files["inventories/site.yaml"] = f"{made}---\n{kept}"
    else:
        files["inventories/other.yaml"] = made
    return files
