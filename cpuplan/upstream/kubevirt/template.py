"""The pod of virt-launcher that runs an instance, as far as a kubelet's managers read it.

Upstream: kubevirt/kubevirt pkg/virt-controller/services/template.go
  pkg/virt-controller/services/virtiofs.go pkg/container-disk/container-disk.go pkg/hooks/hooks.go
  @ 79d34c1762169e5b0370ec491cef5ca12e6b504c
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.upstream.kubevirt.renderresources import (
    compute_resources,
    hosts_devices,
    sidecar_resources,
    support_resources,
)
from cpuplan.upstream.kubevirt.types import HOOK_SIDECARS, Instance, part
from cpuplan.upstream.kubevirt.virt_config import Config

_NOT_PASSED_ON = (
    "kubectl.kubernetes.io",
    "kubevirt.io/storage-observed-api-version",
    "kubevirt.io/latest-observed-api-version",
)
_PASSED_ON = ("priorityClassName", "resourceClaims", "schedulerName")


def launch_manifest(
    instance: Instance, name: str, metadata: Mapping[str, Any], config: Config
) -> dict[str, Any]:
    """The pod of an instance that has its defaults, and is not refused."""
    inits, beside = _beside(instance, config)
    compute = {"name": "compute", "resources": compute_resources(instance, config)}
    annotations = {
        key: value
        for key, value in instance.annotations.items()
        if not key.startswith(_NOT_PASSED_ON)
    }
    spec: dict[str, Any] = {"containers": [compute, *beside], "initContainers": inits}
    if config.runtime_class:
        spec["runtimeClassName"] = config.runtime_class
    spec |= {key: instance.spec[key] for key in _PASSED_ON if instance.spec.get(key)}
    own = {key: metadata[key] for key in ("namespace", "labels") if metadata.get(key)}
    own |= {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": spec}


def _beside(instance: Instance, config: Config) -> tuple[list[Any], list[Any]]:
    """The init containers, and the containers beside the machine's, in upstream's order."""
    inits = list(_console_log(instance, config))
    beside: list[Any] = []
    disks = [f"volume{name}" for name in _disks(instance)]
    if config.has_image_volumes:
        inits += [_support(name, "container-disk", instance, config) for name in disks]
    elif disks:
        inits.append(_support("container-disk-binary", "container-disk-binary", instance, config))
        inits += [_support(f"{name}-init", "container-disk", instance, config) for name in disks]
        beside += [_support(name, "container-disk", instance, config) for name in disks]
    for name in _file_systems(instance):
        beside.append(_support(f"virtiofs-{name}", "virtiofs", instance, config))
    for index in range(hook_sidecars(instance) or 0):
        resources = sidecar_resources(instance, config)
        beside.append({"name": f"hook-sidecar-{index}", "resources": resources})
    return inits, beside


def _support(name: str, kind: str, instance: Instance, config: Config) -> dict[str, Any]:
    return {"name": name, "resources": support_resources(kind, instance, config)}


def _console_log(instance: Instance, config: Config) -> Iterator[dict[str, Any]]:
    devices = instance.devices
    if devices.get("autoattachSerialConsole") is False:
        return
    logs = devices.get("logSerialConsole")
    if logs if isinstance(logs, bool) else config.logs_serial_console:
        name = "guest-console-log"
        yield {**_support(name, name, instance, config), "restartPolicy": "Always"}


def _disks(instance: Instance) -> Iterator[str]:
    """The volumes that are images, and kernel-boot's."""
    for volume in instance.spec.get("volumes") or ():
        if volume.get("containerDisk") is not None:
            yield volume["name"]
    boot = part(instance.domain, "firmware", "kernelBoot", "container")
    if boot.get("image"):
        yield "kernel-boot-volume"


def _file_systems(instance: Instance) -> Iterator[str]:
    shared = {given.get("name") for given in instance.devices.get("filesystems") or ()}
    for volume in instance.spec.get("volumes") or ():
        if volume["name"] in shared and volume.get("containerPath") is None:
            yield volume["name"]


def hook_sidecars(instance: Instance) -> int | None:
    """How many sidecars the annotation asks for; None where it is not JSON as it must be."""
    text = instance.annotations.get(HOOK_SIDECARS)
    if text is None:
        return 0
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return len(listed) if isinstance(listed, list) else None


def claims_of(instance: Instance) -> list[str]:
    """The names of the claims that devices use."""
    asked = [part(given, "claimRequest") for given in hosts_devices(instance)]
    return [str(claim.get("claimName")) for claim in asked if claim]
