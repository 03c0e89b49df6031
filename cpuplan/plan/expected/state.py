"""The expected state of a class, its file, and what is compared with it."""

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import PurePath
from typing import Any, NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.emit import Encoded, to_json
from cpuplan.base.fits import Form as FileForm
from cpuplan.base.fits import Schema
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import CpuplanError, Reason, diagnose
from cpuplan.facts import platforms
from cpuplan.facts.platforms import Platform
from cpuplan.facts.settings.costs import Cost
from cpuplan.facts.settings.row import Form
from cpuplan.facts.versions import Version
from cpuplan.plan import Pool
from cpuplan.plan.expected import machine
from cpuplan.plan.setting import Effect, Evidence, Setting, Settings, Value, plain

#: The only key of a map that stands for a set of CPUs. No program's setting has such a key.
_CPUS = "cpuset()"


def encode_value(value: Value) -> Any:
    """A value for JSON."""
    if isinstance(value, CpuSet):
        return {_CPUS: str(value)}
    if isinstance(value, dict):
        return {key: encode_value(item) for key, item in value.items()}
    return list(map(encode_value, value)) if isinstance(value, tuple) else value


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise ValueError(f"{data!r} is no set of CPUs")
    return data


def decode_value(data: Any) -> Value:
    """The value of `encode`. Raises ValueError for what it never gives."""
    if isinstance(data, dict):
        if data.keys() == {_CPUS}:
            return CpuSet.parse(_text(data[_CPUS]))
        return {str(key): decode_value(item) for key, item in data.items()}
    if isinstance(data, list):
        return tuple(map(decode_value, data))
    if isinstance(data, bool | int | float | str):
        return data
    raise ValueError(f"{data!r} is no value of a setting")


#: The form of the file. A program reads files of its own form only.
FORM = 1
#: Below the folder of a cluster in `out/`.
FOLDER = "expected/state"


_TEXT: Schema = {"type": "string"}
_NUMBERS: Schema = {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}
#: Why there is something, as every file of `out/` has it.
REASONS: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["text", "origin"],
        "properties": {"text": _TEXT, "origin": _TEXT},
    },
}
_SETTING: Schema = {
    "type": "object",
    "required": ["component", "key", "value", "because"],
    "properties": {
        **dict.fromkeys(("component", "key", "shownBy", "changeCosts"), _TEXT),
        "because": REASONS,
        "evidence": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["path", "form", "value", "since"],
                "properties": dict.fromkeys(("path", "form", "since"), _TEXT),
            },
        },
    },
}
#: The types of a file's values. The digest says nothing of who wrote it.
_FILE = FileForm(
    {
        "type": "object",
        "required": [
            *("digest", "inputs", "nodes", "cluster", "class", "intent", "hardware", "release"),
            *("machine", "devices", "pools", "settings", "files", "facts"),
        ],
        "properties": {
            **dict.fromkeys(("digest", "inputs", "cluster", "class", "intent", "hardware"), _TEXT),
            "nodes": {"type": "array", "items": _TEXT},
            "release": {
                "type": "object",
                "properties": {"kubernetes": _NUMBERS, "containerd": _NUMBERS},
                "additionalProperties": _TEXT,
            },
            "machine": machine.FORM,
            "devices": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["address", "numaNode"],
                    "properties": {
                        "address": _TEXT,
                        "numaNode": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                    },
                },
            },
            "pools": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "required": ["cpus", "because"],
                    "properties": {"cpus": _TEXT, "because": REASONS},
                },
            },
            "settings": {"type": "array", "items": _SETTING},
            "files": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "required": ["text", "executable", "component"],
                    "properties": {
                        "text": _TEXT,
                        "executable": {"type": "boolean"},
                        "component": _TEXT,
                    },
                },
            },
            "facts": {"type": "object"},
        },
    }
)


class UnreadableStateError(ValueError):
    """A file is no expected state, or one of another form; the text says which."""


class NodeFile(NamedTuple):
    """A file of the root file system of each node."""

    text: str
    is_executable: bool = False
    #: The component whose settings it has.
    component: str = ""


class Device(NamedTuple):
    """A device that the inventory names: its PCI address and its NUMA node, if known."""

    address: str
    numa_node: int | None


