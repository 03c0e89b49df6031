"""The objects of a must-gather that describe its cluster."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.fleet.cluster import CUSTOM, feature_gates
from cpuplan.importers import data
from cpuplan.importers.base import NodeObject
from cpuplan.importers.must_gather.images import NODES
from cpuplan.importers.objects import node_object
from cpuplan.importers.trees import FolderTree
from cpuplan.language.model.document import FeatureSet

INFRASTRUCTURES = (
    "cluster-scoped-resources/config.openshift.io/infrastructures/cluster.yaml",
    "cluster-scoped-resources/config.openshift.io/infrastructures.yaml",
)
FEATURE_GATES = (
    "cluster-scoped-resources/config.openshift.io/featuregates/cluster.yaml",
    "cluster-scoped-resources/config.openshift.io/featuregates.yaml",
)
#: Node objects of the API group config.openshift.io: there is one, for all nodes.
NODE_CONFIGS = (
    "cluster-scoped-resources/config.openshift.io/nodes/cluster.yaml",
    "cluster-scoped-resources/config.openshift.io/nodes.yaml",
)
#: Those that a document can state; of others nothing is known here.
_FEATURE_SETS = get_args(FeatureSet)
#: The cluster's name is the first label of its domain.
_API_SERVER = re.compile(r"https://api\.([^.:/]{1,253})\.")


def cluster_name(tree: FolderTree) -> tuple[str | None, str]:
    """The name by the address of the API server, else by the infrastructure; and its source."""
    for path in INFRASTRUCTURES:
        document = load(tree, path)
        objects = data.items(document.get("items")) or [document]
        status = data.mapping(objects[0].get("status"))
        url, name = status.get("apiServerURL"), status.get("infrastructureName")
        source = "the Infrastructure object"
        match = _API_SERVER.match(url) if isinstance(url, str) else None
        if match:
            name, source = match[1], f"the API server's address {url}"
        if isinstance(name, str) and name:
            return name.lower(), source
    return None, ""


def facts(tree: FolderTree) -> dict[str, Any]:
    """The spec of a Cluster document: the feature set and version of cgroups, where stated."""
    return {**_feature_set(tree), **_cgroup_mode(tree)}


def _cgroup_mode(tree: FolderTree) -> dict[str, Any]:
    for item in _objects(tree, NODE_CONFIGS):
        mode = data.mapping(item.get("spec")).get("cgroupMode")
        if mode in ("v1", "v2"):
            return {"cgroupMode": mode}
    return {}


def _objects(tree: FolderTree, paths: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The object of a kind with one object, as one file or as a list."""
    for path in paths:
        document = load(tree, path)
        yield (data.items(document.get("items")) or [document])[0]


def _feature_set(tree: FolderTree) -> dict[str, Any]:
    for item in _objects(tree, FEATURE_GATES):
        name, enabled = feature_gates(item)
        if name in _FEATURE_SETS:
            gates = {"enabledFeatureGates": list(enabled)} if name == CUSTOM else {}
            return {"featureSet": name, **gates}
    return {}


def node_objects(
    tree: FolderTree, cluster: str | None, diagnostics: list[Diagnostic]
) -> Iterator[NodeObject]:
    """The Node objects; what is wrong with a file goes to `diagnostics`."""
    for name in tree.names(NODES):
        if name.endswith(".yaml"):
            node = node_object.read(load(tree, f"{NODES}/{name}", diagnostics), cluster)
            if node:
                yield node


def load(
    tree: FolderTree, path: str, diagnostics: list[Diagnostic] | None = None
) -> dict[str, Any]:
    """The object in a YAML file; {} if it is missing or damaged."""
    text = tree.read(path)
    if text is None:
        return {}
    try:
        documents = data.parse(text)
    except data.DataError as error:
        if diagnostics is not None:
            place = f"{tree.name}/{path}"
            shown = data.clip(text)
            diagnostics.append(diagnose("CP125", path=place, text=shown, problem=str(error)))
        return {}
    return data.mapping(documents[0] if documents else None)
