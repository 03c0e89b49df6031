"""Statements as rules: amounts, roundings, reasons."""

from typing import Any

import pytest

from cpuplan.cpuset import CpuSet
from cpuplan.solve.constraints import Amount
from cpuplan.solve.rules import problem_of
from cpuplan.topology import Topology
from tests.unit.solve.problems import machine, node_class

TWO_NODES = machine(16, 2, sockets=2, numa_nodes=4)


def amounts(topology: Topology, pool: dict[str, Any]) -> list[tuple[str, int, str]]:
    rules = problem_of(node_class(topology, {"reserved": pool})).rules
    found = [each for rule in rules for each in rule.constraints if isinstance(each, Amount)]
    return [(each.scope.name, each.least, each.unit) for each in found if each.least == each.most]


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        ({"count": 6}, [("the machine", 6, "CPUs")]),
        ({"cores": 3, "per": "socket"}, [("socket 0", 3, "cores"), ("socket 1", 3, "cores")]),
        ({"cores": 1, "per": "numaNode"}, [(f"NUMA node {node}", 1, "cores") for node in range(4)]),
        ({"percent": 10}, [("the machine", 4, "CPUs")]),  # 3.2 of 32
        ({"percent": 25, "per": "socket"}, [("socket 0", 4, "CPUs"), ("socket 1", 4, "CPUs")]),
        ({"percent": 1, "per": "numaNode"}, [(f"NUMA node {node}", 2, "CPUs") for node in range(4)]),
        ({"percent": 100}, [("the machine", 32, "CPUs")]),
    ],
)
def test_sizes(pool: dict[str, Any], expected: list[tuple[str, int, str]]) -> None:
    assert amounts(TWO_NODES, pool) == expected


def test_percent_of_unlike_cores_is_rounded_to_what_some_cores_have() -> None:
    one_single = machine(4, 2, offline=CpuSet([7]))
    assert amounts(one_single, {"percent": 60}) == [
        ("the machine", 5, "CPUs")
    ]  # 4.2 of 7: two cores and the single one
    all_double = machine(4, 2)
    assert amounts(all_double, {"percent": 60}) == [("the machine", 6, "CPUs")]  # 4.8 of 8


def test_numa_nodes_without_online_cpus_are_passed_over() -> None:
    assert amounts(machine(4, numa_nodes=2, offline=CpuSet([2, 3])), {"cores": 1, "per": "numaNode"}) == [
        ("NUMA node 0", 1, "cores")
    ]


def reasons(pools: dict[str, Any], topology: Topology = TWO_NODES) -> list[tuple[str, str]]:
    return [(rule.reason.text, rule.reason.origin) for rule in problem_of(node_class(topology, pools)).rules]


def test_reasons_name_their_statements() -> None:
    pools = {
        "reserved": {"cores": 2, "per": "numaNode"},
        "shared": {"cpus": "4", "wholeCores": False},
        "offlined": {"percent": 5, "wholeCores": True},
    }
    assert reasons(pools) == [
        ("reserved takes 2 whole cores of each NUMA node", "Intent/ran:spec.pools.reserved.cores"),
        ("shared takes CPU 4, which is listed", "Intent/ran:spec.pools.shared.cpus"),
        ("isolated takes the rest, since no pool is said to", "rule rest"),
        ("offlined takes 5% of the CPUs, rounded up to whole cores", "Intent/ran:spec.pools.offlined.percent"),
        ("reserved takes whole cores: siblings stay in one pool", "rule whole-cores"),
        ("offlined takes whole cores: siblings stay in one pool", "Intent/ran:spec.pools.offlined.wholeCores"),
        (
            "CPU 0 stays in reserved: it keeps time and takes the interrupts that have no other place",
            "rule cpu0-reserved",
        ),
        ("every online CPU is in a pool", "rule every-cpu"),
    ]


def test_one_thread_per_core_needs_no_whole_cores() -> None:
    assert reasons({"reserved": "rest", "isolated": {"count": 3}}, machine(4)) == [
        ("reserved takes the rest", "Intent/ran:spec.pools.reserved.rest"),
        ("isolated takes 3 CPUs", "Intent/ran:spec.pools.isolated.count"),
        ("reserved is not empty: the kubelet's static policy needs a CPU", "rule reserved-not-empty"),
        (
            "CPU 0 stays in reserved: it keeps time and takes the interrupts that have no other place",
            "rule cpu0-reserved",
        ),
        ("every online CPU is in a pool", "rule every-cpu"),
    ]
