"""Read output files again before they are written, and check them against their schemas.

Only new and changed files are checked, and only one of several files that differ in nothing but
their own name. A problem here is a mistake in cpuplan (CP570): nothing is written.
"""

import json
import re
import tomllib
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.kubelet.config import schema as kubelet_schema
from cpuplan.resources import resource
from cpuplan.write import readback, system_files
from cpuplan.write.fits import Check, compiled
from cpuplan.write.readback import Written

#: Reads the bytes of a file: the schema's name, and the values.
_Reader = Callable[[bytes], tuple[str, Written]]


def check(files: Mapping[str, bytes]) -> list[Diagnostic]:
    """CP570 for each file that cannot be read back, or not as what it was made from."""
    seen: set[tuple[str, bytes]] = set()
    diagnostics: list[Diagnostic] = []
    for path, data in sorted(files.items()):
        folder, _, file = path.rpartition("/")
        name = (file.rpartition(".")[0] or file).encode()
        like = folder, data.replace(b"name: " + name + b"\n", b"name:\n", 1)
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
            _inside(value, "spec", "kubeletConfig"),
            f"{at}.spec.kubeletConfig",
        )
    if name in _CARRIERS:
        yield from _carried(name, value)
    if _inside(value, "kind") == "ConfigMap":
        yield from _in_config_map(value)


def _in_config_map(value: Any) -> Iterator[tuple[str, str]]:
    """Problems in the texts of a ConfigMap, by their keys."""
    data = _inside(value, "data")
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
    for file in _inside(value, *way) or ():
        path, text = _inside(file, "path"), _inside(file, *content)
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


@cache
def _fits(name: str) -> Check:
    """Whether a value is valid by the schema of a kind."""
    return compiled(_schema(name) or {})


def _document(name: str) -> _Reader:
    return lambda data: (name, readback.document(data))


def _talos(data: bytes) -> tuple[str, Written]:
    return "talos", readback.documents(data)


def _cloud_init(data: bytes) -> tuple[str, Written]:
    if not data.startswith(b"#cloud-config\n"):
        raise ValueError("cloud-init would not know its format")
    return "cloud-init", readback.document(data)


def _object(data: bytes) -> tuple[str, Written]:
    written = readback.document(data)
    kind = _inside(written.value, "kind")
    if not isinstance(kind, str) or not re.fullmatch(r"[A-Za-z]+", kind):
        raise ValueError("no object: it has no kind")
    return kind, written


def _read(name: str, read: Callable[[bytes], Any]) -> _Reader:
    return lambda data: (name, Written(read(data), True))


def _json(name: str) -> _Reader:
    return _read(name, json.loads)


def _toml(name: str) -> _Reader:
    return _read(name, lambda data: tomllib.loads(data.decode()))


#: Where what lays down files has them, and in each its content.
_CARRIERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "KubeadmConfigTemplate": (("spec", "template", "spec", "files"), ("content",)),
    "MachineConfig": (("spec", "config", "storage", "files"), ("contents", "source")),
    "butane": (("storage", "files"), ("contents", "inline")),
    "cloud-init": (("write_files",), ("content",)),
    "ignition": (("storage", "files"), ("contents", "source")),
}

#: Keys of ConfigMaps with an object as text.
_OBJECTS_AS_TEXT = ("tuning", "koord-scheduler-config")
#: By paths below `out/`; other files are lines for a boot loader, scripts and what is shipped.
_READERS: tuple[tuple[re.Pattern[str], _Reader], ...] = (
    (re.compile(r"^nodes/[^/]+/[^/]+\.cloud-init\.yaml$"), _cloud_init),
    (re.compile(r"^nodes/[^/]+/[^/]+\.butane\.yaml$"), _document("butane")),
    (re.compile(r"^nodes/[^/]+/[^/]+\.talos\.yaml$"), _talos),
    (re.compile(r"^nodes/[^/]+/[^/]+\.schematic\.yaml$"), _document("schematic")),
    (re.compile(r"^nodes/[^/]+/[^/]+\.bottlerocket\.toml$"), _toml("bottlerocket")),
    (re.compile(r"^nodes/[^/]+/[^/]+\.ign$"), _json("ignition")),
    (re.compile(r"^ansible/(?!roles/)[^/]+/[^/]+\.yaml$"), _document("ansible")),
    (re.compile(r"/20-node-[^/]+\.yaml$"), _document("koordinator-node")),
    (
        re.compile(r"/20-configmap-koord-scheduler-config\.yaml$"),
        _document("koord-scheduler-config"),
    ),
    (
        re.compile(r"/20-configmap-slo-controller-config\.yaml$"),
        _document("slo-controller-config"),
    ),
    (re.compile(r"^clusters/[^/]+/koordinator/argocd-cm\.yaml$"), _document("argocd-cm")),
    (re.compile(r"^clusters/[^/]+/koordinator/pods/[^/]+\.yaml$"), _document("pod-template")),
    (re.compile(r"^data\.resource\.exclusions$"), _document("argocd-exclusions")),
    (re.compile(r"^data\.[a-z-]+-config$"), _json("slo-config")),
    # The playbook and the role are shipped as they are.
    (re.compile(r"^(?!ansible/(roles/|cpuplan\.yaml$)).*\.yaml$"), _object),
    (re.compile(r"/kubelet\.conf\.d/[^/]+$"), _object),
    (re.compile(r"/crio\.conf\.d/[^/]+$"), _toml("crio")),
    (re.compile(r"/containerd/conf\.d/[^/]+$"), _toml("containerd")),
    (re.compile(r"^clusters/[^/]+/cluster\.json$"), _json("cluster")),
    (re.compile(r"^clusters/[^/]+/node-labels/[^/]+\.json$"), _json("node-labels")),
    (re.compile(r"^clusters/[^/]+/expected/pools/[^/]+\.json$"), _json("pool")),
    (re.compile(r"^nodes/[^/]+/[^/]+\.json$"), _json("nodes")),
    (re.compile(r"^\.cpuplan/classes/[^/]+/[^/]+\.json$"), _json("class")),
    (re.compile(r"/openshift-workload-mixed-cpus$"), _json("openshift-workload-mixed-cpus")),
    (re.compile(r"/openshift-workload-pinning$"), _json("openshift-workload-pinning")),
    (re.compile(r"/etc/tuned/.+/tuned\.conf$"), _read("tuned", system_files.sections)),
    (re.compile(r"/recommend\.d/[^/]+$"), _read("tuned-recommend", system_files.sections)),
    (re.compile(r"/etc/sysctl\.d/[^/]+\.conf$"), _read("sysctl", system_files.pairs)),
    (re.compile(r"/etc/tmpfiles\.d/[^/]+\.conf$"), _read("tmpfiles", system_files.writes)),
    (re.compile(r"/etc/udev/rules\.d/[^/]+\.rules$"), _read("udev", system_files.rules)),
    (re.compile(r"/etc/cpuplan/irqbalance$"), _read("irqbalance", system_files.pairs)),
    (re.compile(r"/etc/systemd/.+\.(conf|service|slice)$"), _read("unit", system_files.sections)),
)
