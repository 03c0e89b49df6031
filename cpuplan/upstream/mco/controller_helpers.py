"""Which KubeletConfigs and ContainerRuntimeConfigs are refused.

Source: validateUserKubeletConfig (pkg/controller/kubelet-config/helpers.go),
validateUserContainerRuntimeConfig (pkg/controller/container-runtime-config/helpers.go).

Upstream: openshift/machine-config-operator pkg/controller/kubelet-config/helpers.go
  pkg/controller/container-runtime-config/helpers.go vendor/github.com/imdario/mergo/merge.go
  @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

from cpuplan.upstream.kubelet.config.codec import convert
from cpuplan.upstream.kubelet.config.types import KIND, STRUCTS
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.durations import duration_text
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.mco.common import (
    NEWEST,
    McoError,
    Release,
    flag,
    has,
    mapping,
    mappings,
    number,
    text,
    text_mapping,
)
from cpuplan.upstream.mco.helpers import MASTER, Object, labels_of, name_of, read_selector
from cpuplan.upstream.mco.machineconfig import GENERATED_BY, ROLE_LABEL
from cpuplan.upstream.mco.render_controller import RUNNING

SUFFIX = "machineconfiguration.openshift.io/mc-name-suffix"
_MODE = 0o644


class Generated(NamedTuple):
    """A MachineConfig of the operator: texts of files by path; only users' objects have owners."""

    name: str
    role: str
    files: Mapping[str, str]
    owner: str = ""
    kernel_arguments: tuple[str, ...] = ()

    def as_object(self) -> dict[str, Any]:
        """As `render` takes it."""
        files = []
        for path, content in self.files.items():
            contents = {"source": f"data:,{quote(content)}"}
            files.append({"path": path, "mode": _MODE, "overwrite": True, "contents": contents})
        return {
            "metadata": {
                "name": self.name,
                "labels": {ROLE_LABEL: self.role},
                "annotations": {GENERATED_BY: RUNNING},
            },
            "spec": {
                "config": {"ignition": {"version": "3.2.0"}, "storage": {"files": files}},
                "kernelArguments": list(self.kernel_arguments),
            },
        }


@dataclass
class Source:
    """An object of a user, as the controller leaves it.

    `finalizers` name the MachineConfigs written of it; `accepted` is None before it is handled.
    """

    name: str
    spec: Mapping[str, Any]
    annotations: dict[str, str]
    created: int
    finalizers: list[str] = field(default_factory=list)
    accepted: bool | None = None

    @property
    def suffix(self) -> str | None:
        """The end of the names of its MachineConfigs; None before it has one."""
        return self.annotations.get(SUFFIX)

    def selects(self, pool: Object) -> bool:
        """Whether it is for a pool; an empty selector selects nothing."""
        selector = read_selector(self.spec.get("machineConfigPoolSelector"))
        return not selector.is_empty and selector.matches(labels_of(pool))


Config = dict[str, Any]

#: Fields of list items that are written even where they are absent.
_WRITTEN: dict[str, Config] = {
    "MemoryReservation": {"limits": None, "numaNode": 0},
    "ShutdownGracePeriodByPodPriority": {"priority": 0, "shutdownGracePeriodSeconds": 0},
    "Taint": {"effect": "", "key": ""},
}
_ENVELOPE = ("apiVersion", "kind")


def decode_kubelet_configuration(raw: Any) -> Config:
    """The known fields, whatever the case of their names; McoError for a value of a wrong type.

    Where text belongs, numbers and true are read as text.
    """
    try:
        return convert(_with_texts(raw, KIND), any_case=True)
    except KubeletError as error:
        raise McoError("not a KubeletConfiguration", error=str(error)) from error


