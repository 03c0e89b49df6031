"""Sources of one node brought together."""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.importers import join
from cpuplan.importers.base import Machine, Node, NodeObject, NumaFacts, Zone

GIB = 1024**3
LOW, HIGH = CpuSet.parse("0-3"), CpuSet.parse("4-7")


def machine(**facts: Any) -> Machine:
    """Eight CPUs, of which a source says no more than `facts`."""
    nothing = Machine(
        *("", None, None, None, CpuSet.parse("0-7"), CpuSet(), (), {}, {}, {}, (), {}),
        *((), (), (), (), None),
    )
    return nothing._replace(**facts)


def node(**facts: Any) -> Node:
    return Node("n", machine(**facts), {})


def numa(number: int, cpus: CpuSet, memory: int | None = None, *distances: int) -> NumaFacts:
    return NumaFacts(number, cpus, memory, distances, {})


def zone(number: int, cpus: int | None = 4, memory: int | None = None, *costs: int) -> Zone:
    return Zone(number, cpus, memory, {}, dict(enumerate(costs)))


def test_of_two_objects_the_first_counts_and_the_second_fills() -> None:
    first = NodeObject("n", {"a": "1"}, "arm64", cpus=8, zones=(zone(1, None, GIB),))
    two = NodeObject(
        "n",
        {"a": "2", "b": "2"},
        "amd64",
        "lab",
        cpus=4,
        memory=GIB,
        zones=(zone(0), zone(1, 3, 2 * GIB, 20, 10)),
    )
    merged = join.merge(first, two)
    assert (merged.architecture, merged.cluster, merged.cpus) == ("arm64", "lab", 8)
    assert (merged.memory, merged.labels) == (GIB, {"a": "1", "b": "2"})
    assert merged.zones == (zone(0), zone(1, 3, GIB, 20, 10))
    assert join.merge(NodeObject("n", {}), two).architecture == "amd64"
    assert join.merge(first._replace(memory=2 * GIB), two).memory == 2 * GIB


@pytest.mark.parametrize(
    ("others", "first"),
    [
        pytest.param((numa(0, LOW, GIB, 10, 21), numa(1, HIGH)), (GIB, (10, 21)), id="the same"),
        pytest.param((numa(0, LOW, GIB, 10, 21), numa(1, LOW)), (GIB, ()), id="one differs"),
        pytest.param((numa(0, HIGH, GIB, 10, 21), numa(1, LOW)), (None, ()), id="other CPUs"),
    ],
)
def test_distances_are_filled_where_all_numa_nodes_match(
    others: tuple[NumaFacts, ...], first: tuple[int | None, tuple[int, ...]]
) -> None:
    filled = join.filled((numa(0, LOW), numa(1, HIGH)), others)
    assert (filled[0].memory, filled[0].distances) == first


def test_a_partial_view_fills_what_is_open() -> None:
    known = node(architecture="x86_64", numa_nodes=(numa(0, LOW, GIB),))
    view = node(architecture="other", model="CPU", numa_nodes=(numa(0, LOW, 2 * GIB),))
    filled, diagnostics = join.fill(known, view, "lscpu")
    assert not diagnostics
    assert (filled.machine.architecture, filled.machine.model) == ("x86_64", "CPU")
    assert filled.machine.numa_nodes[0].memory == GIB


def test_a_view_of_other_cpus_fills_nothing() -> None:
    kept, [contradiction] = join.fill(node(), node(online=LOW, model="CPU"), "lscpu")
    assert kept == node()
    assert contradiction.code == "CP131"


def test_zones_give_memory_and_distances_in_the_order_of_numa_nodes() -> None:
    known = NodeObject("n", {}, zones=(zone(1, 4, GIB, 21, 10), zone(0, 4, 2 * GIB, 10, 21)))
    completed, diagnostics = join.complete(
        node(numa_nodes=(numa(0, LOW), numa(1, HIGH, 3 * GIB))), known
    )
    assert not diagnostics
    assert completed.machine.numa_nodes == (
        numa(0, LOW, 2 * GIB, 10, 21),
        numa(1, HIGH, 3 * GIB, 21, 10),
    )


@pytest.mark.parametrize(
    ("cpus", "memory", "codes"),
    [
        (4, 64 * GIB, []),
        (4, 65 * GIB, []),
        (4, 66 * GIB, ["CP131"]),
        (3, 64 * GIB, ["CP131"]),
        (None, None, []),
    ],
)
def test_a_node_object_may_differ_by_little_memory(
    cpus: int | None, memory: int | None, codes: list[str]
) -> None:
    known = NodeObject("n", {}, cpus=cpus, memory=memory)
    given = node(online=LOW, numa_nodes=(numa(0, LOW, 64 * GIB),))
    assert [contradiction.code for contradiction in join.complete(given, known)[1]] == codes


def test_nothing_is_taken_of_zones_that_contradict() -> None:
    known = NodeObject("n", {}, zones=(zone(0, 5, GIB), zone(1, 4, GIB)))
    completed, [contradiction] = join.complete(
        node(numa_nodes=(numa(0, LOW), numa(1, HIGH))), known
    )
    assert contradiction.code == "CP131"
    assert [item.memory for item in completed.machine.numa_nodes] == [None, None]


@pytest.mark.parametrize(
    ("facts", "is_open"),
    [
        ({"architecture": "x86_64"}, True),
        ({"architecture": "x86_64", "model": "CPU"}, False),
        ({"architecture": "aarch64"}, False),
        ({}, True),
    ],
)
def test_the_model_is_asked_for_where_it_decides(facts: dict[str, str], is_open: bool) -> None:
    """Boot arguments depend on the generation of x86 CPUs alone."""
    assert ("the CPU model" in join.open_points(machine(**facts))) is is_open


def test_nodes_with_the_same_gaps_share_a_remark() -> None:
    [remark] = join.remarks(
        [node()._replace(name=name, partial=True) for name in ("w-0", "w-1", "x")]
        + [node()._replace(name="whole")]
    )
    assert remark.startswith("x, w-[0-1]: missing, and left open: the architecture")
    assert "caches, NUMA nodes (one is assumed)" in remark
