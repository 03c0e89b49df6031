"""Kinds of cores, the ways to use them, and the CPUs that are chosen among them."""

from collections.abc import Mapping

import pytest

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.topology import Topology
from cpuplan.solve.constraints import Constraint, Has, OneOf, OneThread, WholeCores, Within
from cpuplan.solve.core_classes import CoreClass, Ways, core_classes, place
from cpuplan.solve.layout import Slot, slots_of
from tests.unit.solve.problems import machine


def cpus(text: str) -> CpuSet:
    return CpuSet.parse(text)


def told(topology: Topology, *sets: str) -> list[str]:
    return [str(union(map(CpuSet, kind.cores))) for kind in core_classes(topology, map(cpus, sets))]


def test_cores_that_nothing_tells_apart_are_one_kind() -> None:
    (kind,) = core_classes(machine(4, 2, sockets=2, caches=4), [])
    assert kind == CoreClass(((0, 4), (1, 5), (2, 6), (3, 7)), (2,))


def test_what_is_spoken_of_makes_kinds() -> None:
    topology = machine(6, 2, offline=cpus("6"))
    assert told(topology, "1,7", "2") == ["0", "1,7", "2,8", "3-5,9-11"]
    assert [kind.groups for kind in core_classes(topology, [cpus("1,7"), cpus("2")])] == [
        (1,),
        (2,),
        (1, 1),
        (2,),
    ]


def test_kinds_come_in_the_order_of_their_places() -> None:
    topology = machine(8, sockets=2, numa_nodes=4, caches=8, interleaved=True)
    assert told(topology, *map(str, range(8))) == ["0", "4", "2", "6", "1", "5", "3", "7"]


def patterns(
    constraints: list[Constraint], threads: int = 2, names: str = "reserved shared isolated"
) -> list[str]:
    (kind,) = core_classes(machine(2, threads), [])
    ways = Ways(slots_of(names.split()), [*constraints, OneOf(tuple(names.split()))])

    def letters(slot: Slot) -> str:
        return "".join(name[0] for name in slot)

    return [" ".join(map(letters, pattern)) for pattern in ways.of(kind)]


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        ([], ["r r", "r s", "r i", "s s", "s i", "i i"]),
        ([WholeCores("reserved")], ["r r", "s s", "s i", "i i"]),
        ([WholeCores("reserved", ("isolated",))], ["r r", "r i", "s s", "s i", "i i"]),
        (
            [WholeCores("reserved"), WholeCores("shared"), WholeCores("isolated")],
            ["r r", "s s", "i i"],
        ),
        ([OneThread("isolated", "shared"), WholeCores("reserved")], ["r r", "s s", "s i"]),
        ([Within("shared", CpuSet()), Within("reserved", CpuSet())], ["i i"]),
    ],
)
def test_ways_to_use_a_core(constraints: list[Constraint], expected: list[str]) -> None:
    assert patterns(constraints) == expected


def test_listed_cpus_leave_one_way() -> None:
    topology = machine(2, 2)
    kinds = core_classes(topology, [cpus("0")])
    ways = Ways(
        slots_of(["reserved", "isolated"]),
        [Within("reserved", cpus("0")), Has("reserved", cpus("0"))],
    )
    assert ways.of(kinds[0]) == [(("isolated",), ("reserved",)), (("",), ("reserved",))]


def test_no_way_is_left_where_statements_contradict_each_other() -> None:
    (kind,) = core_classes(machine(1), [])
    assert (
        Ways(
            slots_of(["reserved"]), [Has("reserved", cpus("0")), Within("reserved", cpus("1"))]
        ).of(kind)
        == []
    )


def test_many_threads_and_whole_cores_are_few_ways() -> None:
    names = "reserved shared isolated isolcpus offlined"
    assert len(patterns([WholeCores(name) for name in names.split()], 8, names)) == 5


@pytest.mark.parametrize(
    ("taken", "chosen"),
    [
        ({"r r": 1, "i i": 3}, {"r": "0,4", "i": "1-3,5-7"}),
        ({"r r": 1, "s s": 1, "i i": 2}, {"r": "0,4", "s": "1,5", "i": "2-3,6-7"}),
        ({"r r": 1, "r i": 1, "i i": 2}, {"r": "0-1,4", "i": "2-3,5-7"}),
    ],
)
def test_place(taken: Mapping[str, int], chosen: dict[str, str]) -> None:
    (kind,) = core_classes(machine(4, 2), [])
    used = []
    for way, cores in taken.items():
        used.append((tuple((name,) for name in way.split()), cores))
    by_name: dict[str, list[int]] = {}
    for cpu, (name,) in place(kind, used).items():
        by_name.setdefault(name, []).append(cpu)
    assert {name: str(CpuSet(cpus)) for name, cpus in by_name.items()} == chosen
