"""Which KubeletConfigs and ContainerRuntimeConfigs are refused.

Source: validateUserKubeletConfig (pkg/controller/kubelet-config/helpers.go),
validateUserContainerRuntimeConfig (pkg/controller/container-runtime-config/helpers.go).
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.kubelet import quantity
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.mco.errors import McoError
from cpuplan.upstream.mco.fields import flag, mapping, mappings, number, text
from cpuplan.upstream.mco.generated.kubeletconfiguration import Config, decode
from cpuplan.upstream.mco.pools import MASTER, Object, name_of
from cpuplan.upstream.mco.releases import NEWEST, Release, has

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
    config = decode(spec["kubeletConfig"])
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
    elif path := decode(raw).get("staticPodPath"):
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