def _with_texts(value: Any, go_type: str) -> Any:
    go_type = go_type.removeprefix("*")
    if go_type in STRUCTS and isinstance(value, Mapping):
        types = {name.lower(): inner for name, inner in STRUCTS[go_type].items()}
        return {
            str(key): _with_texts(inner, types.get(str(key).lower(), "any"))
            for key, inner in value.items()
        }
    if go_type.startswith("[]") and isinstance(value, list):
        return [_with_texts(item, go_type[2:]) for item in value]
    if go_type.startswith("map[string]") and isinstance(value, Mapping):
        inner_type = go_type.removeprefix("map[string]")
        return {str(key): _with_texts(inner, inner_type) for key, inner in value.items()}
    return _as_text(value) if go_type == "string" else value


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def merge_kubelet_configuration(defaults: Config, given: Config) -> Config:
    """The defaults as JSON with what is given; false, 0, "" and empty lists do not count."""
    fields = {name: value for name, value in given.items() if name not in _ENVELOPE}
    return _merge_struct(defaults, fields, KIND)


def _merge_struct(defaults: Config, given: Config, struct: str) -> Config:
    merged = dict(defaults)
    for name, value in given.items():
        go_type = STRUCTS[struct][name]
        kind = go_type.removeprefix("*")
        if kind in STRUCTS:
            inner = _merge_struct(merged.get(name) or {}, value, kind)
            if inner or go_type != kind:
                merged[name] = inner
        elif kind.startswith("map") and value:
            merged[name] = {**(merged.get(name) or {}), **_json(value, kind)}
        elif value or _is_new_pointer(go_type, merged.get(name)):
            merged[name] = _json(value, kind)
    return merged


def _is_new_pointer(go_type: str, default: Any) -> bool:
    """Without a default even false, 0 and "" are kept."""
    return go_type.startswith("*") and default is None


def _json(value: Any, go_type: str) -> Any:
    go_type = go_type.removeprefix("*")
    if isinstance(value, list):
        return [_json(item, go_type.removeprefix("[]")) for item in value]
    if go_type in STRUCTS:
        fields = STRUCTS[go_type]
        return _WRITTEN.get(go_type, {}) | {
            name: _json(inner, fields[name]) for name, inner in value.items()
        }
    if isinstance(value, dict):
        inner_type = go_type.removeprefix("map[string]")
        return {key: _json(inner, inner_type) for key, inner in value.items()}
    if go_type == "metav1.Duration":
        return duration_text(value)
    return str(value) if go_type == "Quantity" else value


PREFIX = "99"
_MOST = 9


def generated_name(prefix: str, pool: Object, kind: str) -> str:
    """The name without a number."""
    return f"{prefix}-{name_of(pool)}-generated-{kind}"


def managed_name(
    pool: Object,
    source: Source,
    sources: Collection[Source],
    written: Collection[str],
    kind: str,
) -> str:
    """The name for one pool: numbers follow the order of creation, and are kept.

    `sources` are all objects of the kind, `written` all MachineConfigs. McoError for the eleventh
    object of a pool.
    """
    first = generated_name(PREFIX, pool, kind)
    if source.suffix is not None:
        return f"{first}-{source.suffix}" if source.suffix else first
    rivals = [rival for rival in sources if rival.selects(pool)]
    if len(rivals) == 1:
        return first
    if any(rival.created > source.created for rival in rivals):
        earlier = _last_written(first, source, written)
        if earlier:
            return earlier
    number = max(int(rival.suffix or 0) for rival in rivals) + 1
    if number > _MOST:
        raise McoError("too many objects for a pool", pool=name_of(pool), most=_MOST + 1)
    return f"{first}-{number}"


def _last_written(first: str, source: Source, written: Collection[str]) -> str | None:
    """Of an object without annotation: the MachineConfig with the highest number."""
    names: dict[int, str] = {}
    for name in source.finalizers:
        end = name.rpartition("-")[2]
        if name in written and name.startswith(first) and (end.isdecimal() or name == first):
            names.setdefault(int(end) if end.isdecimal() else 0, name)
    return names[max(names)] if names else None


def suffix_of(name: str) -> str:
    """The number at the end of a name, "" without one."""
    end = name.rpartition("-")[2]
    return end if end.isdecimal() else ""


