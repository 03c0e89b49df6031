"""Conflicts as a user reads them: statements with their figures, and remedies that were tried."""

import re
from typing import Any

import pytest

from cpuplan.base.topology import Topology
from cpuplan.diagnostics import CpuplanError, Diagnostic
from cpuplan.language.model.inventory import Device
from cpuplan.solve import conflict, feasibility, remedies, solver
from tests.unit.solve.problems import locate, machine, node_class

SERVER = machine(64, 2, sockets=2, numa_nodes=2)


def failure(pools: dict[str, Any], topology: Topology = SERVER) -> tuple[Diagnostic, ...]:
    with pytest.raises(CpuplanError) as caught:
        solver.solve(node_class(topology, pools), locate)
    return caught.value.diagnostics


def told(pools: dict[str, Any], topology: Topology = SERVER) -> list[str]:
    (diagnostic,) = failure(pools, topology)
    return [
        diagnostic.message,
        diagnostic.label,
        *(label.text for label in diagnostic.labels),
        diagnostic.remedy,
    ]


ROWS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "one NUMA node is too small": (
        {
            "reserved": {"cores": 2, "per": "numaNode"},
            "shared": {"cpus": "32-35,96-99"},
            "isolated": {"cores": 30, "per": "numaNode"},
        },
        [
            "shared and isolated do not fit class ran-icx of cluster site (2 nodes)",
            "shared takes CPUs 32-35,96-99, which are listed",
            "isolated takes 30 cores of NUMA node 1, and 28 are left",
            "NUMA node 1 has 32 cores with 2 threads each",
            "write isolated: rest",
        ],
    ),
    "more than there is": (
        {"reserved": {"cores": 4}, "isolated": {"cores": 62}},
        [
            "reserved and isolated do not fit class ran-icx of cluster site (2 nodes)",
            "reserved takes 4 cores of the machine, and 2 are left",
            "isolated takes 62 cores of the machine, and 60 are left",
            "the machine has 64 cores with 2 threads each",
            "lower isolated.cores to 60, or lower reserved.cores to 2, or write isolated: rest",
        ],
    ),
    "half a core": (
        {"reserved": {"count": 3}},
        [
            "reserved does not fit class ran-icx of cluster site (2 nodes)",
            "reserved takes 3 CPUs of the machine",
            "reserved takes whole cores: siblings stay in one pool",
            "the machine has 64 cores with 2 threads each",
            "raise reserved.count to 4, or write wholeCores: false under reserved",
        ],
    ),
    "left over": (
        {"reserved": {"percent": 5}, "isolated": {"cores": 32}},
        [
            (
                "56 of the 128 online CPUs of class ran-icx in cluster "
                "site (2 nodes) would be in no pool, such as CPU 36"
            ),
            "reserved takes 8 CPUs of the machine",
            "isolated takes 32 cores of the machine",
            "every online CPU is in a pool",
            "the machine has 64 cores with 2 threads each",
            "write isolated: rest, or raise isolated.cores to 60, or raise reserved.percent to 49",
        ],
    ),
    "a single thread": (
        {
            "reserved": {"cpus": "0", "wholeCores": False},
            "isolated": {"rest": True, "wholeCores": True},
        },
        [
            (
                "1 of the 128 online CPUs of class ran-icx in cluster "
                "site (2 nodes) would be in no pool, such as CPU 64"
            ),
            "reserved takes CPU 0, which is listed",
            "isolated takes whole cores: siblings stay in one pool",
            "every online CPU is in a pool",
            "the machine has 64 cores with 2 threads each",
            "list whole cores in reserved.cpus: 0,64, or write wholeCores: false under isolated",
        ],
    ),
    "nothing left for reserved": (
        {"reserved": "rest", "isolated": {"cores": 32, "per": "numaNode"}},
        [
            "reserved and isolated do not fit class ran-icx of cluster site (2 nodes)",
            "isolated takes 32 cores of each of NUMA nodes 0-1",
            "reserved is not empty: the kubelet's static policy needs a CPU, and none are left",
            "each of NUMA nodes 0-1 has 32 cores with 2 threads each",
            "lower isolated.cores to 31",
        ],
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_is_told(name: str) -> None:
    pools, expected = ROWS[name]
    assert told(pools) == expected


def test_positions() -> None:
    (diagnostic,) = failure(ROWS["half a core"][0])
    assert diagnostic.position == locate("Intent/ran:spec.pools.reserved.count")
    assert [label.position for label in diagnostic.labels] == [
        locate("Intent/ran:spec.pools.reserved.wholeCores"),
        locate("Hardware/icx:spec"),
    ]


def test_conflicts_without_a_common_statement_are_all_told() -> None:
    diagnostics = failure({"reserved": {"count": 3}, "shared": {"count": 5}})
    assert [diagnostic.position for diagnostic in diagnostics] == [
        locate("Intent/ran:spec.pools.reserved.count"),
        locate("Intent/ran:spec.pools.shared.count"),
    ]


def test_without_positions_the_message_says_everything() -> None:
    with pytest.raises(CpuplanError) as caught:
        solver.solve(node_class(SERVER, {"reserved": {"count": 3}}), lambda _: None)
    assert caught.value.diagnostics[0].message == (
        "reserved does not fit class ran-icx of cluster site (2 nodes); "
        "reserved takes 3 CPUs of the machine; "
        "reserved takes whole cores: siblings stay in one pool; "
        "the machine has 64 cores with 2 threads each"
    )


GPUS = (
    Device.model_validate({"address": "0000:17:00.0", "class": "gpu", "numaNode": 1}),
    Device.model_validate(
        {"address": "0000:ca:00.0", "class": "network", "driver": "ice", "numaNode": 0}
    ),
)
#: Conflicts of the other statements: pools and further keys, and what is told.
FURTHER: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "the wrong NUMA node": (
        {"reserved": {"cores": 2, "numaNodes": 1}},
        {},
        [
            "reserved does not fit class ran-icx of cluster site (2 nodes)",
            "reserved is on NUMA node 1 only",
            (
                "CPU 0 stays in reserved: "
                "it keeps time and takes the interrupts that have no other place"
            ),
            "the machine has 64 cores with 2 threads each",
            "move reserved to NUMA node 0, or switch off the rule cpu0-reserved and give a reason",
        ],
    ),
    "two tenants of a NUMA node": (
        {
            "reserved": {"cores": 2},
            "isolated": {
                "rest": True,
                "partitions": {
                    "dpdk": {"cores": 20, "near": {"driver": "ice"}},
                    "ran": {"cores": 14, "numaNodes": 0},
                },
            },
        },
        {},
        [
            "isolated.dpdk and isolated.ran do not fit class ran-icx of cluster site (2 nodes)",
            "isolated.dpdk takes 20 cores of the machine, and 18 are left",
            "isolated.ran takes 14 cores of the machine, and 12 are left",
            "isolated.ran is on NUMA node 0 only",
            "isolated.dpdk is near devices of driver ice, on NUMA node 0",
            "the machine has 64 cores with 2 threads each",
            (
                "lower isolated.partitions.dpdk.cores to 17, "
                "or lower isolated.partitions.ran.cores to 11, "
                "or move isolated.ran to NUMA node 1"
            ),
        ],
    ),
    "apart, and nowhere to go": (
        {
            "reserved": {"cores": 1, "per": "numaNode"},
            "shared": {"cores": 2, "apart": {"reserved": "numaNode"}},
        },
        {},
        [
            "reserved and shared do not fit class ran-icx of cluster site (2 nodes)",
            "reserved takes 1 core of each of NUMA nodes 0-1",
            "shared takes 2 cores of the machine, and none are left",
            "shared shares no NUMA node with reserved",
            "each of NUMA nodes 0-1 has 32 cores with 2 threads each",
            "remove shared.apart.reserved",
        ],
    ),
    "workloads": (
        {"reserved": {"cores": 4}, "shared": {"cores": 30}},
        {"workloads": [{"name": "du", "cpus": 16, "pods": 4}]},
        [
            "reserved, shared and isolated do not fit class ran-icx of cluster site (2 nodes)",
            "reserved takes 4 cores of the machine",
            "shared takes 30 cores of the machine",
            "4 pods du of 16 CPUs must fit into isolated, and 60 are left",
            "the machine has 64 cores with 2 threads each",
            (
                "lower shared.cores to 28, or lower workloads.0.pods to 3, "
                "or lower reserved.cores to 2"
            ),
        ],
    ),
    "idle siblings": (
        {"reserved": {"cores": 2}, "isolated": {"count": 100, "sibling": "idle"}, "shared": "rest"},
        {},
        [
            "isolated does not fit class ran-icx of cluster site (2 nodes)",
            "isolated takes 100 CPUs of the machine, and 64 are left",
            "isolated takes one thread of each core, and offlined the others",
            "the machine has 64 cores with 2 threads each",
            "lower isolated.count to 62, or remove isolated.sibling",
        ],
    ),
    "QoS sets that leave CPUs to nobody": (
        {"reserved": {"cores": 2}},
        {"qos": {"bestEffort": {"cores": 20}, "other": {"cores": 40}}},
        [
            "bestEffort and other do not fit class ran-icx of cluster site (2 nodes)",
            "bestEffort takes 20 cores of the machine",
            "other takes 40 cores of the machine",
            "CPUs that are in neither QoS set are in isolcpus or offlined",
            "the machine has 64 cores with 2 threads each",
            "raise qos.other.cores to 44, or raise qos.bestEffort.cores to 24",
        ],
    ),
}


