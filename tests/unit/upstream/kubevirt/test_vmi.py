"""Instancetypes."""

from typing import Any

import pytest

from cpuplan.upstream.kubevirt.vmi import annotations, applied, conflicts

GIVEN = {
    "cpu": {"guest": 8, "dedicatedCPUPlacement": True, "isolateEmulatorThread": True},
    "memory": {"guest": "16Gi", "hugepages": {"pageSize": "1Gi"}},
    "gpus": [{"name": "g", "deviceName": "x.io/gpu"}],
    "ioThreads": {"supplementalPoolThreadCount": 2},
    "ioThreadsPolicy": "supplementalPool",
    "schedulerName": "own",
}


def test_it_gives_cpus_memory_and_devices() -> None:
    spec = applied(GIVEN, {"domain": {"devices": {"disks": []}}, "hostname": "a"})
    domain = spec["domain"]
    assert domain["cpu"] == {
        "sockets": 8,
        "cores": 1,
        "threads": 1,
        "dedicatedCpuPlacement": True,
        "isolateEmulatorThread": True,
    }
    assert domain["memory"] == {"guest": "16Gi", "hugepages": {"pageSize": "1Gi"}}
    assert domain["devices"] == {"disks": [], "gpus": GIVEN["gpus"]}
    assert domain["ioThreads"] == {"supplementalPoolThreadCount": 2}
    assert (spec["schedulerName"], spec["hostname"]) == ("own", "a")


def test_overcommitted_memory_is_requested_in_part() -> None:
    memory = {"memory": {"guest": "8Gi", "overcommitPercent": 25}}
    spec = applied({"cpu": {"guest": 1}, **memory}, {"domain": {}})
    assert spec["domain"]["resources"]["requests"]["memory"] == "6Gi"


@pytest.mark.parametrize(
    ("domain", "field"),
    [
        ({"cpu": {"cores": 2}}, "cpu.cores"),
        ({"cpu": {"dedicatedCpuPlacement": True}}, "cpu.dedicatedCpuPlacement"),
        ({"memory": {"guest": "1Gi"}}, "memory.guest"),
        ({"resources": {"requests": {"memory": "1Gi"}}}, "resources.requests.memory"),
        ({"devices": {"gpus": [{"name": "a"}]}}, "devices.gpus"),
        (
            {"ioThreads": {"supplementalPoolThreadCount": 1}},
            "ioThreads.supplementalPoolThreadCount",
        ),
    ],
)
def test_what_both_say_is_refused(domain: dict[str, Any], field: str) -> None:
    assert list(conflicts(GIVEN, {"domain": domain})) == [("domain", *field.split("."))]


def test_what_one_says_is_no_conflict() -> None:
    spec = {"domain": {"cpu": {"dedicatedCpuPlacement": True, "model": "x"}}}
    assert list(conflicts({"cpu": {"guest": 1}}, spec)) == []


def test_annotations_of_the_instance_come_first() -> None:
    assert annotations({"annotations": {"a": "1", "b": "1"}}, {"a": "2"}) == {"a": "2", "b": "1"}
