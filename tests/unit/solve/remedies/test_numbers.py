"""Other numbers of a statement: the nearest that fits all machines, within the tests left."""

from typing import Any

import pytest

from cpuplan.base.topology import Topology
from cpuplan.language.model.inventory import Device
from cpuplan.plan import NodeClass
from cpuplan.solve.layout import set_specs
from cpuplan.solve.remedies import numbers
from cpuplan.solve.remedies.attempt import Attempt
from cpuplan.solve.rules import problem_of
from tests.unit.solve.problems import machine, node_class

FOUR = machine(4, 2)


def node(pools: dict[str, Any], topology: Topology = FOUR, **more: Any) -> NodeClass:
    return node_class(topology, {"reserved": {"cores": 1}} | pools, **more)


def told(
    node: NodeClass, field: str, *kin: NodeClass, tests: int = 99
) -> tuple[list[tuple[str, float]], int]:
    """The changes of the statement at a field, and how many tests are left."""
    attempt = Attempt(node, kin, [tests])
    rules = [rule for rule in problem_of(node).rules if rule.field == field]
    texts = [
        (change.text, share) for rule in rules for share, change in numbers.numbers(attempt, rule)
    ]
    return texts, attempt.tests[0]


@pytest.mark.parametrize(
    ("pool", "key", "changes"),
    [
        ({"cores": 9}, "cores", [("lower shared.cores to 2", 7 / 9)]),
        ({"count": 12}, "count", [("lower shared.count to 4", 8 / 12)]),
        ({"min": 12}, "min", [("lower shared.min to 4", 8 / 12)]),
        (
            {"min": 3, "max": 3},
            "min",
            [("lower shared.min to 2", 1 / 3), ("raise shared.max to 4", 1 / 3)],
        ),
        ({"percent": 90}, "percent", [("lower shared.percent to 50", 40 / 90)]),
        ({"rest": True, "min": 12}, "rest", [("lower shared.min to 6", 6 / 12)]),
        ({"cpus": "1-3,5-7"}, "cpus", []),
    ],
)
def test_the_nearest_number_that_fits(
    pool: dict[str, Any], key: str, changes: list[tuple[str, float]]
) -> None:
    isolated = {} if "rest" in pool else {"isolated": {"rest": True, "min": 0}}
    texts, _ = told(node({"shared": pool} | isolated), f"pools.shared.{key}")
    assert texts == changes


def test_pods_are_made_fewer_and_never_none() -> None:
    pods = [{"name": name, "cpus": 2, "pods": 2} for name in ("a", "b")]
    texts, _ = told(node({}, workloads=pods), "workloads")
    assert texts == [("lower workloads.0.pods to 1", 0.5), ("lower workloads.1.pods to 1", 0.5)]
    [only] = told(node({}, workloads=[pods[0] | {"cpus": 9}]), "workloads.0")[:1]
    assert only == []


def test_one_number_fits_all_machines() -> None:
    wide, narrow = (
        node({"isolated": {"cores": 9}, "shared": {"rest": True}}, machine(cores, 2))
        for cores in (6, 4)
    )
    for first, other in ((wide, narrow), (narrow, wide)):
        texts, _ = told(first, "pools.isolated.cores", other)
        assert texts == [("lower isolated.cores to 3", 6 / 9)]


@pytest.mark.parametrize(
    ("tests", "number", "left"), [(2, 0, -1), (3, 0, -1), (4, 1, 0), (9, 1, 5)]
)
def test_a_search_counts_as_three_tests_and_what_it_proposes_as_one(
    tests: int, number: int, left: int
) -> None:
    texts, rest = told(
        node({"shared": {"cores": 9}, "isolated": {"rest": True}}),
        "pools.shared.cores",
        tests=tests,
    )
    assert (len(texts), rest) == (number, left)


def test_a_search_on_each_of_the_kin_counts() -> None:
    wrong = node({"shared": {"cores": 9}, "isolated": {"rest": True}})
    texts, rest = told(wrong, "pools.shared.cores", wrong, tests=6)
    assert (texts, rest) == ([], -1)
    texts, rest = told(wrong, "pools.shared.cores", wrong, tests=8)
    assert (len(texts), rest) == (1, 0)


@pytest.mark.parametrize(
    ("pool", "key", "limits"),
    [
        ({"cores": 3}, "cores", (1, 8)),
        ({"cores": 3, "per": "numaNode"}, "cores", (1, 4)),
        ({"cores": 3, "perDevice": {"class": "gpu"}}, "cores", (1, 4)),
        ({"percent": 3}, "percent", (1, 100)),
        ({"min": 3}, "min", (1, 3)),
        ({"min": 12}, "min", (1, 8)),
        ({"max": 3}, "max", (3, 8)),
        ({"max": 12}, "max", (12, 12)),
    ],
)
def test_the_numbers_that_a_machine_has(
    pool: dict[str, Any], key: str, limits: tuple[int, int]
) -> None:
    card = Device.model_validate({"address": "0000:17:00.0", "class": "gpu", "numaNode": 0})
    two = node({"shared": pool}, machine(4, 2, numa_nodes=2), devices=(card,))
    spec = set_specs(two)["shared"]
    assert numbers.limits_of(two, spec, key, pool[key]) == limits


def test_of_two_equally_near_numbers_the_larger_comes_first() -> None:
    two = node({"shared": {"cores": 3}})
    assert numbers._values(two, set_specs(two)["shared"], "cores", 3) == [4, 2, 5, 1, 6, 7, 8]


@pytest.mark.parametrize(
    ("value", "text"), [(3, "raise reserved.cores to 3"), (1, "lower reserved.cores to 1")]
)
def test_a_change_in_words(value: int, text: str) -> None:
    change = numbers.changed(("pools.reserved", "cores"), 2, value)
    assert (change.text, change.field) == (text, "pools.reserved.cores")
    reserved = change.edit(node({})).spec.pools.reserved
    assert (reserved.cores, reserved.count) == (value, None)
