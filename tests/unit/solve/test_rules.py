"""Statements as rules: amounts, roundings, reasons."""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import CpuplanError
from cpuplan.language.model.inventory import Device
from cpuplan.language.model.pools import Near
from cpuplan.solve import solver
from cpuplan.solve.constraints import Amount
from cpuplan.solve.layout import View
from cpuplan.solve.rules import problem_of
from cpuplan.solve.rules.placement import device_words
from cpuplan.solve.rules.rule import scopes_of
from tests.unit.solve.problems import locate, machine, node_class

TWO_NODES = machine(16, 2, sockets=2, numa_nodes=4)


def test_idle_siblings_leave_offlined_without_a_size() -> None:
    """Nobody wrote it, and it does not take the rest."""
    pools = {"reserved": {"cores": 1}, "isolated": {"rest": True, "sibling": "idle"}}
    rules = problem_of(node_class(TWO_NODES, pools)).rules
    texts = [rule.reason.text for rule in rules]
    assert [text for text in texts if "takes the rest" in text] == ["isolated takes the rest"]


@pytest.mark.parametrize(("threads", "is_said"), [(1, False), (2, True)])
def test_siblings_need_cores_with_two_threads(threads: int, is_said: bool) -> None:
    pools = {"reserved": {"cores": 1}, "isolated": {"rest": True, "sibling": "idle"}}
    rules = problem_of(node_class(machine(8, threads), pools)).rules
    assert any("takes one thread of each core" in rule.reason.text for rule in rules) is is_said


def test_with_a_sibling_there_are_no_whole_cores() -> None:
    pools = {"reserved": {"cores": 1}, "isolated": {"cores": 3, "sibling": "shared"}}
    rules = problem_of(node_class(machine(8, 2), {**pools, "shared": "rest"})).rules
    whole = [rule.name for rule in rules if "takes whole cores" in rule.reason.text]
    assert whole == ["reserved", "shared"]


def test_siblings_stay_in_one_pool_or_qos_set() -> None:
    node = node_class(machine(8, 2), {"reserved": {"cores": 1}}, qos={"other": {"cores": 2}})
    texts = [rule.reason.text for rule in problem_of(node).rules]
    assert "reserved takes whole cores: siblings stay in one pool" in texts
    assert "other takes whole cores: siblings stay in one set" in texts


def amounts(topology: Topology, pool: dict[str, Any]) -> list[tuple[str, int, str]]:
    rules = problem_of(node_class(topology, {"reserved": pool})).rules
    amounts = [
        amount for rule in rules for amount in rule.constraints if isinstance(amount, Amount)
    ]
    return [
        (amount.scope.name, amount.least, amount.unit)
        for amount in amounts
        if amount.least == amount.most
    ]


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        ({"count": 6}, [("the machine", 6, "CPUs")]),
        ({"cores": 3, "per": "socket"}, [("socket 0", 3, "cores"), ("socket 1", 3, "cores")]),
        ({"cores": 1, "per": "numaNode"}, [(f"NUMA node {node}", 1, "cores") for node in range(4)]),
        ({"percent": 10}, [("the machine", 4, "CPUs")]),  # 3.2 of 32
        ({"percent": 25, "per": "socket"}, [("socket 0", 4, "CPUs"), ("socket 1", 4, "CPUs")]),
        (
            {"percent": 1, "per": "numaNode"},
            [(f"NUMA node {node}", 2, "CPUs") for node in range(4)],
        ),
        ({"percent": 100}, [("the machine", 32, "CPUs")]),
    ],
)
def test_sizes(pool: dict[str, Any], expected: list[tuple[str, int, str]]) -> None:
    assert amounts(TWO_NODES, pool) == expected


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        ({"percent": 50, "max": 4}, [4]),
        ({"percent": 50, "max": 3}, [2]),  # whole cores below the bound
        ({"percent": 50, "max": 1}, [1]),  # which no whole cores have: a conflict
        ({"percent": 50, "max": 3, "min": 3}, [3]),
        ({"percent": 50, "max": 3, "wholeCores": False}, [3]),
        ({"percent": 1, "max": 3}, [2]),
        ({"percent": 1, "min": 3}, [4]),
        ({"percent": 1, "min": 3, "max": 4}, [4]),
        ({"percent": 50, "max": 3, "per": "socket"}, [2, 2]),
        ({"percent": 50, "max": 3, "per": "numaNode"}, [2, 2, 2, 2]),
        ({"percent": 50, "max": 3, "per": "cache"}, [2, 2, 2, 2]),
        ({"percent": 100, "max": 7, "per": "socket", "sockets": 1}, [6]),
    ],
)
def test_a_share_stays_within_its_bounds(pool: dict[str, Any], expected: list[int]) -> None:
    four = machine(16, 2, sockets=2, numa_nodes=4, caches=4)
    assert [number for _, number, _ in amounts(four, pool)] == expected


