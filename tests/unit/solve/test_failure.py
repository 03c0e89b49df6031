"""Conflicts as a user reads them: statements with their figures, and remedies that were tried."""

import re
from typing import Any

import pytest

from cpuplan.diagnostics import CpuplanError, Diagnostic
from cpuplan.solve import solver
from cpuplan.topology import Topology
from tests.unit.solve.problems import locate, machine, node_class

SERVER = machine(64, 2, sockets=2, numa_nodes=2)


def failure(pools: dict[str, Any], topology: Topology = SERVER) -> tuple[Diagnostic, ...]:
    with pytest.raises(CpuplanError) as caught:
        solver.solve(node_class(topology, pools), locate)
    return caught.value.diagnostics


def told(pools: dict[str, Any], topology: Topology = SERVER) -> list[str]:
    (found,) = failure(pools, topology)
    return [found.message, found.label, *(label.text for label in found.labels), found.remedy]


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
            "isolated takes 30 cores of NUMA node 1",
            "NUMA node 1 has 32 cores with 2 threads each",
            "write isolated: rest",
        ],
    ),
    "more than there is": (
        {"reserved": {"cores": 4}, "isolated": {"cores": 62}},
        [
            "reserved and isolated do not fit class ran-icx of cluster site (2 nodes)",
            "reserved takes 4 cores of the machine",
            "isolated takes 62 cores of the machine",
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
            "56 of the 128 online CPUs of class ran-icx in cluster site (2 nodes) would be in no pool, such as CPU 36",
            "reserved takes 8 CPUs of the machine",
            "isolated takes 32 cores of the machine",
            "every online CPU is in a pool",
            "the machine has 64 cores with 2 threads each",
            "write isolated: rest, or raise isolated.cores to 60, or raise reserved.percent to 49",
        ],
    ),
    "a single thread": (
        {"reserved": {"cpus": "0", "wholeCores": False}, "isolated": {"rest": True, "wholeCores": True}},
        [
            "1 of the 128 online CPUs of class ran-icx in cluster site (2 nodes) would be in no pool, such as CPU 64",
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
            "reserved is not empty: the kubelet's static policy needs a CPU",
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
    (found,) = failure(ROWS["half a core"][0])
    assert found.position == locate("Intent/ran:spec.pools.reserved.count")
    assert [label.position for label in found.labels] == [
        locate("Intent/ran:spec.pools.reserved.wholeCores"),
        locate("Hardware/icx:spec"),
    ]


def test_conflicts_without_a_common_statement_are_all_told() -> None:
    found = failure({"reserved": {"count": 3}, "shared": {"count": 5}})
    assert [each.position for each in found] == [
        locate("Intent/ran:spec.pools.reserved.count"),
        locate("Intent/ran:spec.pools.shared.count"),
    ]


def test_without_positions_the_message_says_everything() -> None:
    with pytest.raises(CpuplanError) as caught:
        solver.solve(node_class(SERVER, {"reserved": {"count": 3}}), lambda _: None)
    assert caught.value.diagnostics[0].message == (
        "reserved does not fit class ran-icx of cluster site (2 nodes); reserved takes 3 CPUs of the machine; "
        "reserved takes whole cores: siblings stay in one pool; the machine has 64 cores with 2 threads each"
    )


UNFIT: list[dict[str, Any]] = [
    *(pools for pools, _ in ROWS.values()),
    {"reserved": {"count": 5, "per": "numaNode"}, "isolated": {"count": 60, "per": "numaNode"}, "shared": "rest"},
    {"reserved": {"percent": 60}, "isolated": {"percent": 70}, "offlined": "rest"},
    {"reserved": {"cores": 2, "per": "socket"}, "isolated": {"percent": 40, "per": "numaNode"}, "shared": {"count": 8}},
    {"reserved": {"count": 7, "wholeCores": False}, "isolated": {"count": 9}, "shared": "rest"},
    {"reserved": {"count": 200}},
]


@pytest.mark.parametrize("pools", UNFIT)
def test_every_remedy_helps(pools: dict[str, Any]) -> None:
    for found in failure(pools):
        for remedy in found.remedy.split(", or "):
            if remedy != "change more than one of these statements":
                assert not _still_fails(pools, remedy, found.code), remedy


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
