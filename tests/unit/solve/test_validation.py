"""What is said against pools before solving: everything at once."""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.solve import solver
from tests.unit.solve.problems import locate, machine, node_class


def problems_of(pools: dict[str, Any], policy: str = "static") -> list[str]:
    """`code: message` of each diagnostic, on 4 cores with 2 threads of which CPU 7 is offline."""
    node = node_class(machine(4, 2, offline=CpuSet([7])), pools, policy)
    assert solver.check_statements(node, lambda _: None) == [
        problem._replace(position=None, labels=())
        for problem in solver.check_statements(node, locate)
    ]
    return [
        f"{problem.code}: {problem.message}" for problem in solver.check_statements(node, locate)
    ]


@pytest.mark.parametrize(
    ("pools", "messages"),
    [
        ({"reserved": {"cores": 1}}, []),
        ({"reserved": "0,4", "isolated": "1-3,5-6"}, []),
        (
            {"reserved": "0,4", "shared": "0,4"},
            ["CP211: CPUs 0,4 are listed for both reserved and shared"],
        ),
        (
            {"reserved": ""},
            [
                "CP212: pool reserved has no CPU, but cpuManagerPolicy is static",
                "CP214: CPU 0 is not in reserved",
            ],
        ),
        (
            {"reserved": {"count": 0}},
            ["CP212: pool reserved has no CPU, but cpuManagerPolicy is static"],
        ),
        (
            {"reserved": {"cores": 0}},
            ["CP212: pool reserved has no CPU, but cpuManagerPolicy is static"],
        ),
        (
            {"reserved": "rest", "isolated": "rest", "offlined": "rest"},
            ["CP213: reserved, isolated and offlined take the rest, but only one pool can"],
        ),
        ({"reserved": "1,5"}, ["CP214: CPU 0 is not in reserved"]),
        ({"reserved": {"cores": 1}, "isolated": "0,4"}, ["CP214: CPU 0 is not in reserved"]),
        (
            {"reserved": "0,4,8-9"},
            ["CP350: reserved lists CPUs 8-9, but hardware icx has only CPUs 0-7"],
        ),
        (
            {"reserved": "0,4", "offlined": "7"},
            ["CP351: offlined lists CPU 7, but it is offline on the nodes of class ran-icx"],
        ),
        ({"reserved": "0"}, ["CP352: reserved lists CPU 0 without CPU 4 of the same core"]),
        (
            {"reserved": "0-1"},
            ["CP352: reserved lists CPUs 0-1 without CPUs 4-5 of the same cores"],
        ),
        ({"reserved": {"cpus": "0", "wholeCores": False}}, []),
        ({"reserved": "0,3-4"}, []),  # CPU 7, the sibling of 3, is offline
        (
            {"reserved": {"cores": 1}, "isolated": {"rest": True, "partitions": {"dpdk": "0,4"}}},
            ["CP214: CPU 0 is not in reserved"],
        ),
        (
            {"reserved": "1,5", "isolated": {"partitions": {"dpdk": "0,4"}}},
            ["CP214: CPU 0 is not in reserved"],
        ),
        (
            {
                "reserved": {"cores": 1},
                "isolated": {"cpus": "0-2,4-6", "partitions": {"dpdk": "0,4"}},
            },
            ["CP214: CPU 0 is not in reserved"],
        ),
        (
            {"reserved": "0,4", "isolated": {"partitions": {"dpdk": "0-1,4-5"}}},
            ["CP211: CPUs 0,4 are listed for both reserved and isolated.dpdk"],
        ),
        ({"reserved": "0,4", "isolated": {"cpus": "1-2,5-6", "partitions": {"dpdk": "1,5"}}}, []),
        (
            {"reserved": "0,4", "isolated": {"partitions": {"dpdk": "1"}}},
            ["CP352: isolated.dpdk lists CPU 1 without CPU 5 of the same core"],
        ),
    ],
)
def test_check(pools: dict[str, Any], messages: list[str]) -> None:
    assert problems_of(pools) == messages


@pytest.mark.parametrize(
    ("name", "sibling"),
    [("isolated", "isolated"), ("offlined", "idle"), ("isolated", "bestEffort")],
)
def test_siblings_that_no_other_pool_can_have(name: str, sibling: str) -> None:
    pools = {"reserved": {"cores": 1}, name: {"cores": 1, "sibling": sibling}}
    node = node_class(machine(4, 2), pools, qos={"bestEffort": {"min": 0}})
    assert [problem.code for problem in solver.check_statements(node, locate)] == ["CP216"]


def test_threads_of_isolated_cannot_be_its_partitions_alone() -> None:
    pools = {
        "reserved": "rest",
        "isolated": {"sibling": "isolated.a", "partitions": {"a": {"cores": 1}}},
    }
    assert [problem[:5] for problem in problems_of(pools)] == ["CP216"]


def test_everything_is_said_at_once() -> None:
    codes = [
        problem[:5]
        for problem in problems_of(
            {"reserved": "1,9", "shared": "1,7", "isolated": "rest", "offlined": "rest"}
        )
    ]
    assert codes == ["CP213", "CP211", "CP350", "CP351", "CP352", "CP352", "CP214"]


def test_without_the_static_policy_nothing_may_be_reserved() -> None:
    assert problems_of({"reserved": {"count": 0}}, "none") == []


def test_both_places_are_shown() -> None:
    node = node_class(machine(4), {"reserved": "0-1", "isolated": "1-3"})
    (overlap,) = solver.check_statements(node, locate)
    assert overlap.position == locate("Intent/ran:spec.pools.isolated.cpus")
    assert overlap.label == "isolated lists CPUs 1-3"
    assert [(label.position, label.text) for label in overlap.labels] == [
        (locate("Intent/ran:spec.pools.reserved.cpus"), "reserved lists CPUs 0-1")
    ]


def test_a_partition_with_cpu_0_is_compiled_with_the_warning_at_its_list() -> None:
    pools = {"reserved": {"cores": 1}, "isolated": {"rest": True, "partitions": {"dpdk": "0,4"}}}
    node = node_class(machine(4, 2), pools)
    (warning,) = solver.check_statements(node, locate)
    assert (warning.code, warning.label) == ("CP214", "isolated.dpdk lists it")
    assert warning.position == locate("Intent/ran:spec.pools.isolated.partitions.dpdk.cpus")
    assert solver.solve(node, locate).pool("isolated.dpdk").cpus == CpuSet([0, 4])


def test_switched_off_the_rule_says_nothing_of_partitions() -> None:
    pools = {"reserved": {"cores": 1}, "isolated": {"rest": True, "partitions": {"dpdk": "0,4"}}}
    node = node_class(machine(4, 2), pools, rules=[{"disable": "cpu0-reserved", "because": "-"}])
    assert solver.check_statements(node, locate) == []
