"""Sizes as constraints: shares and their tables, ranges, caches, and room for workloads."""

from typing import Any

import pytest

from cpuplan.base.topology import Topology
from cpuplan.language.model.inventory import Device
from cpuplan.solve.constraints import (
    BEYOND,
    AllOrNone,
    Amount,
    Block,
    Constraint,
    Share,
    WholeCores,
)
from cpuplan.solve.rules import problem_of, sizes
from cpuplan.solve.rules.rule import Rule
from tests.unit.solve.problems import machine, node_class

#: Two NUMA nodes of four cores of two threads, and four caches.
SMALL = machine(8, 2, numa_nodes=2, caches=4)


def rules(field: str, pools: dict[str, Any], topology: Topology = SMALL, **more: Any) -> list[Rule]:
    """The rules at a field of an intent."""
    node = node_class(topology, {"reserved": {"cores": 1}} | pools, **more)
    return [rule for rule in problem_of(node).rules if rule.field == field]


def constraints(field: str, pools: dict[str, Any], **more: Any) -> list[Constraint]:
    [rule] = rules(field, pools, **more)
    return list(rule.constraints)


def text(field: str, pools: dict[str, Any], **more: Any) -> str:
    [rule] = rules(field, pools, **more)
    return rule.reason.text


@pytest.mark.parametrize(
    ("pool", "table"),
    [
        # Of 3 CPUs the half is 1.5: two, which are a whole core.
        ({"percent": 50}, (0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6, 8, 8, 8, 8)),
        ({"percent": 50, "min": 3, "max": 5}, (*[4] * 9, *[4] * 8)),
        ({"percent": 100, "max": 3, "wholeCores": False}, (0, 2, 2, *[3] * 14)),
    ],
)
def test_a_share_of_a_pool_has_a_size_for_each_number(
    pool: dict[str, Any], table: tuple[int, ...]
) -> None:
    (share,) = constraints("pools.shared.percent", {"shared": pool | {"of": "isolated"}})
    assert isinstance(share, Share)
    assert (share.name, share.other, share.table) == ("shared", "isolated", table)


@pytest.mark.parametrize(
    ("steps", "sizes"),
    [
        ([{"cpus": 2, "percent": 50}, {"percent": 10}], [0, 1, 1, 2, 2, 2, 2, 2, 2]),
        ([{"cpus": 2, "percent": 50}, {"cpus": 2, "percent": 100}], [0, 1, 1, 2, 3, 3, 3, 3, 3]),
    ],
)
def test_steps_are_added_before_they_are_rounded(
    steps: list[dict[str, Any]], sizes: list[int]
) -> None:
    pool = {"steps": steps, "of": "isolated", "sibling": "isolated"}
    (share,) = constraints("pools.shared.steps", {"shared": pool})
    assert isinstance(share, Share)
    assert list(share.table[:9]) == sizes


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        ({"percent": 10}, "takes 10% of the CPUs, rounded up to whole cores"),
        ({"percent": 10, "of": "isolated"}, "takes 10% of isolated, rounded up to whole cores"),
        (
            {"percent": 10, "max": 4, "per": "numaNode"},
            (
                "takes 10% of the CPUs of each NUMA node, rounded to whole cores, "
                "at most 4 CPUs of each NUMA node"
            ),
        ),
        ({"percent": 10, "sibling": "isolated"}, "takes 10% of the CPUs"),
        (
            {"percent": 10, "min": 2, "max": 4},
            "takes 10% of the CPUs, rounded to whole cores, 2 to 4 CPUs",
        ),
    ],
)
def test_the_words_of_a_share(pool: dict[str, Any], words: str) -> None:
    assert text("pools.shared.percent", {"shared": pool}) == f"shared {words}"


def test_the_words_of_steps() -> None:
    steps = [{"cpus": 1, "percent": 6}, {"cpus": 2, "percent": 1}, {"percent": 3}]
    assert text("pools.shared.steps", {"shared": {"steps": steps, "of": "isolated"}}) == (
        "shared takes 6% of the first 1, 1% of the next 2 and 3% of the others of isolated, "
        "rounded up to whole cores"
    )


def numbers(constraints: list[Constraint]) -> list[tuple[str, str, int, int]]:
    amounts = [amount for amount in constraints if isinstance(amount, Amount)]
    return [(amount.scope.name, amount.unit, amount.least, amount.most) for amount in amounts]


@pytest.mark.parametrize(
    ("key", "pool", "expected"),
    [
        ("min", {"min": 2}, [("the machine", "CPUs", 2, 16)]),
        ("max", {"max": 2}, [("the machine", "CPUs", 0, 2)]),
        ("min", {"min": 2, "max": 4}, [("the machine", "CPUs", 2, 4)]),
        (
            "min",
            {"min": 2, "per": "numaNode"},
            [("NUMA node 0", "CPUs", 2, 8), ("NUMA node 1", "CPUs", 2, 8)],
        ),
        ("count", {"count": 10**9}, [("the machine", "CPUs", BEYOND, BEYOND)]),
        ("rest", {"rest": True}, []),
        ("rest", {"rest": True, "max": 6}, [("the machine", "CPUs", 0, 6)]),
    ],
)
def test_ranges(key: str, pool: dict[str, Any], expected: list[tuple[str, str, int, int]]) -> None:
    isolated = {} if "rest" in pool else {"isolated": {"rest": True}}
    made = constraints(f"pools.shared.{key}", {"shared": pool, **isolated})
    assert numbers(made) == expected


