"""Which nodes a pool has."""

from pathlib import Path

import pytest

from cpuplan.fleet.openshift import MachineConfigPool
from cpuplan.profiles.propose.cluster import (
    NODE_POOL,
    Dump,
    Members,
    members,
    own_label,
    pool_names,
)
from tests.unit.profiles.propose.gathers import CLUSTER, gather, infrastructure, node, pool


def found(root: Path, name: str, *nodes: object) -> Members:
    return members(Dump(gather(root, [*CLUSTER, pool("worker-rt"), *nodes], {})), name)


@pytest.mark.parametrize(
    ("name", "resource", "remark"),
    [
        ("worker", node("w0", "worker"), None),
        ("master", node("w0", "master", "worker"), None),
        ("worker", node("w0", "master", "worker"), "it is in pool master"),
        ("worker-cnf", node("w0", "worker", "worker-cnf"), None),
        ("worker", node("w0", "worker", "worker-cnf"), "it is in pool worker-cnf"),
        (
            "worker-cnf",
            node("w0", "worker-cnf", "worker-rt"),
            "it matches several custom pools, worker-cnf and worker-rt",
        ),
        (
            "worker-cnf",
            node("w0", "master", "worker-cnf"),
            "a control plane node cannot be in the custom pool worker-cnf",
        ),
        ("worker", node("w0", "worker", os="windows"), "it runs Windows"),
        (
            "master",
            node("w0", "master", taint="node-role.kubernetes.io/master"),
            "its taint keeps pods away",
        ),
        ("worker", node("w0", "worker", taint="node-role.kubernetes.io/master"), None),
    ],
)
def test_one_node(tmp_path: Path, name: str, resource: object, remark: str | None) -> None:
    result = found(tmp_path, name, resource)
    assert [member.name for member in result.nodes] == ([] if remark else ["w0"])
    assert result.remarks == ((f"node w0 is not in pool {name}: {remark}",) if remark else ())


def test_nodes_that_the_selector_does_not_fit_need_no_remark(tmp_path: Path) -> None:
    assert found(tmp_path, "worker-cnf", node("w0", "worker")) == Members((), ())


def test_a_selector_that_is_empty_fits_no_node(tmp_path: Path) -> None:
    objects = [pool("worker"), pool("all", selector={}), pool("none", selector={"matchLabels": {}})]
    dump = Dump(gather(tmp_path, [*objects, node("w0", "worker")], {}))
    assert [member.name for member in members(dump, "worker").nodes] == ["w0"]


def test_hosted_clusters_have_node_pools(tmp_path: Path) -> None:
    nodes = [
        node(name, "worker", labels={NODE_POOL: value})
        for name, value in (("h0", "a"), ("h1", "b"), ("h2", "a"))
    ]
    dump = Dump(gather(tmp_path, [infrastructure("External"), *nodes, node("other", "worker")], {}))
    assert pool_names(dump) == ["a", "b"]
    assert [member.name for member in members(dump, "a").nodes] == ["h0", "h2"]


@pytest.mark.parametrize(
    ("labels", "others", "chosen"),
    [
        ({"role": "cnf"}, {"role": "worker"}, {"role": "cnf"}),
        ({"team": "x"}, {"team": "x"}, {}),
        ({}, {"team": "x"}, {}),
        ({"b": "1", "a": "1"}, {}, {"a": "1"}),
        ({"a": "1", "pools.example.com/cnf": ""}, {}, {"pools.example.com/cnf": ""}),
    ],
)
def test_a_label_of_its_own(
    labels: dict[str, str], others: dict[str, str], chosen: dict[str, str]
) -> None:
    pools = [MachineConfigPool("cnf", labels, {}), MachineConfigPool("worker", others, {})]
    assert own_label(pools[0], pools) == chosen
