"""What the next best layout would cost."""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.plan import NodePlan
from cpuplan.solve import alternatives, solver
from cpuplan.solve.alternatives import Alternative
from tests.unit.solve.problems import locate, machine, node_class

SERVER = machine(16, 2, sockets=2, numa_nodes=2, caches=4)


def plan_of(pools: dict[str, Any], **further: Any) -> NodePlan:
    return solver.solve(node_class(SERVER, pools, **further), locate)


def told(answer: Alternative | None) -> dict[str, Any]:
    assert answer
    return {
        "wish": answer.wish,
        "differences": [
            (difference.goal, difference.text, difference.is_worse)
            for difference in answer.differences
        ],
        "moves": {
            difference.name: (str(difference.loses), str(difference.gets))
            for difference in answer.moves
        },
        "conflict": [reason.origin for reason in answer.conflict],
    }


def test_a_cpu_that_could_as_well_be_elsewhere() -> None:
    plan = plan_of({"reserved": {"cores": 2}})
    assert told(alternatives.cpu_elsewhere(plan, 17)) == {
        "wish": "CPU 17 not in reserved",
        "differences": [],
        "moves": {"reserved": ("1,17", "2,18"), "isolated": ("2,18", "1,17")},
        "conflict": [],
    }


def test_a_cpu_whose_move_makes_a_goal_worse() -> None:
    plan = plan_of({"reserved": {"cores": 4}, "shared": {"cores": 4}})
    answer = told(alternatives.cpu_elsewhere(plan, 1))
    assert answer["differences"] == [("locality", "reserved would be on 2 caches, not 1", True)]


@pytest.mark.parametrize(
    ("pools", "cpu", "conflict"),
    [
        ({"reserved": {"cores": 2}}, 0, ["rule cpu0-reserved"]),
        ({"reserved": "0-1,16-17"}, 17, ["Intent/ran:spec.pools.reserved.cpus"]),
        # CPU 16 must follow its sibling CPU 0.
        (
            {"reserved": {"cores": 2}},
            16,
            ["Intent/ran:spec.pools.reserved.cores", "rule cpu0-reserved"],
        ),
        (
            {
                "reserved": {"cpus": "0", "wholeCores": False},
                "isolated": {"count": 31, "wholeCores": False},
            },
            16,
            ["Intent/ran:spec.pools.reserved.cpus", "Intent/ran:spec.pools.isolated.count"],
        ),
        # All but one core, and the one is that of CPU 0.
        (
            {"reserved": {"cores": 1}, "isolated": {"cores": 15}},
            1,
            ["Intent/ran:spec.pools.isolated.cores", "rule cpu0-reserved"],
        ),
    ],
)
def test_a_cpu_that_cannot_be_elsewhere(
    pools: dict[str, Any], cpu: int, conflict: list[str]
) -> None:
    answer = told(alternatives.cpu_elsewhere(plan_of(pools), cpu))
    assert answer["conflict"] == conflict
    assert not answer["moves"]


def test_a_cpu_of_a_partition_and_one_of_no_pool() -> None:
    plan = plan_of({"reserved": {"cores": 1}, "isolated": {"partitions": {"dpdk": {"cores": 2}}}})
    cpu = plan.pool("isolated.dpdk").cpus.first
    assert told(alternatives.cpu_elsewhere(plan, cpu))["wish"] == f"CPU {cpu} not in isolated.dpdk"
    assert alternatives.cpu_elsewhere(plan, 99) is None


def test_other_cpus_and_another_part() -> None:
    plan = plan_of({"reserved": {"cores": 4}, "shared": {"cores": 4}})
    assert str(plan.pool("shared").cpus) == "8-11,24-27"
    answer = told(alternatives.other_part(plan, "shared"))
    assert answer["wish"] == "shared not on NUMA node 1"
    assert answer["differences"] == [
        ("balance", "the NUMA node with the fewest isolated CPUs would have 0, not 8", True)
    ]
    answer = told(alternatives.other_cpus(plan, ["reserved", "shared"]))
    assert answer["moves"]
    assert not answer["conflict"]
    spread = plan_of({"reserved": {"cores": 1, "per": "numaNode"}})
    assert (
        told(alternatives.other_part(spread, "reserved"))["wish"]
        == "reserved not on last-level caches 0,8"
    )


def test_a_layout_that_was_kept_may_be_worse_than_the_next_best() -> None:
    node = node_class(SERVER, {"reserved": {"cores": 2}})
    kept = {"reserved": CpuSet.parse("0,8,16,24")}
    kept["isolated"] = SERVER.online - kept["reserved"]
    answer = told(alternatives.cpu_elsewhere(solver.explain(node, kept), 24))
    assert answer["differences"][0] == (
        "locality",
        "reserved would be on 1 NUMA node, not 2",
        False,
    )


def test_an_empty_set_has_its_reason() -> None:
    plan = plan_of({"reserved": {"cores": 1}, "shared": {"cores": 0}})
    assert told(alternatives.other_cpus(plan, ["shared"]))["conflict"] == [
        "Intent/ran:spec.pools.shared.cores"
    ]
    assert alternatives.other_part(plan, "shared") is None


def test_pools_with() -> None:
    plan = plan_of({"reserved": {"cores": 1}, "shared": {"cores": 1}})
    both = plan.pool("reserved").cpus | plan.pool("shared").cpus
    assert plan.pools_with(both) == ("reserved", "shared")
    assert plan.pools_with(CpuSet.parse("0")) == ()


def test_many_equal_choices_come_to_an_end() -> None:
    """One core of each of 8 NUMA nodes: all but the first of each could as well be another."""
    many = machine(64, 2, sockets=2, numa_nodes=8, caches=16)
    plan = solver.solve(
        node_class(many, {"reserved": {"cores": 1, "per": "numaNode"}, "offlined": {"cores": 4}}),
        locate,
    )
    answer = told(alternatives.other_cpus(plan, ["reserved"]))
    assert answer["moves"]["reserved"] == ("56,120", "57,121")