@pytest.mark.parametrize("name", FURTHER)
def test_what_is_told_of_places_and_neighbours(name: str) -> None:
    pools, further, expected = FURTHER[name]
    with pytest.raises(CpuplanError) as caught:
        solver.solve(node_class(SERVER, pools, devices=GPUS, **further), locate)
    (diagnostic,) = caught.value.diagnostics
    assert [
        diagnostic.message,
        diagnostic.label,
        *(label.text for label in diagnostic.labels),
        diagnostic.remedy,
    ] == expected


def test_where_tests_end_nothing_more_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    pools = ROWS["more than there is"][0]
    monkeypatch.setattr(feasibility, "most_calls", lambda _problem: 0)
    monkeypatch.setattr(remedies, "_TESTS", 0)
    (diagnostic,) = failure(pools)
    assert (
        diagnostic.message
        == "reserved and isolated do not fit class ran-icx of cluster site (2 nodes)"
        + conflict.IN_ITSELF
    )
    assert (
        diagnostic.remedy
        == "change one or more of these statements: the changes that were tried are not enough"
    )


def test_the_fewest_statements_are_told() -> None:
    """Five statements that come first contradict each other; two are enough."""
    caches = machine(64, 2, sockets=2, numa_nodes=2, caches=8)
    parts = {
        "a": {"cores": 20, "apart": {"isolated.b": "cache"}},
        "b": {"cores": 20},
        "c": {"cores": 20},
        "d": {"cores": 40, "numaNodes": "0"},
    }
    (diagnostic,) = failure(
        {"reserved": {"cores": 2}, "isolated": {"rest": True, "partitions": parts}}, caches
    )
    assert diagnostic.message == "isolated.d does not fit class ran-icx of cluster site (2 nodes)"
    assert [diagnostic.label, *(label.text for label in diagnostic.labels)] == [
        "isolated.d takes 40 cores of the machine, and 32 are left",
        "isolated.d is on NUMA node 0 only",
        "the machine has 64 cores with 2 threads each",
    ]


