"""MachineInfo: what cAdvisor merges, and what it writes where it knows nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from cpuplan import importers
from cpuplan.importers import machineinfo
from cpuplan.importers.base import Machine
from cpuplan.importers.data import Complaints
from tests.unit.importers.objects.test_reader import JUNK

L1 = {"id": 0, "size": 32768, "type": "Data", "level": 1}


def cache(level: int, identity: int, size: int = 1 << 20) -> dict[str, Any]:
    return {"id": identity, "size": size, "type": "Unified", "level": level}


def core(
    *threads: int, number: int = 0, socket: int = 0, uncore: int | None = None
) -> dict[str, Any]:
    own = [{**L1, "id": threads[0]}, cache(2, threads[0])]
    shared = None if uncore is None else [cache(3, uncore)]
    return {
        "core_id": number,
        "thread_ids": list(threads),
        "socket_id": socket,
        "caches": own,
        "uncore_caches": shared,
    }


def info(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"vendor_id": "GenuineIntel", "num_cores": 8, "topology": list(nodes), **more}


def node(number: int, *cores: dict[str, Any], memory: int = 1 << 30, **more: Any) -> dict[str, Any]:
    return {
        "node_id": number,
        "memory": memory,
        "cores": list(cores),
        "caches": None,
        "hugepages": None,
        **more,
    }


def machine(data: dict[str, Any]) -> Machine:
    complaints = Complaints("machineinfo.json")
    facts = machineinfo.machine_of(data, complaints)
    assert facts is not None
    assert not complaints
    return facts


def caches(facts: Machine, level: int) -> list[tuple[int | None, str]]:
    return [(row.id, str(row.cpus)) for row in facts.caches if row.level == level]


def test_server() -> None:
    pages = [{"page_size": 2048, "num_pages": 0}, {"page_size": 1048576, "num_pages": 4}]
    first = node(
        0,
        core(0, 4),
        core(2, 6, number=1),
        caches=[cache(3, 7)],
        distances=[10, 21],
        hugepages=pages,
    )
    second = node(
        1,
        core(1, 5, socket=1),
        core(3, 7, number=1, socket=1),
        caches=[cache(3, 9)],
        distances=[21, 10],
    )
    facts = machine(info(second, first))
    assert (facts.architecture, facts.vendor) == ("x86_64", "GenuineIntel")
    assert [str(core_cpus) for core_cpus in facts.siblings] == ["0,4", "1,5", "2,6", "3,7"]
    assert facts.sockets == {cpu: cpu % 2 for cpu in range(8)}
    assert facts.core_ids == {0: 0, 4: 0, 2: 1, 6: 1, 1: 0, 5: 0, 3: 1, 7: 1}
    assert caches(facts, 2) == [(0, "0,4"), (1, "1,5"), (2, "2,6"), (3, "3,7")]
    assert caches(facts, 3) == [(7, "0,2,4,6"), (9, "1,3,5,7")]
    assert [
        (numa.id, str(numa.cpus), numa.memory, numa.distances) for numa in facts.numa_nodes
    ] == [
        (0, "0,2,4,6", 1 << 30, (10, 21)),
        (1, "1,3,5,7", 1 << 30, (21, 10)),
    ]
    assert facts.numa_nodes[0].huge_pages == {2048: 0, 1048576: 4}
    assert facts.huge_page_sizes == (2048, 1048576)


def test_uncore_caches_are_told_apart_by_id_across_nodes() -> None:
    """Sub-NUMA clustering: the cache of a socket is larger than a node; CCXs are smaller."""
    snc = info(
        node(0, core(0, uncore=0), core(1, number=1, uncore=0)),
        node(1, core(2, number=2, uncore=0)),
    )
    assert caches(machine(snc), 3) == [(0, "0-2")]
    ccx = info(node(0, core(0, uncore=0), core(1, number=1, uncore=1), core(2, number=2, uncore=1)))
    assert caches(machine(ccx), 3) == [(0, "0"), (1, "1-2")]


def test_a_cache_that_is_listed_at_the_node_and_at_cores_is_one() -> None:
    """From a core whose sibling is offline, a cache of half the node looks as large as the node."""
    cores = [core(0, 4, uncore=1), core(1, 5, number=1, uncore=2), core(2, number=2)]
    assert caches(machine(info(node(0, *cores, caches=[cache(3, 2)]))), 3) == [
        (1, "0,4"),
        (2, "1-2,5"),
    ]


def test_releases_without_cache_ids() -> None:
    cores = [core(0), core(1, number=1)]
    for data in cores:
        data["caches"] = [L1, cache(2, 0)]
    facts = machine(info(node(0, *cores, caches=[cache(3, 0)])))
    assert caches(facts, 2) == [(None, "0"), (None, "1")]
    assert caches(facts, 3) == [(None, "0-1")]
    cores[0]["uncore_caches"] = cores[1]["uncore_caches"] = [cache(3, 0)]
    assert caches(machine(info(node(0, *cores))), 3) == []


def test_sockets_that_stand_for_numa_nodes() -> None:
    """A kernel without NUMA: cAdvisor's nodes are sockets, and tell nothing else."""
    nodes = [node(7, core(0, socket=7), memory=0), node(9, core(1, socket=9), memory=0)]
    facts = machine(
        info(*nodes, memory_capacity=1 << 30, hugepages=[{"page_size": 2048, "num_pages": 3}])
    )
    assert [
        (numa.id, str(numa.cpus), numa.memory, numa.huge_pages) for numa in facts.numa_nodes
    ] == [(0, "0-1", 1 << 30, {2048: 3})]
    assert facts.sockets == {0: 7, 1: 9}


