"""Realistic intents on named machines: the pools and the files that are made of them."""

import pytest

from cpuplan.cpuset import EMPTY
from cpuplan.diagnostics import errors
from cpuplan.model.pools import HIDDEN, POOLS
from cpuplan.solve import solver
from tests.named_cases import CASES, EXPECTED, compiled, expected_texts


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    made = compiled(name)
    assert not errors(made.diagnostics)
    for node in made.plan.nodes:
        assert solver.verify(
            node.node_class, {each.name: each.cpus for each in (*node.pools, *node.sets)}
        )
        given = sorted(cpu for pool in node.pools for cpu in pool.cpus)
        assert given == list(node.topology.online)
        assert {pool.name for pool in node.pools} <= set(POOLS)
        hidden = [node.pool(pool).cpus for pool in HIDDEN]
        assert not any(cpus & each.cpus for cpus in hidden for each in node.sets), (
            "pods would run on hidden CPUs"
        )
        assert node.pool("reserved").cpus != EMPTY


@pytest.mark.parametrize("name", ["shared", *CASES])
def test_expected(name: str) -> None:
    file = f"{name}.txt"
    assert (EXPECTED / file).read_text() == expected_texts()[file], "python -m tests.generate"


def test_nothing_else_is_expected() -> None:
    assert {path.name for path in EXPECTED.iterdir()} == set(expected_texts())


def test_there_are_thirty() -> None:
    assert len(CASES) >= 30
