"""Hardware: numbering of regular machines, layouts as they are read, and what is wrong there."""

from pathlib import Path
from typing import Any

import pytest

from cpuplan.base.cpuset import EMPTY, MAX_CPU, CpuSet
from cpuplan.base.topology import UNKNOWN, Topology
from cpuplan.fleet.hardware import build
from cpuplan.importers import documents
from cpuplan.importers.sysroot import reader as sysroot
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.language.read import documents as read_documents
from cpuplan.language.read import yaml

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"
INTERLEAVED = {"cores": "interleaved"}
ADJACENT = {"threads": "adjacent"}


def made(spec: dict[str, Any], offline: str = "") -> Topology:
    topology, problems = build(HardwareSpec.model_validate(spec), CpuSet.parse(offline))
    assert topology is not None, problems
    return topology


def regular(**values: object) -> dict[str, Any]:
    return {"regular": values}


def layout(**values: object) -> dict[str, Any]:
    return {"topology": {"cores": [{"threads": ["0-3", "4-7"]}], **values}}


@pytest.mark.parametrize(
    ("spec", "siblings_of_1", "socket_0", "node_0"),
    [
        pytest.param(
            regular(sockets=2, coresPerSocket=2, threadsPerCore=2),
            "1,5",
            "0-1,4-5",
            "0-1,4-5",
            id="most servers",
        ),
        pytest.param(
            regular(sockets=2, coresPerSocket=2, threadsPerCore=2, numbering=INTERLEAVED),
            "1,5",
            "0,2,4,6",
            "0,2,4,6",
            id="Dell",
        ),
        pytest.param(
            regular(sockets=2, coresPerSocket=2, threadsPerCore=2, numbering=ADJACENT),
            "0-1",
            "0-3",
            "0-3",
            id="KVM guest",
        ),
        pytest.param(
            regular(sockets=2, coresPerSocket=4, numaNodesPerSocket=2, numbering=INTERLEAVED),
            "1",
            "0,2,4,6",
            "0,4",
            id="Dell with SNC2: CPU c is on node c mod 4",
        ),
    ],
)
def test_numbering(spec: dict[str, Any], siblings_of_1: str, socket_0: str, node_0: str) -> None:
    topology = made(spec)
    assert str(topology.siblings(1)) == siblings_of_1
    assert str(topology.sockets[0]) == socket_0
    assert str(topology.numa_nodes[0]) == node_0


def test_uneven_sub_numa_clusters() -> None:
    """Xeon 6980P in SNC3 mode: 43, 43 and 42 cores."""
    topology = made(regular(sockets=2, coresPerSocket=128, threadsPerCore=2, numaNodesPerSocket=3))
    assert [len(cpus) for cpus in topology.numa_nodes.values()] == [86, 86, 84, 86, 86, 84]
    assert str(topology.numa_nodes[2]) == "86-127,342-383"
    assert len(topology.uncore_caches) == 2


def test_interleaved_nodes_with_fewer_cores_run_out_first() -> None:
    """Five cores a socket in nodes of 3 and 2: the last round has the larger nodes alone."""
    topology = made(
        regular(sockets=2, coresPerSocket=5, numaNodesPerSocket=2, numbering=INTERLEAVED)
    )
    nodes = {node: str(cpus) for node, cpus in topology.numa_nodes.items()}
    assert nodes == {0: "0,4,8", 1: "1,5,9", 2: "2,6", 3: "3,7"}
    assert [str(cpus) for cpus in topology.sockets.values()] == ["0,2,4,6,8", "1,3,5,7,9"]
    assert [topology[cpu].core_id for cpu in (0, 4, 8, 2, 6)] == [0, 1, 2, 3, 4]


