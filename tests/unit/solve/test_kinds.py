"""Kinds of cores, and the CPUs that are chosen among them."""

import pytest

from cpuplan.cpuset import CpuSet
from cpuplan.solve.kinds import Kind, kinds_of, place
from tests.unit.solve.problems import machine


def cpus(text: str) -> CpuSet:
    return CpuSet.parse(text)


def test_cores_that_differ_in_nothing_are_one_kind() -> None:
    (kind,) = kinds_of(machine(4, 2), {})
    assert [str(core) for core in kind.cores] == ["0,4", "1,5", "2,6", "3,7"]
    assert (kind.threads, kind.holders) == (2, ())


def test_kinds_come_in_the_order_of_their_places() -> None:
    kinds = kinds_of(machine(8, sockets=2, numa_nodes=4, caches=8, interleaved=True), {})
    assert [str(kind.cpus) for kind in kinds] == ["0", "4", "2", "6", "1", "5", "3", "7"]
    assert [kind.numa_node for kind in kinds] == [0, 0, 2, 2, 1, 1, 3, 3]


def test_listed_and_offline_cpus_make_kinds() -> None:
    topology = machine(6, 2, offline=cpus("6"))
    kinds = kinds_of(topology, {"reserved": cpus("1,7"), "shared": cpus("2")})
    assert [(str(kind.cpus), kind.threads, kind.holders) for kind in kinds] == [
        ("0", 1, ()),
        ("8", 1, ("shared",)),
        ("3-5,9-11", 2, ()),
    ]


def test_the_boot_cpu_is_in_the_first_kind_when_its_sibling_is_offline() -> None:
    kinds = kinds_of(machine(2, 2, offline=cpus("0,3")), {})
    assert [str(core) for core in kinds[0].cores] == ["1", "2"]


@pytest.mark.parametrize(
    ("taken", "chosen"),
    [
        ({"reserved": 2, "isolated": 6}, {"reserved": "0,4", "isolated": "1-3,5-7"}),
        (
            {"reserved": 2, "shared": 2, "isolated": 2, "offlined": 2},
            {"reserved": "0,4", "shared": "1,5", "isolated": "2,6", "offlined": "3,7"},
        ),
        ({"reserved": 1, "isolated": 7}, {"reserved": "0", "isolated": "1-7"}),
        ({"reserved": 3, "isolated": 5}, {"reserved": "0-1,4", "isolated": "2-3,5-7"}),
        ({"reserved": 3, "shared": 4, "isolated": 1}, {"reserved": "0-1,4", "shared": "2-3,6-7", "isolated": "5"}),
        (
            {"reserved": 1, "shared": 1, "isolated": 1, "": 5},
            {"reserved": "0", "shared": "4", "isolated": "1", "": "2-3,5-7"},
        ),
    ],
)
def test_place(taken: dict[str, int], chosen: dict[str, str]) -> None:
    (kind,) = kinds_of(machine(4, 2), {})
    assert {pool: str(found) for pool, found in place(kind, taken).items() if found} == chosen


def test_place_beside_listed_cpus() -> None:
    kind = Kind((cpus("4"), cpus("5"), cpus("6")), 1, ("reserved",), 0)
    assert {pool: str(found) for pool, found in place(kind, {"shared": 1, "isolated": 2}).items() if found} == {
        "shared": "4",
        "isolated": "5-6",
    }