def test_a_size_for_each_device_counts_the_devices_of_a_node() -> None:
    cards = tuple(
        Device.model_validate({"address": f"0000:{bus}:00.0", "class": "gpu", "numaNode": node})
        for bus, node in (("17", 1), ("18", 1), ("19", 0))
    )
    pools = {"shared": {"cores": 1, "perDevice": {"class": "gpu"}}}
    made = constraints("pools.shared.cores", pools, devices=cards)
    assert numbers(made) == [("NUMA node 0", "cores", 1, 1), ("NUMA node 1", "cores", 2, 2)]
    wide = {"shared": {"min": 1, "max": 2, "perDevice": {"class": "gpu"}}}
    assert numbers(constraints("pools.shared.min", wide, devices=cards)) == [
        ("NUMA node 0", "CPUs", 1, 2),
        ("NUMA node 1", "CPUs", 2, 4),
    ]
    assert text("pools.shared.cores", pools, devices=cards) == (
        "shared takes 1 whole core for devices of class gpu (3 devices)"
    )


@pytest.mark.parametrize(("sibling", "size"), [({}, 4), ({"sibling": "isolated"}, 2)])
def test_whole_caches(sibling: dict[str, str], size: int) -> None:
    """With a sibling, a thread of each core is all that a set has of a cache."""
    pool = {"wholeCaches": 1, "per": "numaNode", **sibling}
    first, second, parts, _ = constraints("pools.shared.wholeCaches", {"shared": pool})
    assert numbers([first, second]) == [
        ("NUMA node 0", "caches", 1, 1),
        ("NUMA node 1", "caches", 1, 1),
    ]
    assert isinstance(first, Amount)
    assert [str(block.cpus) for block in first.blocks] == ["0-1,8-9", "2-3,10-11"]
    assert isinstance(parts, AllOrNone)
    assert len(parts.blocks) == 4
    assert parts.blocks[0] == Block(first.blocks[0].cpus, size)


@pytest.mark.parametrize(("sibling", "is_whole"), [({}, True), ({"sibling": "isolated"}, False)])
def test_cores_are_whole_unless_a_sibling_has_the_others(
    sibling: dict[str, str], is_whole: bool
) -> None:
    made = constraints("pools.shared.cores", {"shared": {"cores": 2} | sibling})
    assert any(isinstance(constraint, WholeCores) for constraint in made) is is_whole


def workload(name: str, cpus: int, pods: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "cpus": cpus, "pods": pods, **more}


@pytest.mark.parametrize(
    ("workloads", "field", "words", "expected"),
    [
        ([workload("a", 2)], "workloads.0", "a (2 CPUs)", [("the machine", "CPUs", 2, 16)]),
        (
            [workload("a", 9, 9)],
            "workloads.0",
            "9 pods a of 9 CPUs",
            [("the machine", "CPUs", 81, 81)],
        ),
        (
            [workload("a", 2, 3), workload("b", 1)],
            "workloads",
            "3 pods a of 2 CPUs and b (1 CPU)",
            [("the machine", "CPUs", 7, 16)],
        ),
        (
            [workload("a", 2, per="numaNode"), workload("b", 1, 2, per="numaNode")],
            "workloads",
            "1 pod a of 2 CPUs per NUMA node and 2 pods b of 1 CPU per NUMA node",
            [
                ("the machine", "CPUs", 8, 16),
                ("NUMA node 0", "CPUs", 4, 8),
                ("NUMA node 1", "CPUs", 4, 8),
            ],
        ),
    ],
)
def test_room_for_workloads(
    workloads: list[dict[str, Any]],
    field: str,
    words: str,
    expected: list[tuple[str, str, int, int]],
) -> None:
    pools = {"isolated": {"rest": True}}
    assert numbers(constraints(field, pools, workloads=workloads)) == expected
    assert text(field, pools, workloads=workloads) == f"{words} must fit into isolated"


def least(rule: Rule) -> list[int]:
    return [amount.least for amount in rule.amounts]


def test_workloads_of_a_partition_need_room_in_its_pool_too() -> None:
    pools = {"isolated": {"rest": True, "partitions": {"a": {"cores": 2}, "b": {"cores": 2}}}}
    workloads = [workload("x", 2, pool="isolated.a"), workload("y", 1, pool="isolated.b")]
    node = node_class(SMALL, {"reserved": {"cores": 1}} | pools, workloads=workloads)
    of_workloads = [rule for rule in problem_of(node).rules if rule.field.startswith("workloads")]
    made = [(rule.name, rule.field, least(rule)) for rule in of_workloads]
    assert made == [
        ("isolated", "workloads", [3]),
        ("isolated.a", "workloads.0", [2]),
        ("isolated.b", "workloads.1", [1]),
    ]


def test_a_workload_without_cpus_has_none_of_its_own() -> None:
    node = node_class(SMALL, {"reserved": {"cores": 1}}, workloads=[workload("a", 3)])
    [of_numbers] = node.spec.workloads
    assert sizes.pod_of_workload(of_numbers) is None
    assert sizes.exclusive_cpus(node, of_numbers) == 3
    assert sizes.exclusive_cpus(node, of_numbers.model_copy(update={"cpus": None})) == 0
