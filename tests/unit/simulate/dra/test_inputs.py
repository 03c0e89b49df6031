"""What the driver and the scheduler find on a planned node."""

from typing import Any

import pytest

from cpuplan.simulate.dra import inputs, with_claims
from cpuplan.simulate.workloads import pods_of
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.pod import PodClaim
from tests.machines.plans import plan, regular

SMT = regular(sockets=2, cores=4, threads=2)  # node 0: 0-3,8-11; node 1: 4-7,12-15


def configured(accounting: str = "requests", **workload: Any) -> Any:
    dra = {"accounting": accounting, "release": "0.3"}
    return plan(
        SMT,
        reserved="0,8",
        platform="kubernetes",
        version="1.37",
        target={"mechanism": "dra", "dra": dra},
        sets={"isolated.dpdk": "4-7,12-15"},
        spec={
            "workloads": [{"name": "upf", "cpus": 4, "pool": "isolated.dpdk", **workload}],
            "pools": {"isolated": {"rest": True, "partitions": {"dpdk": "4-7,12-15"}}},
        },
    )


def test_devices_and_classes_of_partitions() -> None:
    driver = inputs(configured())
    assert (driver.config.cpu_device_mode, driver.config.reserved_cpus) == ("individual", "0,8")
    assert [to_text(device.cpus) for device in driver.devices[:3]] == ["1", "9", "2"]
    (general, own) = driver.classes
    assert (general, own.endswith(".isolated.dpdk")) == ("dra.cpu", True)
    assert not driver.is_mapped
    assert inputs(configured("mapping")).is_mapped


@pytest.mark.parametrize(
    ("accounting", "container", "pod"),
    [("requests", "4", ""), ("podResources", "", "4"), ("mapping", "1m", "")],
)
def test_what_workloads_request_beside_their_claims(
    accounting: str, container: str, pod: str
) -> None:
    made = configured(accounting)
    (upf,) = pods_of(made)
    (claim,) = upf.claims
    assert [request.number for request in claim.spec.requests] == [2, 2]
    assert upf.containers[0].claims == (claim.name,)
    assert str(upf.containers[0].requests.get("cpu", "")) == container
    assert str((upf.requests or {}).get("cpu", "")) == pod
    assert with_claims(made, made.spec.workloads[0], upf) == upf


def test_a_manifest_with_claims_of_its_own() -> None:
    """Claims of other drivers are left out; those of compiled templates are not added twice."""
    made = configured()
    (upf,) = pods_of(made)
    (claim,) = upf.claims
    other = PodClaim("gpu", template="gpu")
    (container,) = upf.containers
    both = container._replace(claims=("gpu", claim.name))
    given = upf._replace(claims=(other, claim._replace(spec=None)), containers=(both,))
    assert with_claims(made, made.spec.workloads[0], given) == upf
    only = upf._replace(claims=(other,), containers=(container._replace(claims=("gpu",)),))
    assert with_claims(made, made.spec.workloads[0], only) == upf


def test_platforms_that_cannot_have_the_driver_are_simulated_beside_it() -> None:
    beside = inputs(plan(SMT, reserved="0,8", target={"mechanism": "dra"}))
    assert (beside.config.reserved_cpus, len(beside.devices)) == ("0,8", 2)
