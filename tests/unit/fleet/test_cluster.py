"""What the objects of a cluster state about one of its pools."""

from typing import Any

import pytest

from cpuplan.fleet.openshift import MachineConfigPool, oci_runtime

POOL = MachineConfigPool("fast", {"kind": "fast", "zone": "a"}, {})
IN_ZONE_A = {"key": "zone", "operator": "In", "values": ["a"]}
IN_ZONE_B = {"key": "zone", "operator": "In", "values": ["b"]}


@pytest.mark.parametrize(
    ("selector", "runtime"),
    [
        ({"matchLabels": {"kind": "fast"}}, "crun"),
        ({"matchLabels": {"kind": "slow"}}, ""),
        ({"matchExpressions": [IN_ZONE_A]}, "crun"),
        ({"matchExpressions": [IN_ZONE_B]}, ""),
        ({"matchLabels": {"kind": "fast"}, "matchExpressions": [IN_ZONE_B]}, ""),
        ({}, ""),
        (None, ""),
    ],
)
def test_the_runtime_of_the_pool_that_is_selected(selector: Any, runtime: str) -> None:
    spec = {
        "machineConfigPoolSelector": selector,
        "containerRuntimeConfig": {"defaultRuntime": "crun"},
    }
    assert oci_runtime([{"kind": "ContainerRuntimeConfig", "spec": spec}], POOL) == runtime
