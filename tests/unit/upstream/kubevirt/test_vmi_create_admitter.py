"""What KubeVirt's webhook refuses."""

from typing import Any

import pytest

from cpuplan.upstream.kubevirt.vmi_create_admitter import causes
from tests.unit.upstream.kubevirt.instances import instance, pinned

GUEST = {"memory": {"guest": "1Gi"}}
HUGE = {"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}}
NUMA: dict[str, Any] = {"guestMappingPassthrough": {}}


def of_cpu(**cpu: Any) -> dict[str, Any]:
    return {**GUEST, "cpu": cpu}


def resources(requests: Any, limits: Any, **more: Any) -> dict[str, Any]:
    return {**pinned(2), **more, "resources": {"requests": requests, "limits": limits}}


@pytest.mark.parametrize(
    "domain",
    [
        GUEST,
        pinned(2, isolateEmulatorThread=True),
        {**pinned(2, numa=NUMA, realtime={}), **HUGE},
        resources({"cpu": 2, "memory": "1Gi"}, {"cpu": 2, "memory": "1Gi"}),
        {**GUEST, "ioThreadsPolicy": "auto"},
        {"memory": {"hugepages": {"pageSize": "1Gi"}}},
    ],
)
def test_what_is_right(domain: dict[str, Any]) -> None:
    assert list(causes(instance(domain))) == []


@pytest.mark.parametrize(
    ("domain", "problems"),
    [
        ({}, ["says no memory"]),
        (of_cpu(cores=2, isolateEmulatorThread=True), ["isolateEmulatorThread without"]),
        (
            of_cpu(cores=2, numa=NUMA),
            ["guestMappingPassthrough without ded", "guestMappingPassthrough without mem"],
        ),
        (pinned(2, realtime={}), ["realtime without numa"]),
        (pinned(2, threads=4), ["has 4 threads"]),
        (of_cpu(cores=1, sockets=4, maxSockets=2), ["more than its maxSockets of 2"]),
        (resources({"cpu": "4"}, {}), ["has 2 vCPUs, and requests or limits of cpu 4"]),
        (resources({"cpu": "1500m"}, {}), ["no whole number"]),
        (resources({"cpu": 2}, {"cpu": 3}), ["and its limit is 3"]),
        (resources({"memory": "1Gi"}, {"memory": "2Gi"}), ["requests memory"]),
        (resources({"memory": "3Gi"}, {"memory": "2Gi"}), ["its limit is 2Gi", "its limit is 2"]),
        ({"memory": {"guest": "3Mi", "hugepages": {"pageSize": "2Mi"}}}, ["no multiple"]),
        ({"memory": {"guest": "1Mi", "hugepages": {"pageSize": "2Mi"}}}, ["less memory than"]),
        ({"memory": {"guest": "1Mi", "hugepages": {"pageSize": "big"}}}, ["'big', which is no"]),
        ({**GUEST, "ioThreadsPolicy": "pool"}, ["the ioThreadsPolicy 'pool'"]),
        ({**GUEST, "ioThreadsPolicy": "supplementalPool"}, ["no supplementalPoolThreadCount"]),
    ],
)
def test_what_is_refused(domain: dict[str, Any], problems: list[str]) -> None:
    given = [cause.problem for cause in causes(instance(domain))]
    assert len(given) == len(problems), given
    for problem, part in zip(given, problems, strict=True):
        assert part in problem


def test_arm_has_one_thread_of_a_core() -> None:
    domain = of_cpu(cores=2, threads=2)
    assert len(list(causes(instance(domain, architecture="arm64")))) == 1