class Release(NamedTuple):
    """What the nodes run, as the target of the intent says."""

    platform: str
    version: str
    #: None for a release that the tables do not have.
    kubernetes: Version | None
    runtime: str
    containerd: Version | None = None
    pool: str = ""
    #: The kubelet's drop-in; "" where it gets none.
    kubelet_drop_in: str = ""
    #: The unit that runs the kubelet, where the target says another one than the platform has.
    kubelet_unit: str = ""


@dataclass(frozen=True, eq=False)
class Expected:
    """All that is known of the nodes of a class."""

    cluster: str
    name: str
    intent: str
    hardware: str
    nodes: tuple[str, ...]
    release: Release
    topology: Topology
    devices: tuple[Device, ...]
    #: Pools, partitions and QoS sets, by name.
    pools: Mapping[str, Pool]
    settings: Settings
    #: By absolute path.
    files: Mapping[str, NodeFile]
    #: What follows from the plan and is no setting, by a name in words.
    facts: Mapping[str, Value]
    #: SHA-256 of the documents that it was made from, as `expected.inputs` has them.
    inputs: str = ""

    @property
    def platform(self) -> Platform:
        """The platform of the nodes."""
        return platforms.PLATFORMS[self.release.platform]

    @property
    def kubelet_service(self) -> str:
        """The unit that runs the kubelet."""
        return self.release.kubelet_unit or self.platform.kubelet_unit

    def pool(self, name: str) -> Pool:
        """The pool or set `name`; an empty one where the layout has none."""
        return self.pools.get(name) or Pool(name, EMPTY, ())

    def cpus(self, fact: str) -> CpuSet:
        """A fact that is a set of CPUs; empty where there is no such fact."""
        value = self.facts.get(fact, EMPTY)
        return value if isinstance(value, CpuSet) else EMPTY

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the plan: what nodes get and must hold, without words and reasons."""
        return _digest(self)


def render(expected: Expected, facts: Mapping[str, Value] | None = None) -> str:
    """The file of an expected state; `facts` are further ones, which the digest is not about."""
    head = {"form": FORM, "digest": expected.digest, "inputs": expected.inputs}
    return to_json({**head, "nodes": list(expected.nodes), **_plan(expected, facts or {})})


def _digest(expected: Expected) -> str:
    data = {
        "class": [expected.cluster, expected.name],
        "release": [expected.release.platform, expected.release.version],
        "pools": {name: str(pool.cpus) for name, pool in expected.pools.items()},
        "settings": [
            [setting.component, setting.key, plain(setting.value)] for setting in expected.settings
        ],
        "files": {path: list(file[:2]) for path, file in expected.files.items()},
    }
    return sha256(to_json(data).encode()).hexdigest()


def _release(release: Release) -> dict[str, Any]:
    """All values; the unit only where a target says it, so that other files stay as they are."""
    data = release._asdict()
    if not release.kubelet_unit:
        del data["kubelet_unit"]
    return data


def _plan(expected: Expected, facts: Mapping[str, Value]) -> dict[str, Any]:
    release, all_facts = expected.release, {**expected.facts, **facts}
    return {
        "cluster": expected.cluster,
        "class": expected.name,
        "intent": expected.intent,
        "hardware": expected.hardware,
        "release": _release(release),
        "machine": _machine(expected.topology),
        "devices": list(map(_device, expected.devices)),
        "pools": {name: _pool(pool) for name, pool in expected.pools.items()},
        "settings": list(map(_setting, expected.settings)),
        "files": {path: _file(file) for path, file in expected.files.items()},
        "facts": {name: encode_value(value) for name, value in all_facts.items()},
    }


@lru_cache(maxsize=64)
def _machine(topology: Topology) -> Encoded:
    """The machine, a third of a file: many classes have the same."""
    return Encoded(machine.encode(topology))


def _device(device: Device) -> dict[str, Any]:
    return {"address": device.address, "numaNode": device.numa_node}


def _pool(pool: Pool) -> dict[str, Any]:
    return {"cpus": str(pool.cpus), "because": because_data(pool.because)}


@lru_cache(maxsize=1 << 12)
def because_data(reasons: tuple[Reason, ...]) -> Encoded:
    """Reasons: most settings have the same in all classes."""
    return Encoded([{"text": reason.text, "origin": reason.origin} for reason in reasons])


def _file(file: NodeFile) -> dict[str, Any]:
    return {"text": file.text, "executable": file.is_executable, "component": file.component}


def _setting(setting: Setting) -> dict[str, Any]:
    data = {
        "component": setting.component,
        "key": setting.key,
        "value": encode_value(setting.value),
        "because": because_data(setting.reasons),
    }
    if setting.effect:
        data["shownBy"] = setting.effect.shown_by
        data["changeCosts"] = setting.effect.change_costs.value
        data["evidence"] = list(map(_evidence, setting.effect.evidence))
    return data


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "path": evidence.path,
        "form": evidence.form.value,
        "value": encode_value(evidence.value),
        "since": evidence.since,
    }


def read(text: str) -> Expected:
    """The expected state of a file. Raises UnreadableStateError."""
    try:
        data = read_json(text)
        form = data.get("form") if isinstance(data, dict) else None
        if form is not None and form != FORM:
            raise UnreadableStateError(f"its form is {form}, and this release reads form {FORM}")
        if form is None or not _FILE.fits(data):
            raise UnreadableStateError("it is no expected state of a class")
        expected = _expected(data)
    except UnreadableStateError:
        raise
    except (ForeignError, ValueError, KeyError, TypeError, IndexError) as error:
        raise UnreadableStateError("it is no expected state of a class") from error
    if expected.digest != data["digest"]:
        raise UnreadableStateError("its content is not that of its digest: it was edited")
    return expected


def _expected(data: Mapping[str, Any]) -> Expected:
    release = Release(**data["release"])
    _ = platforms.PLATFORMS[release.platform]
    return Expected(
        data["cluster"],
        data["class"],
        data["intent"],
        data["hardware"],
        tuple(map(str, data["nodes"])),
        release._replace(
            kubernetes=_version(release.kubernetes), containerd=_version(release.containerd)
        ),
        machine.decode(data["machine"]),
        tuple(Device(device["address"], device["numaNode"]) for device in data["devices"]),
        {name: _pool_of(name, pool) for name, pool in data["pools"].items()},
        Settings(map(_setting_of, data["settings"])),
        {path: _file_of(file) for path, file in data["files"].items()},
        {name: decode_value(value) for name, value in data["facts"].items()},
        data["inputs"],
    )


def _file_of(data: Mapping[str, Any]) -> NodeFile:
    return NodeFile(data["text"], data["executable"], data["component"])


def _version(numbers: Any) -> Version | None:
    return None if numbers is None else (int(numbers[0]), int(numbers[1]))


def _pool_of(name: str, data: Mapping[str, Any]) -> Pool:
    return Pool(name, CpuSet.parse(data["cpus"]), _reasons(data["because"]))


def _reasons(data: Any) -> tuple[Reason, ...]:
    return tuple(Reason(reason["text"], reason["origin"]) for reason in data)


def _setting_of(data: Mapping[str, Any]) -> Setting:
    effect = None
    if "shownBy" in data:
        shown = tuple(map(_evidence_of, data["evidence"]))
        effect = Effect(data["shownBy"], Cost(data["changeCosts"]), shown)
    value = decode_value(data["value"])
    return Setting(data["component"], data["key"], value, _reasons(data["because"]), effect)


def _evidence_of(data: Mapping[str, Any]) -> Evidence:
    form = Form(data["form"])
    return Evidence(data["path"], form, decode_value(data["value"]), data["since"])


@contextmanager
def used(expected: Expected, node: str) -> Iterator[None]:
    """Raise CpuplanError (CP8175) where a comparison ends for what the state holds.

    The types of a file are known, those of each setting and fact only to what compares them. A
    value that no compilation gives is never a yes, and no bug either.
    """
    try:
        yield
    except (CpuplanError, OSError, MemoryError, RecursionError):
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{PurePath(frame.filename).stem}.{frame.name}"
        problem = f"{type(error).__name__}: {error} ({place})"[:500]
        name = f"{expected.cluster}/{expected.name}"
        finding = diagnose("CP8175", node=node, name=name, problem=problem)
        raise CpuplanError([finding]) from error
