"""More sets that are apart than there are places for them, found by counting."""

from typing import Any

import pytest

from cpuplan.plan import NodeClass
from cpuplan.solve import feasibility, model
from cpuplan.solve.crowds import crowds
from cpuplan.solve.rules import problem_of
from tests.unit.solve.problems import machine, node_class


def tenants(sizes: list[dict[str, Any]], caches: int = 4, level: str = "cache") -> NodeClass:
    """Partitions that are apart from each other, on caches of three cores in two NUMA nodes."""
    partitions: dict[str, dict[str, Any]] = {}
    for size in sizes:
        apart = {f"isolated.{other}": level for other in partitions}
        partitions[f"t{len(partitions)}"] = size | ({"apart": apart} if apart else {})
    pools = {"reserved": {"cores": 1}, "isolated": {"rest": True, "partitions": partitions}}
    return node_class(machine(3 * caches, 2, numa_nodes=2, caches=caches), pools)


ROWS: dict[str, tuple[NodeClass, list[str] | None]] = {
    "one for each cache": (tenants([{"cores": 1}] * 4), None),
    "one more": (tenants([{"cores": 1}] * 5), ["t0", "t1", "t2", "t3", "t4"]),
    "of more than enough, the first": (
        tenants([{"cores": 1}] * 7),
        ["t0", "t1", "t2", "t3", "t4"],
    ),
    "the largest first, which are fewer": (
        tenants([{"cores": 1}, {"cores": 4}, {"cores": 1}, {"cores": 4}]),
        ["t0", "t1", "t3"],
    ),
    "CPUs of two threads": (tenants([{"count": 8}] * 3), ["t0", "t1", "t2"]),
    "NUMA nodes": (tenants([{"cores": 1}] * 3, level="numaNode"), ["t0", "t1", "t2"]),
    "empty sets need no place": (tenants([{"cores": 1}] * 4 + [{"cores": 0}]), None),
}


#: Pairs that need not be apart: together they are on as many caches as it takes.
TOGETHER = {"CPUs of two threads": 1}


@pytest.mark.parametrize("name", ROWS)
def test_crowds(name: str) -> None:
    node, expected = ROWS[name]
    problem = problem_of(node)
    found = list(crowds(problem.topology, problem.rules))
    if expected is None:
        assert found == []
        assert model.feasible(problem)
        return
    ((*crowd,),) = found
    sizes = [rule.name for rule in crowd if rule.amounts]
    assert sizes == [f"isolated.{name}" for name in expected]
    pairs = len(expected) * (len(expected) - 1) // 2
    assert len(crowd) == len(expected) + pairs - TOGETHER.get(name, 0)
    assert not model.feasible(problem.having(crowd))


def test_a_crowd_is_the_conflict_that_is_found() -> None:
    problem = problem_of(tenants([{"cores": 1}] * 6))
    (crowd,) = crowds(problem.topology, problem.rules)
    oracle = feasibility.oracle(problem, 100, unfit=problem.rules)
    assert oracle.minimal(problem.rules) == crowd


def test_a_crowd_with_a_statement_too_many_is_no_conflict() -> None:
    """Two tenants that fill a cache each cannot share one, also if nothing keeps them apart."""
    problem = problem_of(tenants([{"cores": 3}] * 5))
    by_sizes, by_caches = crowds(problem.topology, problem.rules)
    found = feasibility.oracle(problem, 100, unfit=problem.rules).minimal(problem.rules)
    assert len(found) == len(by_sizes)
    assert set(by_sizes) < set(by_caches)
    assert not model.feasible(problem.having(found))
    for rule in found:
        assert model.feasible(problem.having(other for other in found if other is not rule))


def test_a_partition_of_which_no_rule_speaks_is_left_out_unless_it_is_kept() -> None:
    problem = problem_of(tenants([{"cores": 1}] * 3))
    others = [rule for rule in problem.rules if "t1" not in str(rule.constraints)]
    less = problem.having(rule for rule in others if rule.name != "isolated.t1")
    assert set(problem.names) - set(feasibility.without_idle(less).names) == {"isolated.t1"}
    assert feasibility.without_idle(less, "isolated.t1").names == problem.names