@pytest.mark.parametrize("per", ["machine", "socket", "numaNode", "cache"])
@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_no_share_is_above_max(per: str, most: int) -> None:
    """16 CPUs, 50 %, max 3: at most 3."""
    topology = machine(16, sockets=2, numa_nodes=2, caches=4)
    plan = solver.solve(
        node_class(topology, {"reserved": {"percent": 50, "max": most, "per": per}}), locate
    )
    cpus = plan.pool("reserved").cpus
    for scope in scopes_of(topology, per):
        assert len(cpus & scope.cpus) == min(most, len(scope.cpus) // 2)


FOUR_SOCKETS = machine(32, 2, sockets=4, numa_nodes=8, caches=8)


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        ({"cores": 2, "per": "socket", "sockets": [2, 3]}, {"socket": [0, 0, 2, 2]}),
        ({"cores": 1, "per": "numaNode", "sockets": "1"}, {"numaNode": [0, 0, 1, 1, 0, 0, 0, 0]}),
        (
            {"cores": 1, "per": "numaNode", "numaNodes": "2,5"},
            {"numaNode": [0, 0, 1, 0, 0, 1, 0, 0]},
        ),
        ({"cores": 3, "per": "socket", "numaNodes": "0"}, {"socket": [3, 0, 0, 0]}),
        ({"cores": 1, "per": "cache", "caches": [4, 8]}, {"cache": [0, 1, 1, 0, 0, 0, 0, 0]}),
        ({"cores": 1, "per": "cache", "sockets": 3}, {"cache": [0, 0, 0, 0, 0, 0, 1, 1]}),
        ({"percent": 25, "per": "socket", "sockets": "0,3"}, {"socket": [2, 0, 0, 2]}),
        (
            {"min": 4, "max": 6, "per": "numaNode", "numaNodes": "1"},
            {"numaNode": [0, 2, 0, 0, 0, 0, 0, 0]},
        ),
        (
            {"cores": 1, "per": "numaNode", "near": {"class": "gpu"}},
            {"numaNode": [0, 0, 0, 1, 0, 0, 0, 0]},
        ),
    ],
)
def test_a_size_of_each_part_is_for_the_parts_that_are_named(
    pool: dict[str, Any], expected: dict[str, list[int]]
) -> None:
    gpu = Device.model_validate({"address": "0000:17:00.0", "class": "gpu", "numaNode": 3})
    node = node_class(FOUR_SOCKETS, {"reserved": {"cores": 1}, "shared": pool}, devices=(gpu,))
    view = View(FOUR_SOCKETS, {"shared": solver.solve(node, locate).pool("shared").cpus})
    for level, cores in expected.items():
        scopes = scopes_of(FOUR_SOCKETS, level)
        assert [view.count("shared", scope.cpus, cores=True) for scope in scopes] == cores


def test_a_size_of_each_part_says_of_which() -> None:
    pools = {
        "reserved": {"cores": 1, "per": "numaNode", "numaNodes": "2-3"},
        "shared": {"min": 2, "per": "socket"},
    }
    assert [text for text, _ in reasons(pools)][:2] == [
        "reserved takes 1 whole core of each of NUMA nodes 2-3",
        "shared takes at least 2 CPUs of each socket",
    ]


def test_places_that_contradict_each_other_take_no_size_away() -> None:
    pools = {"reserved": {"cores": 1, "per": "socket", "sockets": 0, "numaNodes": 3}}
    with pytest.raises(CpuplanError) as caught:
        solver.solve(node_class(TWO_NODES, pools), locate)
    assert [problem.code for problem in caught.value.diagnostics] == ["CP401"]


def test_percent_of_unlike_cores_is_rounded_to_what_some_cores_have() -> None:
    one_single = machine(4, 2, offline=CpuSet([7]))
    assert amounts(one_single, {"percent": 60}) == [
        ("the machine", 5, "CPUs")
    ]  # 4.2 of 7: two cores and the single one
    all_double = machine(4, 2)
    assert amounts(all_double, {"percent": 60}) == [("the machine", 6, "CPUs")]  # 4.8 of 8


def test_numa_nodes_without_online_cpus_are_passed_over() -> None:
    assert amounts(
        machine(4, numa_nodes=2, offline=CpuSet([2, 3])), {"cores": 1, "per": "numaNode"}
    ) == [("NUMA node 0", 1, "cores")]


def reasons(pools: dict[str, Any], topology: Topology = TWO_NODES) -> list[tuple[str, str]]:
    return [
        (rule.reason.text, rule.reason.origin)
        for rule in problem_of(node_class(topology, pools)).rules
    ]


