"""Layouts that are made without a search: of most tenants, and checked against every rule."""

import pytest

from cpuplan.solve import feasibility
from cpuplan.solve.rules import problem_of
from tests.unit.solve.test_alike import tenants


@pytest.mark.parametrize(("number", "cores"), [(16, 1), (16, 4), (8, 5), (5, 12)])
def test_tenants_have_caches_of_their_own(number: int, cores: int) -> None:
    problem = problem_of(tenants(number, 17, cores))
    view = feasibility.greedy_layout(problem)
    assert view
    caches = []
    for at in range(number):
        cpus = view.cpus(f"isolated.t{at}")
        caches.append({problem.topology[cpu].uncore_cache for cpu in cpus})
    assert sum(map(len, caches)) == len(set.union(*caches)) == number * -(-cores // 4)


def test_two_that_may_share_a_cache_do() -> None:
    problem = problem_of(tenants(17, 16))
    kept = [rule for rule in problem.rules if not rule.field.endswith("t9.apart.isolated.t3")]
    assert feasibility.greedy_layout(problem) is None
    assert feasibility.greedy_layout(problem.having(kept))


def test_few_statements_are_left_to_the_solver() -> None:
    assert feasibility.greedy_layout(problem_of(tenants(3, 16))) is None
