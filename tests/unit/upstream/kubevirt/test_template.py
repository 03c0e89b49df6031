"""The pod of virt-launcher."""

from typing import Any

import pytest

from cpuplan.upstream.kubevirt.template import claims_of, hook_sidecars, launch_manifest
from cpuplan.upstream.kubevirt.types import HOOK_SIDECARS
from cpuplan.upstream.kubevirt.virt_config import DEFAULT, Config
from tests.unit.upstream.kubevirt.instances import instance, pinned

DISK = {"name": "root", "containerDisk": {"image": "x"}}
SHARED = {"name": "files", "persistentVolumeClaim": {"claimName": "x"}}


def names_of(containers: list[Any]) -> list[str]:
    return [container["name"] for container in containers]


def names(config: Config = DEFAULT, **devices: Any) -> tuple[list[str], list[str]]:
    annotations = {HOOK_SIDECARS: '[{"image": "x"}]', "kubectl.kubernetes.io/a": ""}
    machine = instance(
        {**pinned(2), "devices": devices}, annotations, volumes=[DISK, SHARED, {"name": "other"}]
    )
    pod = launch_manifest(machine, "virt-launcher-a", {"labels": {"a": "b"}}, config)
    assert pod["metadata"]["annotations"] == {HOOK_SIDECARS: '[{"image": "x"}]'}
    assert pod["metadata"]["labels"] == {"a": "b"}
    spec = pod["spec"]
    return names_of(spec["initContainers"]), names_of(spec["containers"])


def test_containers_beside_the_machines() -> None:
    inits, beside = names(filesystems=[{"name": "files"}])
    assert inits == ["guest-console-log", "volumeroot"]
    assert beside == ["compute", "virtiofs-files", "hook-sidecar-0"]


def test_disks_without_image_volumes() -> None:
    config = DEFAULT._replace(has_image_volumes=False, logs_serial_console=False)
    inits, beside = names(config)
    assert inits == ["container-disk-binary", "volumeroot-init"]
    assert beside == ["compute", "volumeroot", "hook-sidecar-0"]


@pytest.mark.parametrize(
    ("devices", "logs"),
    [({"logSerialConsole": False}, False), ({"autoattachSerialConsole": False}, False), ({}, True)],
)
def test_the_log_of_the_console(devices: dict[str, Any], logs: bool) -> None:
    assert ("guest-console-log" in names(**devices)[0]) is logs


def test_what_is_passed_on() -> None:
    machine = instance({}, priorityClassName="high", schedulerName="own")
    config = DEFAULT._replace(runtime_class="fast")
    spec = launch_manifest(machine, "a", {"namespace": "n"}, config)["spec"]
    assert spec["priorityClassName"] == "high"
    assert spec["runtimeClassName"] == "fast"


@pytest.mark.parametrize(
    ("text", "count"),
    [("[]", 0), ('[{"image": "x"}, {}]', 2), ("{}", None), ("x", None), ("[" * 10**5, None)],
)
def test_sidecars_of_an_annotation(text: str, count: int | None) -> None:
    assert hook_sidecars(instance({}, {HOOK_SIDECARS: text})) == count


def test_the_claims_of_devices() -> None:
    devices = {"gpus": [{"name": "a", "claimRequest": {"claimName": "n"}}]}
    assert claims_of(instance({"devices": devices})) == ["n"]
