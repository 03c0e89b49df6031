"""The overhead of virt-launcher and QEMU, by the figures of upstream's own tests."""

from typing import Any

import pytest

from cpuplan.upstream.kubevirt.hypervisorbackend import memory_overhead
from cpuplan.upstream.kubevirt.virt_config import DEFAULT
from tests.unit.upstream.kubevirt.instances import instance

MEBI = 1024**2
#: Of one vCPU, with a graphics device: five processes, a vCPU, an I/O thread, video memory.
BASE = 25 + 100 + 25 + 40 + 30 + 8 + 8 + 32


def overhead(domain: dict[str, Any], **spec: Any) -> float:
    return memory_overhead(instance(domain, **spec), DEFAULT).value / MEBI


@pytest.mark.parametrize(
    ("domain", "more"),
    [
        ({}, 0),
        ({"cpu": {"cores": 4}}, 3 * 8),
        ({"devices": {"autoattachGraphicsDevice": False}}, -32),
        ({"devices": {"hostDevices": [{"name": "a"}]}}, 1024),
        ({"devices": {"gpus": [{"name": "a"}]}}, 1024),
        ({"devices": {"interfaces": [{"name": "a", "sriov": {}}]}}, 1024),
        ({"devices": {"interfaces": [{"name": "a", "passtBinding": {}}]}}, 250),
        ({"devices": {"tpm": {}}}, 53),
        ({"devices": {"tpm": {"enabled": False}}}, 0),
        ({"launchSecurity": {"sev": {}}}, 256),
        ({"launchSecurity": {"snp": {}}}, 256),
        ({"cpu": {"cores": 1, "dedicatedCpuPlacement": True}}, 100),
        ({"memory": {"reservedOverhead": {"addedOverhead": "64Mi"}}}, 64),
        ({"memory": {"guest": "4Gi"}}, 0),
    ],
)
def test_what_adds_to_it(domain: dict[str, Any], more: int) -> None:
    assert overhead(domain) == BASE + more


@pytest.mark.parametrize(
    ("spec", "more"),
    [
        ({"architecture": "arm64"}, 128),
        ({"volumes": [{"name": "a", "downwardMetrics": {}}]}, 1),
        ({"livenessProbe": {"exec": {}}}, 110),
        ({"livenessProbe": {"exec": {}}, "readinessProbe": {"exec": {}}}, 120),
        ({"livenessProbe": {"httpGet": {}}}, 0),
    ],
)
def test_what_adds_to_it_beside_the_domain(spec: dict[str, Any], more: int) -> None:
    assert overhead({}, **spec) == BASE + more


def test_page_tables_need_a_512th_of_what_is_requested() -> None:
    requested = instance({"resources": {"requests": {"memory": "512M"}}})
    assert memory_overhead(requested, DEFAULT).value == BASE * MEBI + 10**6


def test_the_ratio_multiplies_all_but_networks() -> None:
    config = DEFAULT._replace(overhead_ratio=2.0)
    passt = instance({"devices": {"interfaces": [{"name": "a", "passtBinding": {}}]}})
    # Upstream rounds what the ratio adds to kilobytes.
    kilobytes = -(-BASE * MEBI // 1000)
    assert memory_overhead(passt, config).value == (BASE + 250) * MEBI + kilobytes * 1000