def test_reasons_name_their_statements() -> None:
    pools = {
        "reserved": {"cores": 2, "per": "numaNode"},
        "shared": {"cpus": "4", "wholeCores": False},
        "offlined": {"percent": 5, "wholeCores": True},
    }
    assert reasons(pools) == [
        ("reserved takes 2 whole cores of each NUMA node", "Intent/ran:spec.pools.reserved.cores"),
        ("shared takes CPU 4, which is listed", "Intent/ran:spec.pools.shared.cpus"),
        ("isolated takes the rest, because no other pool does", "rule rest"),
        (
            "offlined takes 5% of the CPUs, rounded up to whole cores",
            "Intent/ran:spec.pools.offlined.percent",
        ),
        ("reserved takes whole cores: siblings stay in one pool", "rule whole-cores"),
        (
            "offlined takes whole cores: siblings stay in one pool",
            "Intent/ran:spec.pools.offlined.wholeCores",
        ),
        ("isolated is not empty: pods need a CPU", "rule isolated-not-empty"),
        (
            (
                "CPU 0 stays in reserved: "
                "it keeps time and takes the interrupts that have no other place"
            ),
            "rule cpu0-reserved",
        ),
        ("every online CPU is in a pool", "rule every-cpu"),
    ]


def test_one_thread_per_core_needs_no_whole_cores() -> None:
    assert reasons({"reserved": "rest", "isolated": {"count": 3}}, machine(4)) == [
        ("reserved takes the rest", "Intent/ran:spec.pools.reserved.rest"),
        ("isolated takes 3 CPUs", "Intent/ran:spec.pools.isolated.count"),
        (
            "reserved is not empty: the kubelet's static policy needs a CPU",
            "rule reserved-not-empty",
        ),
        ("isolated is not empty: pods need a CPU", "rule isolated-not-empty"),
        (
            (
                "CPU 0 stays in reserved: "
                "it keeps time and takes the interrupts that have no other place"
            ),
            "rule cpu0-reserved",
        ),
        ("every online CPU is in a pool", "rule every-cpu"),
    ]


@pytest.mark.parametrize(
    ("isolated", "sizes"),
    [
        (
            {
                "rest": True,
                "sibling": "idle",
                "partitions": {"a": {"cores": 2}, "b": {"rest": True}},
            },
            (2, 4),
        ),
        ({"rest": True, "sibling": "idle", "partitions": {"a": {"count": 3}}}, (3,)),
        (
            {"cores": 6, "sibling": "shared", "partitions": {"a": {"cores": 2}, "b": {"cores": 3}}},
            (2, 3),
        ),
        ({"rest": True, "sibling": "idle", "partitions": {"a": {"percent": 20}}}, (4,)),
    ],
)
def test_partitions_leave_siblings_as_isolated_does(
    isolated: dict[str, Any], sizes: tuple[int, ...]
) -> None:
    pools = {"reserved": {"cores": 2}, "isolated": isolated}
    if isolated["sibling"] == "shared":
        pools |= {"shared": {"min": 0}}
    topology = machine(8, 2)
    plan = solver.solve(node_class(topology, pools), locate)
    parts = [pool.cpus for pool in (*plan.pools, *plan.sets) if pool.name.startswith("isolated.")]
    assert tuple(map(len, parts)) == sizes
    assert all(len(core & cpus) < 2 for core in topology.cores.values() for cpus in parts)


def test_a_partition_that_asks_for_whole_cores_is_told_apart() -> None:
    parts = {"a": {"cores": 2, "wholeCores": True}}
    pools = {
        "reserved": {"cores": 2},
        "isolated": {"rest": True, "sibling": "idle", "partitions": parts},
    }
    with pytest.raises(CpuplanError, match=r"isolated and isolated\.a do not fit"):
        solver.solve(node_class(machine(8, 2), pools), locate)


@pytest.mark.parametrize(
    ("near", "words"),
    [
        ({"device": "ens1f0"}, "ens1f0"),
        ({"class": "network"}, "devices of class network"),
        ({"driver": "ice"}, "devices of driver ice"),
        ({"class": "network", "driver": "ice"}, "devices of class network and driver ice"),
    ],
)
def test_devices_are_named_by_what_is_said_of_them(near: dict[str, str], words: str) -> None:
    assert device_words(Near.model_validate(near)) == words


def test_cores_of_a_type_are_asked_for_at_their_field() -> None:
    pool = {"cores": 1, "coreTypes": ["efficient"]}
    rules = problem_of(node_class(TWO_NODES, {"reserved": pool})).rules
    [reason] = [rule.reason for rule in rules if "efficient cores only" in rule.reason.text]
    assert reason.origin.endswith(":spec.pools.reserved.coreTypes")
