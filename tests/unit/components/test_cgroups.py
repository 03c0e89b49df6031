"""The version of control groups: who decides about it, and what follows."""

from typing import Any

import pytest

from cpuplan.components import chosen
from cpuplan.fleet import cluster_facts
from cpuplan.language.model.cluster import ClusterSpec
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import startup
from cpuplan.simulate.planned import planned
from tests.machines.plans import no_position, plan

PROFILE = {"mode": "performanceProfile"}
KEPT = {**PROFILE, "ignoreCgroupsVersion": True}


def on(stated: str | None, **fields: Any) -> ConfiguredPlan:
    node = plan(**fields)
    node.node_class.cluster_facts = ClusterSpec.model_validate(
        {"cgroupMode": stated} if stated else {}
    )
    cluster_facts.settle([node.node_class])
    return node


@pytest.mark.parametrize(
    ("version", "target", "stated", "is_v1"),
    [
        ("4.15", PROFILE, None, True),
        ("4.15", PROFILE, "v2", False),
        ("4.15", KEPT, None, False),
        ("4.15", {}, None, False),
        ("4.15", {}, "v1", True),
        ("4.16", PROFILE, None, False),
        ("4.16", PROFILE, "v1", True),
    ],
)
def test_version(version: str, target: dict[str, Any], stated: str | None, is_v1: bool) -> None:
    node = on(stated, version=version, target=target)
    assert chosen.has_cgroups_v1(node) == is_v1
    assert planned(node).runtime.layout.version == (1 if is_v1 else 2)


@pytest.mark.parametrize(("version", "is_v1"), [("4.15", True), ("4.16", False)])
def test_one_profile_changes_all_nodes_of_its_cluster(version: str, is_v1: bool) -> None:
    profile, other = plan(version=version, target=PROFILE), plan(version=version)
    elsewhere = plan(version=version)
    elsewhere.node_class.cluster = "site-b"
    nodes = [other, profile, elsewhere]
    cluster_facts.settle([node.node_class for node in nodes])
    assert list(map(chosen.has_cgroups_v1, nodes)) == [is_v1, is_v1, False]


@pytest.mark.parametrize(
    ("version", "stated", "fields", "problem"),
    [
        ("1.35", "v1", {}, "not run on a host using cgroup v1"),
        ("1.35", "v1", {"failCgroupV1": False}, ""),
        ("1.35", "v2", {}, ""),
        ("1.34", "v1", {}, ""),
        ("1.34", "v1", {"singleProcessOOMKill": False}, "singleProcessOOMKill must not be"),
        ("1.34", "v2", {"singleProcessOOMKill": False}, ""),
    ],
)
def test_kubelet(version: str, stated: str, fields: dict[str, Any], problem: str) -> None:
    spec = {"kubelet": {"configuration": fields}}
    node = on(stated, platform="kubernetes", version=version, spec=spec)
    texts = [finding.message for finding in startup.check(node, no_position)]
    assert len(texts) == bool(problem)
    assert problem in "".join(texts)


@pytest.mark.parametrize(
    ("argument", "is_v1"),
    [
        ("systemd.unified_cgroup_hierarchy=0", True),
        ("systemd.unified_cgroup_hierarchy=No", True),
        ("systemd.unified_cgroup_hierarchy=1", False),
        ("systemd.unified_cgroup_hierarchy=00", False),
    ],
)
def test_a_boot_argument_asks_for_version_1(argument: str, is_v1: bool) -> None:
    node = plan(
        platform="kubernetes", version="1.36", spec={"kernel": {"extraArguments": [argument]}}
    )
    assert chosen.has_cgroups_v1(node) is is_v1