UNFIT: list[dict[str, Any]] = [
    *(pools for pools, _ in ROWS.values()),
    {
        "reserved": {"count": 5, "per": "numaNode"},
        "isolated": {"count": 60, "per": "numaNode"},
        "shared": "rest",
    },
    {"reserved": {"percent": 60}, "isolated": {"percent": 70}, "offlined": "rest"},
    {
        "reserved": {"cores": 2, "per": "socket"},
        "isolated": {"percent": 40, "per": "numaNode"},
        "shared": {"count": 8},
    },
    {"reserved": {"count": 7, "wholeCores": False}, "isolated": {"count": 9}, "shared": "rest"},
    {"reserved": {"count": 200}},
]


@pytest.mark.parametrize("pools", UNFIT)
def test_every_remedy_helps(pools: dict[str, Any]) -> None:
    for diagnostic in failure(pools):
        for remedy in diagnostic.remedy.split(", or "):
            if remedy != "change more than one of these statements":
                assert not _still_fails(pools, remedy, diagnostic.code), remedy


def _still_fails(pools: dict[str, Any], remedy: str, code: str) -> bool:
    """Do as the remedy says, and solve again: does one remain of as many diagnostics as before?"""
    before = len(failure(pools))
    changed = {name: dict(pool) if isinstance(pool, dict) else pool for name, pool in pools.items()}
    if number := re.fullmatch(r"(?:raise|lower) (\w+)\.(\w+) to (\d+)", remedy):
        changed[number[1]][number[2]] = int(number[3])
    elif names := re.fullmatch(r"write wholeCores: false under (.*)", remedy):
        for name in re.split(", | and ", names[1]):
            changed[name]["wholeCores"] = False
    elif longer := re.fullmatch(r"list whole cores in (\w+)\.cpus: (.*)", remedy):
        changed[longer[1]]["cpus"] = longer[2]
    else:
        assert remedy == "write isolated: rest"
        changed["isolated"] = "rest"
    try:
        solver.solve(node_class(SERVER, changed), locate)
    except CpuplanError as error:
        return len(error.diagnostics) >= before
    return False


def test_of_very_many_sets_the_first_ones_are_named() -> None:
    parts = {f"p{number}": {"cores": 1} for number in range(100)}
    (diagnostic,) = failure({"reserved": {"cores": 1}, "isolated": {"partitions": parts}})
    assert re.match(r"(\S+, ){7}\S+ and \d+ more do not fit class", diagnostic.message)
    assert len(diagnostic.message) < 400
    assert len(diagnostic.labels) > 50