def test_a_machine_may_have_as_many_cpus_as_there_are_numbers() -> None:
    assert len(made(regular(sockets=2, coresPerSocket=(MAX_CPU + 1) // 2)).online) == MAX_CPU + 1


def test_caches_dies_and_memory() -> None:
    """EPYC 7763, NPS4: eight caches of eight cores, two in each NUMA node."""
    topology = made(
        regular(
            sockets=2,
            coresPerSocket=64,
            threadsPerCore=2,
            dies_per_socket=8,
            cachesPerSocket=8,
            numaNodesPerSocket=4,
            memoryPerNumaNode="64Gi",
        )
    )
    assert len(topology.uncore_caches) == 16
    assert str(topology.uncore_caches[8]) == "8-15,136-143"
    assert topology[9].die == 1
    assert topology.numa_facts[7].memory == 64 * 1024**3


def test_offline_siblings_leave_their_core() -> None:
    topology = made(regular(coresPerSocket=4, threadsPerCore=2), offline="0,5-7")
    assert [str(core) for core in topology.cores.values()] == ["1", "2", "3", "4"]
    assert str(topology.uncore_caches[1]) == "1-4"
    assert str(topology.offline) == "0,5-7"


def test_offline_cpus_that_the_machine_lacks_count_for_nothing() -> None:
    assert made(regular(coresPerSocket=4), offline="3,900").offline == CpuSet([3])
    assert made(layout(), offline="3,900").offline == CpuSet([3])


def test_layout_defaults() -> None:
    topology = made(layout())
    assert [str(core) for core in topology.cores.values()] == ["0,4", "1,5", "2,6", "3,7"]
    cpu = topology[6]
    assert (cpu.socket, cpu.die, cpu.numa_node, cpu.uncore_cache, cpu.core_id, cpu.cluster) == (
        0,
        0,
        0,
        UNKNOWN,
        2,
        2,
    )


def test_layout_in_full() -> None:
    """A made-up hybrid: cores of one and of two threads, a cluster, and memory without CPUs."""
    topology = made(
        {
            "topology": {
                "offline": "5",
                "cores": [
                    {"type": "performance", "threads": ["0", "1"], "ids": ["4", "6"]},
                    {"type": "efficient", "threads": ["2-4"], "ids": ["8-9,0"]},
                ],
                "sockets": [{"id": 1, "cpus": "0-1"}, {"id": 3, "cpus": "2-5"}],
                "dies": [{"id": 7, "cpus": "0-3"}],
                "clusters": ["2-3"],
                "numaNodes": [
                    {"id": 2, "cpus": "0-3,5", "distances": [10, 20]},
                    {"id": 9, "memory": "1Gi"},
                ],
                "caches": [{"level": 3, "cpus": ["0-1", "2-3"]}, {"level": 2, "per": "core"}],
            }
        }
    )
    assert [(c.core, c.core_id, c.core_type) for c in topology.cpus] == [
        (0, 4, "performance"),
        (0, 6, "performance"),
        (2, 8, "efficient"),
        (3, 9, "efficient"),
        (4, 0, "efficient"),
    ]
    assert [(c.socket, c.die, c.numa_node) for c in topology.cpus] == [(1, 7, 2)] * 2 + [
        (3, 7, 2)
    ] * 2 + [(3, -1, -1)]
    assert [(c.uncore_cache, c.cluster) for c in topology.cpus] == [
        (0, 0),
        (0, 0),
        (2, 2),
        (2, 2),
        (-1, 4),
    ]
    assert topology.numa_facts[9].memory == 1024**3
    assert topology.numa_facts[2].distances == (10, 20)
    assert topology.offline == CpuSet([5])


@pytest.mark.parametrize(
    ("per", "extra", "domains"),
    [
        ("core", {}, ["0,4", "1,5", "2,6", "3,7"]),
        ("socket", {}, ["0-7"]),
        (
            "socket",
            {"sockets": [{"id": 0, "cpus": "0-1,4-5"}, {"id": 1, "cpus": "2-3,6-7"}]},
            ["0-1,4-5", "2-3,6-7"],
        ),
        ("die", {"dies": [{"id": 0, "cpus": "0-3"}, {"id": 1, "cpus": "4-7"}]}, ["0-3", "4-7"]),
        ("die", {"sockets": [{"id": 0, "cpus": "0-5"}, {"id": 1, "cpus": "6-7"}]}, ["0-5", "6-7"]),
        ("cluster", {"clusters": ["0-1,4-5", "2-3,6-7"]}, ["0-1,4-5", "2-3,6-7"]),
        ("numaNode", {"numaNodes": [{"id": 0, "cpus": "0-7"}, {"id": 1}]}, ["0-7"]),
    ],
)
def test_one_cache_per_group(per: str, extra: dict[str, Any], domains: list[str]) -> None:
    topology = made(layout(caches=[{"level": 3, "per": per}], **extra))
    assert [str(cpus) for cpus in topology.uncore_caches.values()] == domains


@pytest.mark.parametrize(
    ("spec", "code", "field"),
    [
        ({}, "CP301", ()),
        ({**regular(coresPerSocket=4), **layout()}, "CP301", ()),
        (regular(coresPerSocket=4, diesPerSocket=3), "CP302", ("regular", "diesPerSocket")),
        (regular(coresPerSocket=4, cachesPerSocket=8), "CP302", ("regular", "cachesPerSocket")),
        (
            regular(coresPerSocket=4, numaNodesPerSocket=5),
            "CP302",
            ("regular", "numaNodesPerSocket"),
        ),
        (
            regular(sockets=9, coresPerSocket=512, threadsPerCore=2),
            "CP307",
            ("regular", "coresPerSocket"),
        ),
        (regular(sockets=3, coresPerSocket=2731), "CP307", ("regular", "coresPerSocket")),
        (
            regular(
                coresPerSocket=4,
                numaNodesPerSocket=2,
                distances={"withinSocket": 12},
                memoryOnlyNodes=["1Gi"],
            ),
            "CP311",
            ("regular", "distances"),
        ),
        (
            layout(cores=[{"threads": ["0-3", "3-6"]}]),
            "CP303",
            ("topology", "cores", 0, "threads", 1),
        ),
        (
            layout(cores=[{"threads": ["0-3"]}, {"threads": ["3"]}]),
            "CP303",
            ("topology", "cores", 1, "threads", 0),
        ),
        (layout(clusters=["0-1", "1-2"]), "CP303", ("topology", "clusters", 1)),
        (
            layout(numaNodes=[{"id": 0, "cpus": "0-7"}, {"id": 1, "cpus": "7"}]),
            "CP303",
            ("topology", "numaNodes", 1, "cpus"),
        ),
        (
            layout(caches=[{"level": 2, "cpus": ["0-1", "1-2"]}]),
            "CP303",
            ("topology", "caches", 0, "cpus", 1),
        ),
        (
            layout(caches=[{"level": 2, "per": "core"}, {"level": 2, "per": "socket"}]),
            "CP303",
            ("topology", "caches", 1, "per"),
        ),
        (layout(sockets=[{"id": 0, "cpus": "0-8"}]), "CP304", ("topology", "sockets", 0, "cpus")),
        (layout(cores=[{"threads": ["0-3", "4-6"]}]), "CP305", ("topology", "cores", 0, "threads")),
        (
            layout(cores=[{"threads": ["0-3"], "ids": ["0-2"]}]),
            "CP306",
            ("topology", "cores", 0, "ids", 0),
        ),
        (
            layout(cores=[{"threads": ["0-3"], "ids": ["0-9999999999"]}]),
            "CP306",
            ("topology", "cores", 0, "ids", 0),
        ),
        (
            layout(cores=[{"threads": ["0-3"], "ids": ["3-0,0-6"]}]),
            "CP306",
            ("topology", "cores", 0, "ids", 0),
        ),
        (
            layout(cores=[{"threads": ["0-3"], "ids": ["0-3", "0-3"]}]),
            "CP306",
            ("topology", "cores", 0, "ids"),
        ),
        (
            layout(caches=[{"level": 3, "per": "core", "ids": "0-4"}]),
            "CP306",
            ("topology", "caches", 0, "ids"),
        ),
        (layout(caches=[{"level": 3}]), "CP308", ("topology", "caches", 0)),
        (
            layout(caches=[{"level": 3, "per": "core", "cpus": ["0-7"]}]),
            "CP308",
            ("topology", "caches", 0),
        ),
        (
            layout(sockets=[{"id": 1, "cpus": "0-3"}, {"id": 1, "cpus": "4-7"}]),
            "CP309",
            ("topology", "sockets", 1, "id"),
        ),
        (layout(cores=[{"threads": [""]}], offline="0-3"), "CP310", ("topology", "offline")),
    ],
)
def test_what_is_wrong(spec: dict[str, Any], code: str, field: tuple[str | int, ...]) -> None:
    topology, problems = build(HardwareSpec.model_validate(spec))
    assert topology is None
    assert [(problem.code, problem.field) for problem in problems] == [(code, field)]


def test_all_cpus_offline() -> None:
    topology, problems = build(
        HardwareSpec.model_validate(regular(coresPerSocket=2)), CpuSet([0, 1])
    )
    assert topology is None
    assert [problem.code for problem in problems] == ["CP310"]


def test_offline_cpus_may_be_in_groups_and_in_no_core() -> None:
    topology = made(layout(offline="8-9", numaNodes=[{"id": 0, "cpus": "0-9"}]))
    assert str(topology.numa_nodes[0]) == "0-7"
    assert topology.offline - topology.online == topology.offline
    assert topology.offline != EMPTY


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no recorded machines at {CORPUS}")
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("syn-spr8480-2s-224c", {"sockets": 2, "coresPerSocket": 56, "threadsPerCore": 2}),
        (
            "syn-telco-spr6438n-2s-alternate-128c",
            {"sockets": 2, "coresPerSocket": 32, "threadsPerCore": 2, "numbering": INTERLEAVED},
        ),
        (
            "syn-milan7763-2s-nps4-256c",
            {
                "sockets": 2,
                "coresPerSocket": 64,
                "threadsPerCore": 2,
                "numaNodesPerSocket": 4,
                "cachesPerSocket": 8,
            },
        ),
        (
            "syn-gnr6980p-2s-snc3-512c",
            {"sockets": 2, "coresPerSocket": 128, "threadsPerCore": 2, "numaNodesPerSocket": 3},
        ),
        (
            "intel-2s-112c-ocp-master",
            {"sockets": 2, "coresPerSocket": 28, "threadsPerCore": 2, "numbering": INTERLEAVED},
        ),
        (
            "clx6230-2s-snc2-2lm-80c",
            {
                "sockets": 2,
                "coresPerSocket": 20,
                "threadsPerCore": 2,
                "numaNodesPerSocket": 2,
                "numbering": INTERLEAVED,
            },
        ),
        (
            "syn-power10-2s-smt8-240c",
            {
                "sockets": 2,
                "coresPerSocket": 15,
                "threadsPerCore": 8,
                "cachesPerSocket": 15,
                "numbering": ADJACENT,
            },
        ),
    ],
)
def test_regular_is_as_recorded(name: str, values: dict[str, Any]) -> None:
    """The short form numbers CPUs as the firmware did; node ids of POWER are its own."""
    archive = next((CORPUS / name).glob("sysroot.tar.*"))
    sources = [
        source
        for path, text in documents.render(sysroot.read(archive)).items()
        for source in yaml.parse(path, text)[0]
    ]
    recorded, _ = build(read_documents.from_sources(sources)[0].of_kind("Hardware")[0].spec)
    assert recorded is not None
    topology = made(regular(**values))
    assert topology.cores == recorded.cores
    assert topology.uncore_caches == recorded.uncore_caches
    assert list(topology.sockets.values()) == list(recorded.sockets.values())
    assert list(topology.numa_nodes.values()) == list(recorded.numa_nodes.values())


def test_clusters_core_ids_and_no_last_level_cache() -> None:
    values = {
        "sockets": 2,
        "coresPerSocket": 4,
        "coresPerCluster": 2,
        "cachesPerSocket": 0,
        "coreIds": "0-1,8-9",
    }
    topology = made(regular(**values))
    assert [cpu.cluster for cpu in topology.cpus] == [0, 0, 2, 2, 4, 4, 6, 6]
    assert [cpu.core_id for cpu in topology.cpus] == [0, 1, 8, 9, 0, 1, 8, 9]
    assert topology.uncore_caches == {}


def test_memory_only_nodes_come_last() -> None:
    topology = made(
        regular(sockets=2, coresPerSocket=2, memoryPerNumaNode="1Gi", memoryOnlyNodes=["2Gi", "0"])
    )
    assert {node: facts.memory for node, facts in topology.numa_facts.items()} == {
        0: 2**30,
        1: 2**30,
        2: 2**31,
        3: 0,
    }
    assert list(topology.numa_nodes) == [0, 1]


@pytest.mark.parametrize(
    ("values", "row_of_1"),
    [
        ({"distances": {"withinSocket": 12, "betweenSockets": 32}}, (12, 10, 32, 32)),
        (
            {"distances": {"withinSocket": 11, "betweenSockets": 21}, "numbering": INTERLEAVED},
            (21, 10, 21, 11),
        ),
        ({"distances": {"withinSocket": 12}}, ()),
        ({}, ()),
    ],
)
def test_distances(values: dict[str, Any], row_of_1: tuple[int, ...]) -> None:
    topology = made(regular(sockets=2, coresPerSocket=4, numaNodesPerSocket=2, **values))
    assert topology.numa_facts[1].distances == row_of_1
