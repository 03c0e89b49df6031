"""Layouts of machines with many equal parts: the ways that save a search change nothing."""

import sys
from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.plan import NodeClass
from cpuplan.solve import budget, goals, model, solver
from cpuplan.solve.goals import Smallest
from cpuplan.solve.model.bounds import Bounds
from cpuplan.solve.model.counts import Counts
from cpuplan.solve.rules import problem_of
from tests.unit.solve.problems import locate, machine, node_class

#: The package has a function of this name.
CANONICAL = sys.modules["cpuplan.solve.model.aims"]
#: Two sockets of 32 cores, four NUMA nodes, 16 caches.
EQUAL = machine(64, 2, sockets=2, numa_nodes=4, caches=16)


def tenants(level: str, **partitions: dict[str, Any]) -> dict[str, Any]:
    """Pools with partitions that are apart from each other."""
    for name, said in partitions.items():
        apart = {f"isolated.{other}": level for other in partitions if other < name}
        said.update({"apart": apart} if apart else {})
    return {
        "reserved": {"cores": 1, "per": "numaNode"},
        "shared": {"cores": 3},
        "isolated": {"rest": True, "partitions": partitions},
    }


CASES: dict[str, dict[str, Any]] = {
    "unlike, by cache": tenants("cache", a={"cores": 10}, b={"cores": 12}),
    "alike, by cache": tenants("cache", **{f"t{at}": {"cores": 3} for at in range(6)}),
    "by NUMA node": tenants("numaNode", a={"cores": 9}, b={"cores": 17}),
    "alike, by nothing": tenants("core", **{f"t{at}": {"cores": 5} for at in range(4)}),
    "within a NUMA node": tenants("cache", a={"cores": 6, "within": "numaNode"}, b={"cores": 5}),
    "per NUMA node": tenants("cache", a={"cores": 2, "per": "numaNode"}, b={"cores": 4}),
    "more than half of a NUMA node": tenants("cache", a={"cores": 18}, b={"cores": 18}),
    "room in the last cache": tenants("cache", **{f"t{at}": {"cores": 5} for at in range(5)}),
    "a size per NUMA node beside others": tenants(
        "cache", a={"cores": 5, "per": "numaNode"}, b={"cores": 6}, c={"cores": 5}
    ),
    "ranges": tenants("cache", a={"min": 6, "max": 11}, b={"min": 3, "max": 20}),
    "shared in one cache": tenants("cache", a={"cores": 7})
    | {"shared": {"cores": 3, "within": "cache"}},
    "shared in one NUMA node": tenants("cache", a={"cores": 7})
    | {"shared": {"cores": 5, "within": "numaNode"}},
    "more shared than fits into one NUMA node": tenants("cache", a={"cores": 7})
    | {"shared": {"cores": 18}, "offlined": {"percent": 10}},
}


#: Four tenants, each on two NUMA nodes of which it needs more than half.
ROOM_LEFT = tenants("cache", **{f"t{at}": {"cores": 100} for at in range(4)}) | {
    "shared": {"cores": 8}
}


def sets_of(node: NodeClass) -> dict[str, CpuSet]:
    plan = solver.solve(node, locate)
    return {pool.name: pool.cpus for pool in (*plan.pools, *plan.sets)}


@pytest.mark.parametrize("pools", CASES.values(), ids=CASES)
def test_shortcuts_change_no_layout(pools: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    node = node_class(EQUAL, pools)
    sets = sets_of(node)
    monkeypatch.setattr(Bounds, "most_of_each", lambda *_: len(EQUAL.online))
    monkeypatch.setattr(model, "nest", lambda *_: None)
    # any layout is another one now, so that the first one is searched for and proven
    monkeypatch.setattr(CANONICAL, "_others", lambda counts, *_: counts.model.clone())
    assert sets_of(node) == sets


@pytest.mark.parametrize("pools", CASES.values(), ids=CASES)
def test_no_layout_is_better_balanced_than_arithmetic_allows(pools: dict[str, Any]) -> None:
    node = node_class(EQUAL, pools)
    (aim,) = (aim for aim in goals.aims_of(node) if isinstance(aim, Smallest))
    problem = problem_of(node)
    counts, bounds = model._counts(problem, [aim])
    free = bounds.most_of_each(aim.name, aim.scopes, {})
    assert most_balanced(counts, aim) <= free
    for number in (1, 2):
        counts, bounds = model._counts(problem, [aim])
        present = [counts.present("shared", scope.cpus) for scope in aim.scopes]
        counts.model.add(counts.sum(present) <= number)
        most = bounds.most_of_each(aim.name, aim.scopes, {("shared", aim.scopes): number})
        assert most <= free
        assert most_balanced(counts, aim) <= most


def most_balanced(counts: Counts, aim: Smallest) -> int:
    """The most that each scope can have; -1 without a layout."""
    least = counts.model.new_int_var(0, len(counts.everything), "")
    for scope in aim.scopes:
        counts.model.add(least <= counts.taken(aim.name, scope.cpus))
    reached = counts.minimise(-least)
    return -1 if reached is None else -reached.value


def test_a_set_in_one_part_leaves_less_of_it() -> None:
    """Of 32 CPUs of a NUMA node, 2 are reserved, and 10 of one of them are shared."""
    node = node_class(EQUAL, CASES["shared in one NUMA node"])
    (aim,) = (aim for aim in goals.aims_of(node) if isinstance(aim, Smallest))
    _, bounds = model._counts(problem_of(node), [aim])
    assert bounds.most_of_each(aim.name, aim.scopes, {}) == 20
    node = node_class(EQUAL, CASES["unlike, by cache"])
    _, bounds = model._counts(problem_of(node), [aim])
    assert bounds.most_of_each(aim.name, aim.scopes, {}) == 30
    assert bounds.most_of_each(aim.name, aim.scopes, {("shared", aim.scopes): 1}) == 24
    assert bounds.most_of_each(aim.name, aim.scopes, {("shared", aim.scopes): 2}) == 27


def test_tenants_that_leave_room_in_their_last_cache_are_proven_soon() -> None:
    large = machine(512, 2, sockets=2, numa_nodes=8, caches=64)
    with budget.limited(8):
        plan = solver.solve(node_class(large, ROOM_LEFT), locate)
    assert plan.limited is None
