"""Read output files again before they are written, and check them against their schemas.

Only new and changed files are checked, and only one of several files of a kind that differ in
nothing but their own name. A problem here is a mistake in cpuplan (CP570): nothing is written.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from cpuplan.base.fits import Check, compiled
from cpuplan.base.progress import follow
from cpuplan.base.resources import resource
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.upstream.kubelet.config import types as kubelet_schema
from cpuplan.write.readers import Reader, inside, reader_of

#: Where what lays down files has them, and in each its content.
_CARRIERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "KubeadmConfigTemplate": (("spec", "template", "spec", "files"), ("content",)),
    "MachineConfig": (("spec", "config", "storage", "files"), ("contents", "source")),
    "butane": (("storage", "files"), ("contents", "inline")),
    "cloud-init": (("write_files",), ("content",)),
    "ignition": (("storage", "files"), ("contents", "source")),
}

#: What stands before the name of an object in the name of its file.
_KIND = re.compile(r"[0-9]{2}-[a-z]+-")
#: Keys of ConfigMaps with an object as text.
_OBJECTS_AS_TEXT = ("tuning", "koord-scheduler-config")


def check(files: Mapping[str, bytes]) -> list[Diagnostic]:
    """CP570 for each file that cannot be read back, or not as what it was made from."""
    seen: set[tuple[Reader, bytes]] = set()
    diagnostics: list[Diagnostic] = []
    for path, data in follow("files", len(files), sorted(files.items()), lambda item: item[0]):
        reader = reader_of(path)
        if reader is None:
            continue
        like = reader, _without_name(path, data)
        if like not in seen:
            seen.add(like)
            diagnostics += [_wrong(path, *problem) for problem in _read(reader, data)]
    return diagnostics


def _without_name(path: str, data: bytes) -> bytes:
    """A file without its own name, which ends that of the file: `20-node-<name>.yaml`."""
    file = path.rpartition("/")[2]
    name = _KIND.sub("", file.rpartition(".")[0] or file).encode()
    return data.replace(b"name: " + name + b"\n", b"name:\n", 1)


def _wrong(path: str, field: str, problem: str) -> Diagnostic:
    at = f" at {field}" if field not in ("", "$") else ""
    return diagnose("CP570", path=f"out/{path}", at=at, problem=problem)


def _problems(path: str, data: bytes) -> Iterator[tuple[str, str]]:
    """(field, problem) of one file."""
    reader = reader_of(path)
    if reader:
        yield from _read(reader, data)


def _read(reader: Reader, data: bytes) -> Iterator[tuple[str, str]]:
    """(field, problem) of what a reader makes of one file."""
    try:
        name, (value, is_canonical) = reader(data)
    except ValueError as error:
        yield "", f"cannot be read: {' '.join(str(error).split())}"
        return
    if not is_canonical:
        yield "", "reads back differently from its source"
    yield from _invalid(name, value)


def _invalid(name: str, value: Any, at: str = "$") -> Iterator[tuple[str, str]]:
    """Violations of the schema `name`, also in the texts that an object contains."""
    schema = _schema(name)
    if schema is None:
        yield at, f"is of a kind without a schema: {name}"
        return
    if not _fits(name)(value):
        yield from _violations(value, schema, at)
    if name == "KubeletConfig":
        yield from _invalid(
            "KubeletConfiguration",
            inside(value, "spec", "kubeletConfig"),
            f"{at}.spec.kubeletConfig",
        )
    if name == "topologies":
        yield from _of_first_node(value, at)
    if name in _CARRIERS:
        yield from _carried(name, value)
    if inside(value, "kind") == "ConfigMap":
        yield from _in_config_map(value)


def _of_first_node(value: Any, at: str) -> Iterator[tuple[str, str]]:
    """Problems of the object that the nodes of a class have, named after one of them."""
    if _fits("topologies")(value):
        topology, name = value["object"], {"name": value["nodes"][0]}
        metadata = topology.get("metadata", {})
        named = {**metadata, **name} if isinstance(metadata, dict) else metadata
        yield from _invalid("NodeResourceTopology", {**topology, "metadata": named}, f"{at}.object")


def _in_config_map(value: Any) -> Iterator[tuple[str, str]]:
    """Problems in the texts of a ConfigMap, by their keys."""
    data = inside(value, "data")
    for key, text in (data if isinstance(data, dict) else {}).items():
        end = ".yaml" if key in _OBJECTS_AS_TEXT else ""
        if isinstance(text, str):
            yield from _problems(f"data.{key}{end}", text.encode())


def _violations(value: Any, schema: dict[str, Any], at: str) -> Iterator[tuple[str, str]]:
    from jsonschema import Draft7Validator  # heavy, and needed to explain a mistake only

    for error in Draft7Validator(schema).iter_errors(value):
        yield (
            at + error.json_path[1:],
            error.message if len(error.message) < 200 else f"breaks {error.validator}",
        )


def _carried(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Problems in the files that a file of the kind `name` writes to nodes."""
    way, content = _CARRIERS[name]
    for file in inside(value, *way) or ():
        path, text = inside(file, "path"), inside(file, *content)
        if isinstance(path, str) and isinstance(text, str):
            yield from _in_file(path, text, is_encoded=content[-1] == "source")


@lru_cache(maxsize=1 << 10)
def _in_file(path: str, text: str, *, is_encoded: bool) -> tuple[tuple[str, str], ...]:
    """The problems of a file on nodes; many objects carry the same."""
    data = b64decode(text.partition(",")[2]) if is_encoded else text.encode()
    return tuple(
        (f"{path} {field.removeprefix('$')}".rstrip(), problem)
        for field, problem in _problems(f"nodes{path}", data)
    )


@cache
def _schema(name: str) -> dict[str, Any] | None:
    """The schema of a kind; None for a kind without one."""
    if name == "KubeletConfiguration":
        return kubelet_schema.schema()
    path = resource("schemas", "emitted", f"{name}.schema.json")
    if not path.is_file():
        return None
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema


@cache
def _fits(name: str) -> Check:
    """Whether a value is valid by the schema of a kind."""
    return compiled(_schema(name) or {})
