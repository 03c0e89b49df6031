"""Many sets and parts of the machine that are alike."""

from itertools import combinations
from typing import Any

import pytest

from cpuplan.diagnostics import CpuplanError
from cpuplan.plan import NodeClass
from cpuplan.solve import conflict, feasibility, model, solver, symmetry
from cpuplan.solve.constraints import Apart
from cpuplan.solve.model.bounds import cliques
from cpuplan.solve.rules import problem_of
from tests.unit.solve.problems import locate, machine, node_class


def tenants(number: int, caches: int, cores: int = 1) -> NodeClass:
    """Partitions that are apart from each other by cache, on caches of four cores."""
    partitions: dict[str, dict[str, Any]] = {}
    for index in range(number):
        apart = {f"isolated.{other}": "cache" for other in partitions}
        partitions[f"t{index}"] = {"cores": cores} | ({"apart": apart} if apart else {})
    pools = {"reserved": {"cores": 1}, "isolated": {"rest": True, "partitions": partitions}}
    return node_class(machine(4 * caches, 2, numa_nodes=2, caches=caches), pools)


def test_as_many_tenants_as_caches_fit_and_one_more_does_not() -> None:
    assert model.feasible(problem_of(tenants(16, 16)))
    assert not model.feasible(problem_of(tenants(17, 16)))


def test_tenants_of_two_caches_each_are_counted_by_caches() -> None:
    assert model.feasible(problem_of(tenants(8, 16, cores=5)))
    assert not model.feasible(problem_of(tenants(9, 16, cores=5)))


@pytest.mark.parametrize("number", [17, 19])
def test_a_conflict_of_many_alike_is_irreducible(number: int) -> None:
    problem = problem_of(tenants(number, 16))
    minimal = symmetry.minimal(problem.rules, feasibility.oracle(problem, 8).feasible)
    sizes = [rule for rule in minimal if rule.field.endswith(".cores")]
    apart = [rule for rule in minimal if ".apart." in rule.field]
    assert (len(sizes), len(apart), len(minimal)) == (17, 17 * 16 // 2, 17 + 17 * 16 // 2)
    assert not model.feasible(problem.having(minimal))
    for rule in (sizes[0], sizes[-1], apart[0], apart[-1]):
        assert model.feasible(problem.having(other for other in minimal if other is not rule))


def test_few_statements_are_searched_as_ever() -> None:
    problem = problem_of(tenants(3, 2))
    feasible = feasibility.oracle(problem, 8).feasible
    assert symmetry.minimal(problem.rules, feasible) == conflict.minimal(problem.rules, feasible)


def test_the_message_names_some_tenants_and_its_places_every_one() -> None:
    with pytest.raises(CpuplanError) as caught:
        solver.solve(tenants(17, 16), locate)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "CP401"
    assert conflict.IN_ITSELF not in diagnostic.message  # no smaller one exists
    assert diagnostic.remedy == "remove isolated.partitions.t1.apart.isolated.t0"  # one of 136
    assert "isolated.t0, isolated.t1, " in diagnostic.message
    assert "and 9 more do not fit" in diagnostic.message
    places = " ".join(label.text for label in diagnostic.labels)
    assert all(f"isolated.t{index} " in places for index in range(17))


def test_sets_of_one_size_are_of_one_sort_and_others_are_not() -> None:
    rules = problem_of(tenants(3, 2)).rules
    assert [len(sort) for sort in symmetry.sorts(rules) if ".apart." in sort[0].field] == [3]
    sizes = [sort for sort in symmetry.sorts(rules) if sort[0].field.endswith(".cores")]
    assert sorted(map(len, sizes)) == [1, 3]  # the reserved pool is no partition


def test_each_pair_that_is_apart_is_in_a_clique() -> None:
    pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]
    statements = [Apart(name, other, ()) for name, other in pairs]
    groups = [names for _, names in cliques(statements)]
    assert groups == [["a", "b", "c"], ["c", "d"]]
    covered = {pair for names in groups for pair in combinations(names, 2)}
    assert covered == set(pairs)