ARBITER = "arbiter"
_MASTER_LABEL = "node-role.kubernetes.io/master"
_LOG_LEVELS = range(11)
_REFUSED = ("cgroupDriver", "clusterDNS", "clusterDomain", "featureGates")
_LEAST_PIDS, _LEAST_LOG_SIZE = 20, 8193
_RUNTIME_LOG_LEVELS = ("", "error", "fatal", "panic", "warn", "info", "debug", "trace")
_RUNTIMES = ("", "crun", "runc")
_STORES = ("additionalLayerStores", "additionalImageStores", "additionalArtifactStores")
_STORE_PATH = re.compile(r"/[a-zA-Z0-9/._-]+")


def validate_kubelet_config(spec: Mapping[str, Any], release: Release = NEWEST) -> None:
    """Raises McoError for the spec of a KubeletConfig that the operator refuses.

    Values are not checked: a bad CPU list is accepted, and stops the kubelet.
    """
    level = number(spec, "logLevel")
    if level is not None and level not in _LOG_LEVELS:
        raise McoError("logLevel is not in 0 to 10", value=level)
    if spec.get("kubeletConfig") is None:
        return
    config = decode_kubelet_configuration(spec["kubeletConfig"])
    for name in _REFUSED:
        if config.get(name):
            raise McoError("a field is not allowed", field=name, value=config[name])
    _check_swap(config, release)
    _check_cgroups(config, release)
    if config.get("systemReserved") and flag(spec, "autoSizingReserved"):
        raise McoError("systemReserved and autoSizingReserved exclude each other")
    if config.get("staticPodPath") and not has(release, "kubelet.static_pods_by_pool"):
        raise McoError("a field is not allowed", field="staticPodPath")


def _check_swap(config: Config, release: Release) -> None:
    if not has(release, "kubelet.swap_refused"):
        return
    if "failSwapOn" in config:
        raise McoError("a field is not allowed", field="failSwapOn", value=config["failSwapOn"])
    if config.get("memorySwap", {}).get("swapBehavior"):
        raise McoError("a field is not allowed", field="memorySwap.swapBehavior")


def _check_cgroups(config: Config, release: Release) -> None:
    if has(release, "kubelet.system_reserved_enforced"):
        check_cgroups(config)


def check_cgroups(config: Config) -> None:
    """Raises McoError where two cgroups are given, and differ."""
    reserved, system = config.get("systemReservedCgroup"), config.get("systemCgroups")
    if reserved and system and reserved != system:
        raise McoError(
            "systemReservedCgroup differs from systemCgroups",
            field="systemReservedCgroup",
            shown=f"systemReservedCgroup {reserved} beside systemCgroups {system}",
        )


def validate_static_pods(spec: Mapping[str, Any], pool: Object, release: Release = NEWEST) -> None:
    """Raises McoError for a staticPodPath that the pool does not take.

    Pools of the control plane take none at all, others only "".
    """
    raw = spec.get("kubeletConfig")
    if raw is None or not has(release, "kubelet.static_pods_by_pool"):
        return
    if is_control_plane(pool):
        if '"staticPodPath"' in json.dumps(raw):
            raise McoError(
                "staticPodPath on the control plane", field="staticPodPath", pool=name_of(pool)
            )
    elif path := decode_kubelet_configuration(raw).get("staticPodPath"):
        raise McoError("staticPodPath is not empty", field="staticPodPath", value=path)


def is_control_plane(pool: Object) -> bool:
    """Whether a pool is for control plane nodes, by its name or its node selector."""
    if name_of(pool) in (MASTER, ARBITER):
        return True
    selector = mapping(mapping(pool, "spec"), "nodeSelector")
    if _MASTER_LABEL in mapping(selector, "matchLabels"):
        return True
    return any(
        expression.get("key") == _MASTER_LABEL and expression.get("operator") in ("Exists", "In")
        for expression in mappings(selector, "matchExpressions")
    )


