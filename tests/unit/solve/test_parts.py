"""Sizes and places by parts of the machine: whole caches, devices, one part, shares of a set."""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.diagnostics import CpuplanError
from cpuplan.language.model.inventory import Device
from cpuplan.plan import NodePlan
from cpuplan.solve import layouts, solver
from tests.unit.solve.problems import locate, machine, node_class

#: Two sockets, two NUMA nodes in each, two caches in each NUMA node.
ROME = machine(32, 2, sockets=2, numa_nodes=4, caches=8)
CARDS = tuple(
    Device.model_validate(
        {"address": f"0000:{at:02}:00.0", "class": kind, "driver": driver, "numaNode": node}
    )
    for at, (kind, driver, node) in enumerate(
        [
            ("network", "ice", 0),
            ("network", "ice", 0),
            ("network", "mlx5", 3),
            ("storage", "nvme", 2),
        ]
    )
)


def solved(pools: dict[str, Any], topology: Topology = ROME) -> NodePlan:
    return solver.solve(node_class(topology, pools, devices=CARDS), locate)


def parts_of(plan: NodePlan, name: str, parts: dict[int, CpuSet]) -> dict[int, int]:
    """The CPUs of a set in each part that it is on."""
    held = {number: len(plan.pool(name).cpus & cpus) for number, cpus in parts.items()}
    return {number: cpus for number, cpus in held.items() if cpus}


def test_a_wish_is_no_demand() -> None:
    """Nine cores do not fit a node of eight: without `within` they are on two, without a word."""
    pools = {"reserved": {"cores": 1}, "shared": {"cores": 9}}
    assert len(parts_of(solved(pools), "shared", ROME.numa_nodes)) == 2
    with pytest.raises(CpuplanError) as caught:
        solved(pools | {"shared": {"cores": 9, "within": "numaNode"}})
    (problem,) = caught.value.diagnostics
    assert problem.remedy == ("lower shared.cores to 8, or write within: socket under shared")


@pytest.mark.parametrize(
    ("within", "cores", "parts"),
    [("cache", 4, 1), ("numaNode", 8, 1), ("socket", 15, 1), ("die", 15, 1)],
)
def test_within_one_part(within: str, cores: int, parts: int) -> None:
    plan = solved({"reserved": {"cores": 1}, "shared": {"cores": cores, "within": within}})
    of = {
        "cache": ROME.uncore_caches,
        "numaNode": ROME.numa_nodes,
        "socket": ROME.sockets,
        "die": ROME.sockets,
    }[within]
    assert len(parts_of(plan, "shared", of)) == parts


def test_the_share_of_each_part_is_within_one() -> None:
    pools = {"reserved": {"cores": 1}, "shared": {"cores": 4, "per": "socket", "within": "cache"}}
    plan = solved(pools)
    assert list(parts_of(plan, "shared", ROME.uncore_caches).values()) == [8, 8]
    (reason,) = [reason for reason in plan.pool("shared").because if "within" in reason.origin]
    assert reason.text == "shared lies within one last-level cache of each socket"


def test_whole_caches() -> None:
    pools = {
        "reserved": {"cores": 1},
        "isolated": {"partitions": {"db": {"wholeCaches": 2}, "web": {"wholeCaches": 1}}},
    }
    plan = solved(pools)
    assert parts_of(plan, "isolated.db", ROME.uncore_caches) == {8: 8, 12: 8}
    assert plan.pool("isolated.db").because[0].text == "isolated.db takes 2 whole last-level caches"


def test_a_thread_of_each_core_of_a_whole_cache() -> None:
    plan = solved({"reserved": {"cores": 1}, "isolcpus": {"wholeCaches": 1, "sibling": "idle"}})
    assert parts_of(plan, "isolcpus", ROME.uncore_caches) == {28: 4}
    assert len(plan.pool("offlined").cpus) == 4


def test_caches_with_cpus_offline_are_whole_as_they_are() -> None:
    topology = machine(8, 2, caches=2, offline=CpuSet([7, 15]))
    pools = {"reserved": {"wholeCaches": 1}}
    assert solved(pools, topology).pool("reserved").cpus == CpuSet.parse("0-3,8-11")
    # CPU 0 need not be reserved: the goals take the smaller cache.
    node = node_class(
        topology, pools, rules=[{"disable": "cpu0-reserved", "because": "for the test"}]
    )
    assert len(solver.solve(node, locate).pool("reserved").cpus) == 6


def test_too_many_caches_are_counted() -> None:
    with pytest.raises(CpuplanError) as caught:
        solved({"reserved": {"cores": 1, "per": "numaNode"}, "shared": {"wholeCaches": 5}})
    (problem,) = caught.value.diagnostics
    assert problem.remedy == "lower shared.wholeCaches to 4"


