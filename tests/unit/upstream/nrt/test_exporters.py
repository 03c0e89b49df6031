"""What the exporters publish of one node."""

from collections.abc import Callable

import pytest

from cpuplan.upstream.kubernetes.errors import PanicError
from cpuplan.upstream.nrt.resourcemonitor import (
    Devices,
    Machine,
    Memory,
    NumaNode,
    Pod,
    Resources,
    Zone,
    nfd_zones,
    rte_zones,
)

GIB = 1 << 30
NODES = (NumaNode(0, (0, 1, 2, 3), (10, 21)), NumaNode(1, (4, 5, 6, 7), (21, 10)))
MACHINE = Machine(NODES, {0: {"memory": 8 * GIB}, 1: {"memory": 8 * GIB}})
FREE = Resources(
    cpus=(1, 2, 3, 4, 5, 6, 7),
    devices=(Devices("vendor.com/nic", ("a", "b"), (1,)),),
    memory=(Memory("memory", 6 * GIB, (0,)), Memory("memory", 8 * GIB, (1,))),
)
#: What makes the zones of a node.
Exporter = Callable[..., list[Zone]]
EXPORTERS: tuple[Exporter, ...] = (rte_zones, nfd_zones)


def _available(zones: list[Zone], resource: str) -> list[int | None]:
    """What of a resource is available in each zone, in units or GiB."""
    unit = GIB if resource == "memory" else 1
    amounts: list[int | None] = []
    for zone in zones:
        available = {row["name"]: int(row["available"]) // unit for row in zone["resources"]}
        amounts.append(available.get(resource))
    return amounts


def test_an_empty_node_is_the_same_for_both() -> None:
    zones = rte_zones(MACHINE, FREE, ())
    assert nfd_zones(MACHINE, FREE, ()) == zones
    assert zones[0] == {
        "name": "node-0",
        "type": "Node",
        "costs": [{"name": "node-0", "value": 10}, {"name": "node-1", "value": 21}],
        "resources": [
            {"name": "cpu", "capacity": "4", "allocatable": "3", "available": "3"},
            {
                "name": "memory",
                "capacity": str(8 * GIB),
                "allocatable": str(6 * GIB),
                "available": str(6 * GIB),
            },
        ],
    }


@pytest.mark.parametrize("export", EXPORTERS)
def test_a_zone_with_nothing_to_give_is_kept(export: Exporter) -> None:
    zones = export(MACHINE, Resources(cpus=(4, 5, 6, 7)), ())
    cpu = {"name": "cpu", "capacity": "4", "allocatable": "0", "available": "0"}
    assert zones[0]["resources"] == [cpu]


@pytest.mark.parametrize(
    ("guaranteed", "whole", "left"),
    [(True, True, (2, 2)), (True, False, (2, 3)), (False, False, (2, 3))],
)
def test_cpus_of_a_pod(guaranteed: bool, whole: bool, left: tuple[int, int]) -> None:
    pod = Pod("default", "p", guaranteed, whole, (Resources(cpus=(1,)),))
    exported = [export(MACHINE, FREE, [pod]) for export in EXPORTERS]
    assert [_available(zones, "cpu")[0] for zones in exported] == list(left)


def test_memory_on_two_numa_nodes() -> None:
    pod = Pod("default", "p", True, True, (Resources(memory=(Memory("memory", 7 * GIB, (0, 1)),)),))
    assert _available(rte_zones(MACHINE, FREE, [pod]), "memory") == [0, 1]
    assert _available(nfd_zones(MACHINE, FREE, [pod]), "memory") == [0, 7]


def test_devices_of_a_pod_that_is_not_guaranteed() -> None:
    taken = Resources(devices=(Devices("vendor.com/nic", ("a",), (1,)),))
    pod = Pod("default", "p", False, False, (taken,))
    for export in EXPORTERS:
        assert _available(export(MACHINE, FREE, [pod]), "vendor.com/nic") == [None, 1]


def test_excluded_resources() -> None:
    for export in EXPORTERS:
        zones = export(MACHINE, FREE, (), ["memory"])
        assert _available(zones, "memory") == [None, None]


def test_bug_numbers_with_gaps() -> None:
    """Both take places in their list for numbers: one crashes, the other has a zone too few."""
    machine = Machine((NODES[0], NODES[1]._replace(number=2)), MACHINE.memory)
    with pytest.raises(PanicError, match="nil pointer"):
        rte_zones(machine, FREE, ())
    assert [zone["name"] for zone in nfd_zones(machine, FREE, ())] == ["node-0", "node-1"]


def test_bug_an_excluded_resource_that_is_taken_crashes() -> None:
    pod = Pod("default", "p", True, True, (Resources(cpus=(1,)),))
    with pytest.raises(PanicError, match="nil pointer"):
        nfd_zones(MACHINE, FREE, [pod], ["cpu"])