def validate_container_runtime_config(spec: Mapping[str, Any]) -> None:
    """Raises McoError for the spec of a ContainerRuntimeConfig that the operator refuses."""
    config = mapping(spec, "containerRuntimeConfig")
    pids = number(config, "pidsLimit")
    if pids and pids < _LEAST_PIDS:
        raise McoError("pidsLimit is too small", value=pids)
    log_size = size(config.get("logSizeMax"))
    if log_size is not None and 0 < log_size.value < _LEAST_LOG_SIZE:
        raise McoError("logSizeMax is too small", value=str(log_size))
    overlay = size(config.get("overlaySize"))
    if overlay is not None and overlay.value < 0:
        raise McoError("overlaySize is negative", value=str(overlay))
    if text(config, "logLevel") not in _RUNTIME_LOG_LEVELS:
        raise McoError("unknown logLevel", value=config["logLevel"])
    if text(config, "defaultRuntime") not in _RUNTIMES:
        raise McoError("unknown defaultRuntime", value=config["defaultRuntime"])
    for name in _STORES:
        for store in mappings(config, name):
            _check_store(name, text(store, "path"))


def _check_store(name: str, path: str) -> None:
    if not _STORE_PATH.fullmatch(path) or "//" in path:
        raise McoError("not the path of a store", field=name, value=path)


def size(value: Any) -> quantity.Quantity | None:
    """A quantity; McoError for text that is not one."""
    if value is None:
        return None
    try:
        return quantity.parse(str(value))
    except KubeletError as error:
        raise McoError("not a quantity", value=value) from error


class Controller(ABC):
    """The objects of one kind, and the MachineConfigs written of them.

    The operator handles the pools of an object in random order; here they are taken by name.
    """

    kind: str  # in the names of MachineConfigs

    def __init__(self, pools: Sequence[Object], release: Release = NEWEST) -> None:
        self.pools = sorted(pools, key=name_of)
        self.release = release
        self.sources: dict[str, Source] = {}
        self.machine_configs: dict[str, Generated] = {}
        self._created = 0

    def create(self, item: Object) -> None:
        """A user makes an object; McoError for one that is refused, which stays refused."""
        self._created += 1
        annotations = text_mapping(mapping(item, "metadata"), "annotations")
        source = Source(name_of(item), mapping(item, "spec"), annotations, self._created)
        self.sources[source.name] = source
        self.sync(source)

    def update(self, item: Object) -> None:
        """A user changes an object; McoError leaves its MachineConfigs as they are."""
        source = self.sources[name_of(item)]
        source.spec = mapping(item, "spec")
        self.sync(source)

    def delete(self, name: str) -> None:
        """A user removes an object, and the operator the MachineConfigs written of it."""
        source = self.sources.pop(name)
        for finalizer in source.finalizers:
            self.machine_configs.pop(finalizer, None)

    def sync(self, source: Source) -> None:
        """Writes what an object asks for; McoError for a refusal."""
        source.accepted = False
        self.validate(source.spec)
        pools = [pool for pool in self.pools if source.selects(pool)]
        if not pools:
            raise McoError("the object selects no pool", name=source.name)
        for pool in pools:
            self._write(source, pool)
        source.accepted = True

    def _write(self, source: Source, pool: Object) -> None:
        self.validate_for_pool(source.spec, pool)
        sources = self.sources.values()
        name = managed_name(pool, source, sources, self.machine_configs, self.kind)
        files = self.files(source.spec, pool)
        if source.suffix is None:
            # All other annotations are lost (MCO bug).
            source.annotations = {SUFFIX: suffix_of(name)}
        self.machine_configs[name] = Generated(name, name_of(pool), files, source.name)
        if name not in source.finalizers:
            source.finalizers.append(name)

    @abstractmethod
    def validate(self, spec: Object) -> None:
        """Raises McoError for a spec that no pool takes."""

    @abstractmethod
    def validate_for_pool(self, spec: Object, pool: Object) -> None:
        """Raises McoError for a spec that this pool does not take."""

    @abstractmethod
    def files(self, spec: Object, pool: Object) -> Mapping[str, str]:
        """The texts of the files for a pool; McoError where there are none."""
