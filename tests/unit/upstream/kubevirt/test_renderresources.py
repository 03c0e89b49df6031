"""The resources of the containers of virt-launcher."""

from typing import Any

import pytest

from cpuplan.upstream.kubevirt.renderresources import (
    compute_resources,
    sidecar_resources,
    support_resources,
)
from cpuplan.upstream.kubevirt.types import EVEN_PARITY
from cpuplan.upstream.kubevirt.virt_config import DEFAULT
from tests.unit.upstream.kubevirt.instances import instance, pinned


def compute(
    domain: dict[str, Any], annotations: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    return compute_resources(instance(domain, annotations, **spec), DEFAULT)


#: The rows of upstream's template_test.go and renderresources_test.go.
@pytest.mark.parametrize(
    ("cores", "threads", "annotations", "cpus"),
    [
        (3, 0, {}, "4"),
        (2, 0, {}, "3"),
        (3, 0, {EVEN_PARITY: ""}, "4"),
        (4, 0, {EVEN_PARITY: ""}, "6"),
        (5, 2, {}, "8"),
        (5, 2, {EVEN_PARITY: ""}, "8"),
        (6, 2, {EVEN_PARITY: ""}, "10"),
    ],
)
def test_the_emulator_has_a_cpu_or_two(
    cores: int, threads: int, annotations: dict[str, str], cpus: str
) -> None:
    domain = pinned(cores, isolateEmulatorThread=True)
    if threads:
        domain["ioThreadsPolicy"] = "supplementalPool"
        domain["ioThreads"] = {"supplementalPoolThreadCount": threads}
    resources = compute(domain, annotations)
    assert resources["limits"]["cpu"] == resources["requests"]["cpu"] == cpus


def test_dedicated_cpus_are_of_a_guaranteed_container() -> None:
    resources = compute(pinned(4, threads=2))
    for name in ("cpu", "memory"):
        assert resources["limits"][name] == resources["requests"][name]
    assert resources["limits"]["cpu"] == "8"
    assert "memory" in resources["limits"]


@pytest.mark.parametrize(
    ("domain", "cpu", "limit"),
    [
        ({"cpu": {"cores": 2}}, "200m", None),
        ({"cpu": {"cores": 20}}, "2", None),
        ({}, "100m", None),
        ({"cpu": {"cores": 4}, "resources": {"requests": {"cpu": "3"}}}, "3", None),
        ({"resources": {"limits": {"cpu": "2"}}}, "2", "2"),
    ],
)
def test_shared_cpus(domain: dict[str, Any], cpu: str, limit: str | None) -> None:
    resources = compute(domain)
    assert resources["requests"]["cpu"] == cpu
    assert resources["limits"].get("cpu") == limit


def test_huge_pages_are_the_guests_memory() -> None:
    domain = pinned(2)
    domain["memory"] = {"guest": "4Gi", "hugepages": {"pageSize": "1Gi"}}
    resources = compute(domain)
    for column in ("requests", "limits"):
        assert resources[column]["hugepages-1Gi"] == "4Gi"
        # 220 MiB of processes, 2 vCPUs, an I/O thread, video, and 100 MiB of a Guaranteed pod.
        assert resources[column]["memory"] == "376Mi"


def test_more_memory_than_the_guests_is_of_plain_pages() -> None:
    domain = {
        "memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}},
        "resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "2Gi"}},
    }
    resources = compute(domain)
    assert resources["requests"]["hugepages-2Mi"] == "1Gi"
    assert resources["requests"]["memory"] == resources["limits"]["memory"]


def test_overcommitted_memory() -> None:
    config = DEFAULT._replace(memory_overcommit=200)
    guest = instance({"memory": {"guest": "4Gi"}})
    resources = compute_resources(guest, config)
    assert resources["requests"]["memory"] == "2316Mi"
    assert "memory" not in resources["limits"]


def test_the_overhead_can_be_spared() -> None:
    domain = {"resources": {"requests": {"memory": "1Gi"}, "overcommitGuestOverhead": True}}
    assert compute(domain)["requests"]["memory"] == "1Gi"


@pytest.mark.parametrize(
    ("devices", "names"),
    [
        ({}, {"kvm", "tun", "vhost-net"}),
        ({"autoattachPodInterface": False}, {"kvm"}),
        ({"interfaces": [{"name": "a", "model": "e1000"}]}, {"kvm", "tun"}),
        ({"autoattachVSOCK": True}, {"kvm", "tun", "vhost-net", "vhost-vsock"}),
    ],
)
def test_devices_of_the_hypervisor(devices: dict[str, Any], names: set[str]) -> None:
    limits = compute({"devices": devices})["limits"]
    kubevirts = {name for name in limits if name.startswith("devices.kubevirt.io/")}
    assert kubevirts == {f"devices.kubevirt.io/{name}" for name in names}


def test_host_devices_are_resources_and_claims() -> None:
    gpus = [{"name": "a", "deviceName": "x.io/gpu"}, {"name": "b", "deviceName": "x.io/gpu"}]
    claimed = {"name": "c", "claimRequest": {"claimName": "n", "requestName": "r"}}
    resources = compute({"devices": {"gpus": gpus, "hostDevices": [claimed]}})
    assert resources["limits"]["x.io/gpu"] == resources["requests"]["x.io/gpu"] == "2"
    assert resources["claims"] == [{"name": "n", "request": "r"}]


#: `kubectl describe` of kubevirt/kubevirt#12771 (1.8.2) has the first.
@pytest.mark.parametrize(
    ("domain", "requests", "limits"),
    [
        ({}, {"cpu": "5m", "memory": "35M"}, {"cpu": "15m", "memory": "60M"}),
        (pinned(2), {"cpu": "15m", "memory": "60M"}, {"cpu": "15m", "memory": "60M"}),
    ],
)
def test_the_log_of_the_console(domain: Any, requests: Any, limits: Any) -> None:
    resources = support_resources("guest-console-log", instance(domain), DEFAULT)
    assert resources == {"requests": requests, "limits": limits}


def test_sidecars() -> None:
    assert sidecar_resources(instance({}), DEFAULT) == {"requests": {}, "limits": {}}
    amounts = {"cpu": "200m", "memory": "64M"}
    both = {"requests": amounts, "limits": amounts}
    assert sidecar_resources(instance(pinned(2)), DEFAULT) == both
