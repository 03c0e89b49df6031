"""More sets that are apart than there are places for them, found by counting."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpuplan.plan import NodeClass
from cpuplan.solve import feasibility, model
from cpuplan.solve.pigeonhole import is_crowded, pigeonholes
from cpuplan.solve.rules import problem_of
from cpuplan.solve.rules.rule import Rule
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
    crowds = list(pigeonholes(problem.topology, problem.rules))
    if expected is None:
        assert crowds == []
        assert model.feasible(problem)
        return
    ((*crowd,),) = crowds
    sizes = [rule.name for rule in crowd if rule.amounts]
    assert sizes == [f"isolated.{name}" for name in expected]
    pairs = len(expected) * (len(expected) - 1) // 2
    assert len(crowd) == len(expected) + pairs - TOGETHER.get(name, 0)
    assert not model.feasible(problem.having(crowd))


def test_a_crowd_is_the_conflict_that_is_found() -> None:
    problem = problem_of(tenants([{"cores": 1}] * 6))
    (crowd,) = pigeonholes(problem.topology, problem.rules)
    oracle = feasibility.oracle(problem, 100, unfit=problem.rules)
    assert oracle.minimal(problem.rules) == crowd


def test_a_crowd_with_a_statement_too_many_is_no_conflict() -> None:
    """Two tenants that fill a cache each cannot share one, also if nothing keeps them apart."""
    problem = problem_of(tenants([{"cores": 3}] * 5))
    by_sizes, by_caches = pigeonholes(problem.topology, problem.rules)
    minimal = feasibility.oracle(problem, 100, unfit=problem.rules).minimal(problem.rules)
    assert len(minimal) == len(by_sizes)
    assert set(by_sizes) < set(by_caches)
    assert not model.feasible(problem.having(minimal))
    for rule in minimal:
        assert model.feasible(problem.having(other for other in minimal if other is not rule))


def test_a_partition_of_which_no_rule_speaks_is_left_out_unless_it_is_kept() -> None:
    problem = problem_of(tenants([{"cores": 1}] * 3))
    others = [rule for rule in problem.rules if "t1" not in str(rule.constraints)]
    less = problem.having(rule for rule in others if rule.name != "isolated.t1")
    assert set(problem.names) - set(feasibility.without_idle(less).names) == {"isolated.t1"}
    assert feasibility.without_idle(less, "isolated.t1").names == problem.names


def within(sizes: list[dict[str, Any]], caches: int = 4, threads: int = 2) -> NodeClass:
    """Partitions that each lie within a cache of three cores."""
    partitions = {f"t{at}": size | {"within": "cache"} for at, size in enumerate(sizes)}
    pools = {"reserved": {"cores": 1}, "isolated": {"rest": True, "partitions": partitions}}
    return node_class(machine(3 * caches, threads, numa_nodes=2, caches=caches), pools)


@pytest.mark.parametrize(
    ("node", "names"),
    [
        (within([{"cores": 2}] * 4), None),
        (within([{"cores": 2}] * 6), ["t0", "t1", "t2", "t3", "t4"]),
        (within([{"cores": 1}] * 5 + [{"cores": 3}] * 5), ["t5", "t6", "t7", "t8", "t9"]),
        (within([{"count": 4}] * 5), ["t0", "t1", "t2", "t3", "t4"]),
        # A thread of each core leaves the others to another set.
        (within([{"cores": 2, "sibling": "shared"}] * 5), None),
    ],
)
def test_sets_within_parts(node: NodeClass, names: list[str] | None) -> None:
    problem = problem_of(node)

    def has_places(crowd: Iterable[Rule]) -> bool:
        return any(rule.field.endswith(".within") for rule in crowd)

    crowds = list(filter(has_places, pigeonholes(problem.topology, problem.rules)))
    expected = [] if names is None else [[f"isolated.{name}" for name in names]]
    assert [sorted(set(map(attrgetter("name"), crowd))) for crowd in crowds] == expected


def test_sizes_that_are_too_many_come_first() -> None:
    problem = problem_of(tenants([{"cores": 4}] * 4))
    first, *_ = pigeonholes(problem.topology, problem.rules)
    assert [rule.field.rpartition(".")[2] for rule in first] == ["cores"] * 4


def test_a_set_counts_once_whatever_it_must_have_room_for() -> None:
    """Three tenants on four caches, one with a workload too."""
    node = tenants([{"cores": 1}] * 3)
    workload = {"name": "du", "cpus": 2, "pool": "isolated.t0"}
    pools = node.spec.pools.model_dump(by_alias=True, exclude_unset=True, mode="json")
    more = node_class(node.topology, pools, workloads=[workload] * 2)
    assert not is_crowded(node.topology, problem_of(more).rules)


def test_sets_that_may_share_parts_are_counted_together() -> None:
    """Of tenants on two caches each, two may share theirs, but have not room enough to."""
    node = tenants([{"cores": 5}, {"cores": 5}, {"cores": 3}])
    problem = problem_of(node)
    rules = [rule for rule in problem.rules if not rule.field.endswith("t1.apart.isolated.t0")]
    assert len(rules) == len(problem.rules) - 1
    assert is_crowded(problem.topology, rules)
    assert not model.feasible(problem.having(rules))


SIZES = st.one_of(
    st.fixed_dictionaries({"cores": st.integers(0, 5)}),
    st.fixed_dictionaries({"count": st.integers(0, 9)}),
    st.fixed_dictionaries({"wholeCaches": st.integers(0, 2)}),
    st.fixed_dictionaries({"cores": st.integers(0, 5), "sibling": st.just("idle")}),
)


@st.composite
def crowded(draw: st.DrawFn) -> NodeClass:
    """Partitions of which some are apart, and some within a cache."""
    partitions: dict[str, dict[str, Any]] = {}
    for at in range(draw(st.integers(2, 6))):
        others = draw(st.lists(st.sampled_from([*partitions, "none"]), unique=True, max_size=5))
        apart = {f"isolated.{other}": "cache" for other in others if other != "none"}
        place = draw(st.sampled_from([{}, {}, {"within": "cache"}, {"within": "numaNode"}]))
        partitions[f"t{at}"] = draw(SIZES) | place | ({"apart": apart} if apart else {})
    pools = {"reserved": {"cores": 1}, "isolated": {"rest": True, "partitions": partitions}}
    shape = draw(st.sampled_from([(12, 1), (12, 2), (8, 2), (9, 2)]))
    return node_class(machine(*shape, numa_nodes=2, caches=4), pools)


@settings(deadline=None, max_examples=150)
@given(crowded())
def test_what_counting_and_placing_say_is_true(node: NodeClass) -> None:
    problem = problem_of(node)
    is_feasible = model.feasible(problem)
    if is_crowded(problem.topology, problem.rules):
        assert not is_feasible
    for crowd in pigeonholes(problem.topology, problem.rules):
        assert not model.feasible(problem.having(crowd))
    if feasibility.greedy_layout(problem):
        assert is_feasible
