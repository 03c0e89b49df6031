"""What the kubelet's policies promise of exclusive CPUs."""

from collections.abc import Mapping

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.pods.container_cpus import Assigned
from cpuplan.check.pods.exclusive import fewest, misaligned, promise
from cpuplan.plan.setting import Value
from tests.machines.plans import regular

#: NUMA node 0 has 0-3 and 8-11; the sibling of a CPU is 8 more.
MACHINE = regular(sockets=2, cores=4, threads=2)
WHOLE = {"cpuManagerPolicyOptions.full-pcpus-only": "true"}
ONE = {"topologyManagerPolicy": "single-numa-node"}
FEW = {"topologyManagerPolicy": "restricted"}
BY_POD = {**ONE, "topologyManagerScope": "pod"}


def _found(values: Mapping[str, Value], *entries: str, offline: str = "") -> list[str]:
    state = Assigned(entries={"p": {f"c{i}": CpuSet.parse(cpus) for i, cpus in enumerate(entries)}})
    online = MACHINE.online - CpuSet.parse(offline)
    return [container.who for container in misaligned(state, MACHINE, online, promise(values))]


@pytest.mark.parametrize(
    ("values", "entries", "wrong"),
    [
        pytest.param(WHOLE, ("1,9", "2-3,10-11"), [], id="whole cores"),
        pytest.param(WHOLE, ("1,9", "2,11"), ["container c1 of pod p"], id="parts of cores"),
        pytest.param({}, ("2,11", "3-4"), [], id="no promise"),
        pytest.param(ONE, ("1-2", "4-5"), [], id="one node each"),
        pytest.param(ONE, ("3-4",), ["container c0 of pod p"], id="two nodes"),
        pytest.param(BY_POD, ("1-2", "4-5"), ["pod p"], id="a pod on two nodes"),
        pytest.param(FEW, ("1-5,9-13",), [], id="as few as are enough"),
        pytest.param(FEW, ("2-5",), ["container c0 of pod p"], id="more than enough"),
        pytest.param({"topologyManagerPolicy": "best-effort"}, ("2-5",), [], id="best effort"),
        pytest.param(
            {**FEW, "cpuManagerPolicyOptions": {"align-by-socket": "true"}},
            ("2-5",),
            [],
            id="sockets",
        ),
        pytest.param({**WHOLE, **ONE}, ("3-4",), ["container c0 of pod p"], id="one finding"),
    ],
)
def test_promises(values: Mapping[str, Value], entries: tuple[str, ...], wrong: list[str]) -> None:
    assert _found(values, *entries) == wrong


def test_a_core_whose_sibling_is_offline_is_whole() -> None:
    assert _found(WHOLE, "2", offline="10") == []
    assert _found(WHOLE, "2") == ["container c0 of pod p"]


def test_the_fewest_nodes_count_the_largest_first() -> None:
    nodes = [CpuSet(range(2)), CpuSet(range(10, 16)), CpuSet(range(20, 24))]
    assert [fewest(nodes, count) for count in (1, 6, 7, 10, 11, 99)] == [1, 1, 2, 2, 3, 3]
