"""Realistic intents on named machines: the pools and the files that are made of them."""

from fnmatch import fnmatch

import pytest
import yaml

from cpuplan.backends.base import CLUSTER_KINDS, KOORDINATOR_KINDS, NAMESPACED_KINDS
from cpuplan.base.cpuset import EMPTY
from cpuplan.diagnostics import errors
from cpuplan.language.model.pools import HIDDEN, POOLS
from cpuplan.solve import solver
from tests.named_cases import CASES, EXPECTED, compiled, expected_texts


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    made = compiled(name)
    assert not errors(made.diagnostics)
    for node in made.plan.nodes:
        assert solver.verify(
            node.node_class, {pool.name: pool.cpus for pool in (*node.pools, *node.sets)}
        )
        given = sorted(cpu for pool in node.pools for cpu in pool.cpus)
        assert given == list(node.topology.online)
        assert {pool.name for pool in node.pools} <= set(POOLS)
        hidden = [node.pool(pool).cpus for pool in HIDDEN]
        assert not any(cpus & pool.cpus for cpus in hidden for pool in node.sets), (
            "pods would run on hidden CPUs"
        )
        assert node.pool("reserved").cpus != EMPTY


@pytest.mark.parametrize("name", CASES)
def test_argo_cd_may_sync_every_object(name: str) -> None:
    allowed = {*CLUSTER_KINDS, *KOORDINATOR_KINDS, *NAMESPACED_KINDS}
    for path, data in compiled(name).files.items():
        if fnmatch(path, "clusters/*/manifests/*") and not path.endswith("/kustomization.yaml"):
            written = yaml.safe_load(data)
            group = str(written["apiVersion"]).rpartition("/")[0]  # core objects have none
            assert (group, written["kind"]) in allowed, path


@pytest.mark.parametrize("name", ["shared", *CASES])
def test_expected(name: str) -> None:
    file = f"{name}.txt"
    assert (EXPECTED / file).read_text() == expected_texts()[file], "python -m tests.generate"


def test_nothing_else_is_expected() -> None:
    assert {path.name for path in EXPECTED.iterdir()} == set(expected_texts())


def test_there_are_thirty() -> None:
    assert len(CASES) >= 30
