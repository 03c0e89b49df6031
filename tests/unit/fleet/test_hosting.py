"""Hosted clusters: what their targets say together, and what they share on the hosting cluster."""

from pathlib import Path

import pytest

from cpuplan import pipeline
from tests.projects import REJECTED, make_project

CONTRADICTION = REJECTED / "CP200-topology"
SHARED_OBJECT = REJECTED / "CP251-one-intent"


def _codes(project: Path, changes: dict[str, str]) -> list[str]:
    """The codes of a project with changes in its intents."""
    [file] = (project / "intents").glob("*.yaml")
    text = file.read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)
    return [problem.code for problem in pipeline.load(project).diagnostics]


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({}, ["CP200"]),
        ({"    hostingCluster: hub\n": ""}, []),
        ({"hostingCluster: hub": "hostingCluster: in-cluster"}, []),
        ({"hostingCluster: hub": "hostingNamespace: clusters"}, []),
        ({"hostingCluster: hub": "hostingNamespace: guests"}, ["CP200"]),
        ({"hostingCluster: hub": "cpuPartitioning: true"}, ["CP200"]),
        # A target that is not hosted has no hosting cluster to compare.
        ({"controlPlaneTopology: External\n    pool: np-cu": "pool: np-cu"}, ["CP200"]),
    ],
)
def test_a_cluster_is_described_once(
    tmp_path: Path, changes: dict[str, str], codes: list[str]
) -> None:
    assert _codes(make_project(tmp_path, CONTRADICTION), changes) == codes


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({}, ["CP251"]),
        ({"pool: b-du": "pool: b-du\n    hostingNamespace: b"}, []),
        ({"pool: b-du": "pool: b-du\n    hostingCluster: hub"}, []),
        # One of the objects is enough.
        ({"pool: b-du": "pool: a-du"}, ["CP251"]),
        ({"pool: b-du": "pool: a-du\n    hostingNamespace: b"}, []),
    ],
)
def test_an_object_is_of_one_hosted_cluster(
    tmp_path: Path, changes: dict[str, str], codes: list[str]
) -> None:
    assert _codes(make_project(tmp_path, SHARED_OBJECT), changes) == codes


def test_a_node_pool_is_of_one_hosted_cluster(tmp_path: Path) -> None:
    """Two intents for NodePools of one name: the ConfigMaps differ, the NodePool is the same."""
    project = make_project(tmp_path, SHARED_OBJECT)
    [nodes] = (project / "inventories").glob("*.yaml")
    nodes.write_text(nodes.read_text().replace("worker-1\n    labels: {role: du}", "worker-1"))
    [file] = (project / "intents").glob("*.yaml")
    first = file.read_text().replace("b-du", "a-du")
    second = first.replace("name: du", "name: cu").replace(
        "matchLabels: {role: du}", "nodes: [worker-1]"
    )
    file.write_text(f"{first}---\n{second}")
    [problem] = pipeline.load(project).diagnostics
    assert problem.message.startswith("NodePool a-du in namespace clusters of the hosting cluster")


def test_nodes_of_two_node_pools_may_have_the_same_labels(tmp_path: Path) -> None:
    """Profiles of hosted clusters select all workers; no MachineConfigPool does (not CP239)."""
    workers = '    nodeSelector: {node-role.kubernetes.io/worker: ""}\n'
    changes = {"    hostingCluster: hub\n": workers, "pool: np-cu\n": f"pool: np-cu\n{workers}"}
    assert _codes(make_project(tmp_path, CONTRADICTION), changes) == []


@pytest.mark.parametrize("field", ["hostingCluster: hub", "hostingNamespace: guests"])
def test_fields_of_hosted_clusters_need_one(tmp_path: Path, field: str) -> None:
    changes = {"    controlPlaneTopology: External\n": "", "hostingCluster: hub": field}
    assert _codes(make_project(tmp_path, CONTRADICTION), changes) == ["CP230"]
