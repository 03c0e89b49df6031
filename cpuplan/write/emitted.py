"""Read output files again before they are written, and check them against their schemas.

Only new and changed files are checked, and only one of several files that differ in nothing but
their own name. A problem here is a mistake in cpuplan (CP570): nothing is written.
"""

import json
import re
import tomllib
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath
from typing import Any

import yaml

from cpuplan.composer import LOADER
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.emit import to_yaml
from cpuplan.kubelet.config import schema as kubelet_schema
from cpuplan.resources import resource
from cpuplan.write.fits import fits

#: Reads the bytes of a file: the schema's name, and the values.
_Reader = Callable[[bytes], tuple[str, Any]]


def check(files: Mapping[str, bytes]) -> list[Diagnostic]:
    """CP570 for each file that cannot be read back, or not as what it was made from."""
    seen: set[tuple[str, bytes]] = set()
    diagnostics: list[Diagnostic] = []
    for path, data in sorted(files.items()):
        name = PurePosixPath(path).stem.encode()
        like = (
            str(PurePosixPath(path).parent),
            data.replace(b"name: " + name + b"\n", b"name:\n", 1),
        )
        if like not in seen:
            seen.add(like)
            diagnostics += [_wrong(path, *problem) for problem in _problems(path, data)]
    return diagnostics


def _wrong(path: str, field: str, problem: str) -> Diagnostic:
    at = f" at {field}" if field not in ("", "$") else ""
    return diagnose("CP570", path=f"out/{path}", at=at, problem=problem)


def _problems(path: str, data: bytes) -> Iterator[tuple[str, str]]:
    """(field, problem) of one file."""
    reader = next((reader for pattern, reader in _READERS if pattern.search(path)), None)
    if reader is None:
        return
    try:
        name, value = reader(data)
    except ValueError as error:
        yield "", f"cannot be read: {' '.join(str(error).split())}"
        return
    if reader is _object and _says(value) != _lines(data.decode()):
        yield "", "reads back differently from its source"
    yield from _invalid(name, value)


def _invalid(name: str, value: Any, at: str = "$") -> Iterator[tuple[str, str]]:
    """Violations of the schema `name`, also in the texts that an object contains."""
    schema = _schema(name)
    if schema is None:
        yield at, f"is of a kind without a schema: {name}"
        return
    if not fits(value, schema):
        yield from _violations(value, schema, at)
    if name == "KubeletConfig":
        yield from _invalid(
            "KubeletConfiguration",
            _inside(value, "spec", "kubeletConfig"),
            f"{at}.spec.kubeletConfig",
        )
    if name == "MachineConfig":
        yield from _carried(value)
    if name == "ConfigMap":
        yield from _problems("data.tuning.yaml", str(_inside(value, "data", "tuning")).encode())


def _violations(value: Any, schema: dict[str, Any], at: str) -> Iterator[tuple[str, str]]:
    from jsonschema import Draft7Validator  # heavy, and needed to explain a mistake only

    for error in Draft7Validator(schema).iter_errors(value):
        yield (
            at + error.json_path[1:],
            error.message if len(error.message) < 200 else f"breaks {error.validator}",
        )


def _carried(machine_config: Any) -> Iterator[tuple[str, str]]:
    """Problems in the files that a MachineConfig writes to nodes."""
    for file in _inside(machine_config, "spec", "config", "storage", "files") or ():
        path, source = _inside(file, "path"), _inside(file, "contents", "source")
        if isinstance(path, str) and isinstance(source, str):
            for field, problem in _problems(f"nodes{path}", b64decode(source.partition(",")[2])):
                yield f"{path} {field.removeprefix('$')}".rstrip(), problem


def _says(value: object) -> list[str]:
    """The lines of a value as YAML."""
    try:
        return _lines(to_yaml(value))
    except (TypeError, ValueError):
        return []


def _lines(text: str) -> list[str]:
    """Without comments."""
    return [line for line in text.splitlines() if not line.lstrip().startswith("#")]


def _inside(value: Any, *way: str) -> Any:
    for key in way:
        value = value.get(key) if isinstance(value, dict) else None
    return value


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


def _object(data: bytes) -> tuple[str, Any]:
    try:
        value = yaml.load(data, LOADER)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    kind = _inside(value, "kind")
    if not isinstance(kind, str) or not re.fullmatch(r"[A-Za-z]+", kind):
        raise ValueError("no object: it has no kind")
    return kind, value


def _json(name: str) -> _Reader:
    def read(data: bytes) -> tuple[str, Any]:
        return name, json.loads(data)

    return read


def _toml(data: bytes) -> tuple[str, Any]:
    return "crio", tomllib.loads(data.decode())


#: By paths below `out/`; other files are lines for a boot loader, units and scripts.
_READERS: tuple[tuple[re.Pattern[str], _Reader], ...] = (
    (re.compile(r"\.yaml$"), _object),
    (re.compile(r"/kubelet\.conf\.d/[^/]+$"), _object),
    (re.compile(r"/crio\.conf\.d/[^/]+$"), _toml),
    (re.compile(r"^clusters/[^/]+/cluster\.json$"), _json("cluster")),
    (re.compile(r"^clusters/[^/]+/node-labels/[^/]+\.json$"), _json("node-labels")),
    (re.compile(r"^clusters/[^/]+/expected/pools/[^/]+\.json$"), _json("pool")),
    (re.compile(r"^nodes/[^/]+/[^/]+\.json$"), _json("nodes")),
    (re.compile(r"^\.cpuplan/classes/[^/]+/[^/]+\.json$"), _json("class")),
    (re.compile(r"/openshift-workload-mixed-cpus$"), _json("openshift-workload-mixed-cpus")),
    (re.compile(r"/openshift-workload-pinning$"), _json("openshift-workload-pinning")),
)