def test_cpus_for_each_device_are_on_its_node() -> None:
    pools = {
        "reserved": {"cores": 1},
        "isolated": {
            "partitions": {
                "dpdk": {"cores": 2, "perDevice": {"class": "network"}},
                "spdk": {"count": 2, "perDevice": {"driver": "nvme"}},
            }
        },
    }
    plan = solved(pools)
    assert parts_of(plan, "isolated.dpdk", ROME.numa_nodes) == {0: 8, 3: 4}
    assert parts_of(plan, "isolated.spdk", ROME.numa_nodes) == {2: 2}
    assert plan.pool("isolated.dpdk").because[0].text == (
        "isolated.dpdk takes 2 whole cores for devices of class network (3 devices)"
    )


def test_a_device_off_the_places_of_a_pool_is_a_conflict() -> None:
    dpdk = {"cores": 2, "perDevice": {"class": "network"}, "sockets": 0}
    with pytest.raises(CpuplanError, match="does not fit"):
        solved({"reserved": {"cores": 1}, "isolated": {"partitions": {"dpdk": dpdk}}})


@pytest.mark.parametrize(
    ("size", "cpus"),
    [
        ({"percent": 20, "of": "shared"}, 4),  # of 16
        ({"percent": 30, "of": "shared"}, 6),  # 4.8 is 5, and 6 in whole cores
        ({"percent": 30, "of": "shared", "max": 5}, 4),  # rounded down: 6 is more than max
        ({"percent": 6, "of": "isolated"}, 4),  # of 42
        ({"percent": 50, "of": "shared", "sibling": "idle"}, 8),
    ],
)
def test_a_share_of_another_set(size: dict[str, Any], cpus: int) -> None:
    pools = {"reserved": {"cores": 1}, "shared": {"cores": 8}, "isolcpus": size}
    assert len(solved(pools).pool("isolcpus").cpus) == cpus


@pytest.mark.parametrize(
    ("cores", "cpus"),
    [(2, 1), (4, 1), (8, 1), (32, 1), (96, 1), (384, 2)],
)
def test_steps_as_clouds_reserve(cores: int, cpus: int) -> None:
    """6 % of the first CPU, 1 % of the second, 0.5 % of the next two, 0.25 % of the others."""
    steps = [
        {"cpus": 1, "percent": 6},
        {"cpus": 1, "percent": 1},
        {"cpus": 2, "percent": "0.5"},
        {"percent": "0.25"},
    ]
    assert len(solved({"reserved": {"steps": steps}}, machine(cores)).pool("reserved").cpus) == cpus


def test_steps_are_rounded_once() -> None:
    """50 % of one CPU and 50 % of another are a CPU, and a core of two."""
    steps = [{"cpus": 1, "percent": 50}, {"cpus": 1, "percent": 50}]
    plan = solved({"reserved": {"steps": steps}}, machine(4))
    assert plan.pool("reserved").cpus == CpuSet([0])
    assert plan.pool("reserved").because[0].text == (
        "reserved takes 50% of the first 1 and 50% of the next 1 of the CPUs, "
        "rounded up to whole cores"
    )


def test_a_smaller_share_is_a_remedy() -> None:
    with pytest.raises(CpuplanError) as caught:
        solved({"reserved": {"cores": 17}, "isolcpus": {"percent": 90, "of": "reserved"}})
    (problem,) = caught.value.diagnostics
    assert "lower isolcpus.percent to 82" in problem.remedy


def test_whole_caches_of_unlike_machines() -> None:
    """The same CPUs are whole caches on both machines."""
    pools = {"reserved": {"cores": 1}, "isolcpus": {"wholeCaches": 1}}
    small, large = (machine(16, caches=caches) for caches in (4, 2))
    classes = [node_class(topology, pools) for topology in (small, large)]
    with pytest.raises(CpuplanError, match="no layout of pool"):
        layouts.solve_common(classes, locate)
    fitting = [node_class(machine(16, caches=4, sockets=sockets), pools) for sockets in (1, 2)]
    assert layouts.solve_common(fitting, locate)[0].layout["isolcpus"] == CpuSet.parse("12-15")


def test_pods_that_exceed_the_machine_are_named() -> None:
    node = node_class(
        ROME, {"reserved": {"cores": 1}}, workloads=[{"name": "du", "cpus": 40, "pods": 2}]
    )
    with pytest.raises(CpuplanError) as caught:
        solver.solve(node, locate)
    (problem,) = caught.value.diagnostics
    assert problem.label == "2 pods du of 40 CPUs must fit into isolated"
    assert problem.remedy == "lower workloads.0.pods to 1"
