"""What KubeVirt's webhook adds to an instance."""

from typing import Any

import pytest

from cpuplan.upstream.kubevirt.types import EVEN_PARITY
from cpuplan.upstream.kubevirt.virt_config import DEFAULT
from tests.unit.upstream.kubevirt.instances import instance, pinned


@pytest.mark.parametrize(
    ("resources", "sockets"),
    [({}, 1), ({"requests": {"cpu": "2500m"}}, 3), ({"limits": {"cpu": 4}}, 4)],
)
def test_without_a_topology_the_cpus_are_sockets(resources: Any, sockets: int) -> None:
    stored = instance({"resources": resources})
    assert (stored.sockets, stored.cores, stored.threads) == (sockets, 1, 1)


def test_a_limit_of_cpus_is_requested() -> None:
    assert str(instance({"resources": {"limits": {"cpu": 4}}}).requests["cpu"]) == "4"


@pytest.mark.parametrize(
    ("domain", "guest"),
    [
        ({"resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "3Gi"}}}, "2Gi"),
        ({"resources": {"limits": {"memory": "3Gi"}}}, "3Gi"),
        ({"memory": {"hugepages": {"pageSize": "1Gi"}}}, "1Gi"),
        ({"memory": {"hugepages": {"pageSize": "x"}}}, "None"),
        ({}, "None"),
    ],
)
def test_the_memory_of_the_guest(domain: Any, guest: str) -> None:
    assert str(instance(domain).guest) == guest


def test_the_cluster_completes_emulators_to_even_parity() -> None:
    config = DEFAULT._replace(completes_to_even_parity=True)
    isolated = pinned(4, isolateEmulatorThread=True)
    assert EVEN_PARITY in instance(isolated, config=config).annotations
    assert EVEN_PARITY not in instance(pinned(4), config=config).annotations