@pytest.mark.parametrize(
    ("nodes", "memory"),
    [
        ([node(0, core(0), memory=0, distances=[10])], [None]),
        (
            [node(0, core(0), distances=[10, 80]), node(2, memory=0, distances=[80, 10])],
            [1 << 30, 0],
        ),
        ([node(0, core(0), memory=-5)], [None]),
    ],
)
def test_memory(nodes: list[dict[str, Any]], memory: list[int | None]) -> None:
    assert [numa.memory for numa in machine(info(*nodes)).numa_nodes] == memory


def test_rows_of_distances_that_fit_no_machine_are_left_open() -> None:
    assert machine(info(node(0, core(0), distances=[10, 21]))).numa_nodes[0].distances == ()


@pytest.mark.parametrize(
    ("vendor", "architecture"), [("AuthenticAMD", "x86_64"), ("IBM/S390", "s390x"), ("", "")]
)
def test_architecture(vendor: str, architecture: str) -> None:
    assert machine(info(node(0, core(0)), vendor_id=vendor)).architecture == architecture


@pytest.mark.parametrize(
    "nodes",
    [
        [node(0, core(0)), node(0, core(1))],
        [node(0, core(0), core(0))],
        [node(0, core(0)), node(1, core(0))],
        [node(0, core(0), {"core_id": 1})],
        [node(0, core(0), {"core_id": 1, "thread_ids": [1, 99999]})],
        [node(0, core(0)), {"node_id": "x", "cores": 7}],
    ],
)
def test_contradictions_are_told_and_left_out(nodes: list[dict[str, Any]]) -> None:
    complaints = Complaints("machineinfo.json")
    facts = machineinfo.machine_of(info(*nodes), complaints)
    assert facts is not None
    assert str(facts.online) == "0"
    assert [complaint.code for complaint in complaints] == ["CP125"]


def test_the_file_names_the_node(tmp_path: Path) -> None:
    (tmp_path / "w0.machineinfo.json").write_text(
        json.dumps(info(node(0, core(0)), machine_id="4d4fa0cd"))
    )
    imported = importers.run(None, [tmp_path])
    assert [imported_node.name for imported_node in imported.nodes] == ["w0"]
    assert imported.diagnostics == ()
    assert "4d4fa0cd" not in repr(imported)


@given(JUNK)
def test_junk_is_never_raised(junk: object) -> None:
    for data in (
        {"topology": junk, "hugepages": junk, "vendor_id": junk},
        {
            "topology": [
                {"node_id": 0, "cores": junk, "caches": junk, "distances": junk, "hugepages": junk}
            ]
        },
        {
            "topology": [
                {"node_id": 0, "cores": [{**core(0), "caches": junk, "uncore_caches": [junk]}]}
            ]
        },
        {
            "topology": [
                {"node_id": 0, "cores": [{"thread_ids": junk, "core_id": junk, "socket_id": junk}]}
            ]
        },
    ):
        machineinfo.machine_of(data, Complaints("machineinfo.json"))
