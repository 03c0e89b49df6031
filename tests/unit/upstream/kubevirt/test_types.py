"""What an instance asks for."""

from typing import Any

import pytest

from cpuplan.upstream.kubevirt.types import read_instance


@pytest.mark.parametrize(
    ("cpu", "vcpus"),
    [
        ({}, 0),
        ({"cores": 4}, 4),
        ({"sockets": 2, "threads": 2}, 4),
        ({"cores": 4, "sockets": 2, "threads": 2}, 16),
        ({"cores": 4, "sockets": 0}, 4),
    ],
)
def test_vcpus_are_the_product_of_what_is_given(cpu: dict[str, int], vcpus: int) -> None:
    assert read_instance({"domain": {"cpu": cpu}}, {}).vcpus == vcpus


@pytest.mark.parametrize(
    ("requests", "limits", "wants"),
    [
        ({"cpu": 2, "memory": "1Gi"}, {"cpu": 2, "memory": "1Gi"}, True),
        ({"cpu": 2}, {"cpu": 2, "memory": "1Gi"}, True),
        ({"cpu": 2, "memory": "1Gi"}, {"cpu": 2, "memory": "2Gi"}, False),
        ({"memory": "1Gi"}, {"cpu": 2, "memory": "1Gi"}, False),
        ({}, {}, False),
    ],
)
def test_equal_amounts_want_a_guaranteed_pod(
    requests: dict[str, Any], limits: dict[str, Any], wants: bool
) -> None:
    domain = {"resources": {"requests": requests, "limits": limits}}
    assert read_instance({"domain": domain}, {}).wants_guaranteed is wants


@pytest.mark.parametrize(
    ("given", "is_dedicated"), [(True, True), ("yes", True), ("off", False), (None, False)]
)
def test_booleans_are_those_of_kubectls_yaml(given: Any, is_dedicated: bool) -> None:
    domain = {"cpu": {"dedicatedCpuPlacement": given}}
    assert read_instance({"domain": domain}, {}).is_dedicated is is_dedicated
