"""Realistic intents on named machines: the pools, the settings and the files that are made of
them.
"""

import pytest

from cpuplan.cpuset import EMPTY
from cpuplan.diagnostics import errors
from cpuplan.model.pools import HIDDEN, POOLS
from cpuplan.solve import solver
from tests.named_cases import CASES, FOLDER, compiled, expected_files


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
    for file, text in expected_files(made).items():
        assert (FOLDER / name / "expected" / file).read_text() == text, (
            f"python -m tests.generate; read {file}"
        )


def test_there_are_thirty() -> None:
    assert len(CASES) >= 30
