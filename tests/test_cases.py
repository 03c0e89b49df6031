"""Realistic intents on named machines: the pools and the files that are made of them."""

import difflib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch

import pytest
import yaml

from cpuplan.backends.base import CLUSTER_KINDS, KOORDINATOR_KINDS, NAMESPACED_KINDS
from cpuplan.base.cpuset import EMPTY
from cpuplan.diagnostics import errors
from cpuplan.language.model.pools import HIDDEN, POOLS
from cpuplan.solve import solver
from tests.named_cases import CASES, compiled, expected, on_disk


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


@pytest.mark.parametrize("name", CASES)
def test_expected(name: str) -> None:
    """Every byte of every file, no file more and none less: `python -m tests.generate`."""
    made, written = expected(compiled(name)), on_disk(name)
    assert list(unified(written, made)) == []
    assert made == written


def unified(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[str]:
    """What differs, as a reviewer sees it."""
    for path in sorted({*before, *after}):
        old, new = (files.get(path, b"").decode().splitlines() for files in (before, after))
        yield from difflib.unified_diff(old, new, path, path, lineterm="")


def test_there_are_thirty() -> None:
    assert len(CASES) >= 30
