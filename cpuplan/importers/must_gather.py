"""An OpenShift must-gather: `nodes/<node>/sysinfo.tgz` of the node tuning operator, and Node
objects.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers import data
from cpuplan.importers.base import Imported, Node, NodeObject
from cpuplan.importers.objects import node_object
from cpuplan.importers.sysroot import reader as sysroot
from cpuplan.importers.trees.archive import ArchiveError
from cpuplan.importers.trees.folder import FolderTree
from cpuplan.importers.trees.tar import TarTree
from cpuplan.naming import is_subdomain

_SNAPSHOT = "sysinfo.tgz"
NODES = "cluster-scoped-resources/core/nodes"
INFRASTRUCTURES = (
    "cluster-scoped-resources/config.openshift.io/infrastructures/cluster.yaml",
    "cluster-scoped-resources/config.openshift.io/infrastructures.yaml",
)
#: A must-gather has these folders at its top or one or two below; looking for them must not take
#: long in a home folder.
_MAX_DEPTH = 5
_MAX_FOLDERS = 2000
#: Folders of a must-gather that hold most of its files and no node's.
_LOGS = frozenset(
    {"namespaces", "cluster-scoped-resources", "host_service_logs", "audit_logs", "static-pods"}
)


def detect(path: Path) -> bool:
    """Whether a folder `nodes` with a node's folder in it, or Node objects, are somewhere under
    `path`.
    """
    return os.path.isdir(path) and next(images(path), None) is not None


def read(path: Path) -> Imported:
    """Read every node of the must-gather. Of a node that two images have, the first in the order of
    names counts.
    """
    nodes: dict[str, Node] = {}
    objects: dict[str, NodeObject] = {}
    remarks: list[str] = []
    diagnostics: list[Diagnostic] = []
    for image in images(path):
        tree = FolderTree(image)
        cluster, source = named_cluster(tree)
        if cluster is None:
            remarks.append(
                f"{image} does not tell the cluster's name: its Infrastructure object has none, or is missing"
            )
        for each in _node_objects(tree, cluster, diagnostics):
            objects.setdefault(each.name, each)
        for name in filter(is_subdomain, tree.names("nodes")):
            node = None if name in nodes else read_node(tree, name, cluster, remarks, diagnostics)
            if node is not None:
                nodes[name] = node._replace(cluster_from=source)
        diagnostics += tree.refused.diagnostics()
    remarks += (
        f"node {name} has no Node object: its labels are not known"
        for name in sorted(nodes.keys() - objects)
    )
    if not nodes and not diagnostics:
        diagnostics.append(diagnose("CP124", path=path))
    return Imported(
        tuple(nodes.values()), tuple(remarks), tuple(diagnostics), tuple(objects.values())
    )


def images(path: Path) -> Iterator[Path]:
    """The folders that hold `nodes/` or Node objects, in the order of their paths."""
    found = []
    for visited, (folder, names, _) in enumerate(os.walk(path)):
        here = Path(folder)
        if ("nodes" in names and _has_node(here / "nodes")) or os.path.isdir(here / NODES):
            found.append(here)
            names.clear()
        if visited > _MAX_FOLDERS or len(here.relative_to(path).parts) >= _MAX_DEPTH:
            names.clear()
        names[:] = sorted(name for name in names if name not in _LOGS and not name.startswith("."))
    yield from sorted(found)


def _has_node(folder: Path) -> bool:
    try:
        return not folder.is_symlink() and any(
            os.path.isfile(each / _SNAPSHOT) for each in folder.iterdir()
        )
    except OSError:
        return False


def snapshot_path(name: str) -> str:
    """Where an image has the snapshot of a node."""
    return f"nodes/{name}/{_SNAPSHOT}"


def read_node(
    tree: FolderTree,
    name: str,
    cluster: str | None,
    remarks: list[str],
    diagnostics: list[Diagnostic],
) -> Node | None:
    """The node by its snapshot; what is wrong goes to `remarks` and `diagnostics`."""
    path = snapshot_path(name)
    snapshot_bytes = tree.read_bytes(path)
    if snapshot_bytes is None:
        remarks.append(f"node {name} has no {_SNAPSHOT}: it is left out")
        return None
    try:
        snapshot = TarTree(snapshot_bytes, f"{tree.name}/{path}")
    except ArchiveError as error:
        diagnostics.append(error.diagnostic)
        return None
    machine, found, problems = sysroot.read_machine(snapshot)
    remarks += (f"node {name}: {remark}" for remark in found)
    diagnostics += problems
    return None if machine is None else Node(name, machine, {}, cluster)


def cluster_name(tree: FolderTree) -> str | None:
    """The cluster's name: see `named_cluster`."""
    return named_cluster(tree)[0]


def named_cluster(tree: FolderTree) -> tuple[str | None, str]:
    """The first label of its domain (https://api.<cluster>.<domain>:6443), else its name; and where
    that is from.
    """
    for path in INFRASTRUCTURES:
        found = _load(tree, path)
        status = data.mapping((data.items(found.get("items")) or [found])[0].get("status"))
        url = status.get("apiServerURL")
        match = re.match(r"https://api\.([^.:/]{1,253})\.", url) if isinstance(url, str) else None
        name = match[1] if match else status.get("infrastructureName")
        if isinstance(name, str) and name:
            return (
                name.lower(),
                f"the API server's address {url}" if match else "the Infrastructure object",
            )
    return None, ""


def _node_objects(
    tree: FolderTree, cluster: str | None, diagnostics: list[Diagnostic]
) -> Iterator[NodeObject]:
    for name in tree.names(NODES):
        found = name.endswith(".yaml") and node_object.read(
            _load(tree, f"{NODES}/{name}", diagnostics), cluster
        )
        if found:
            yield found


def _load(
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
            shown = data.clip(text)
            diagnostics.append(
                diagnose("CP125", path=f"{tree.name}/{path}", text=shown, problem=str(error))
            )
        return {}
    return data.mapping(documents[0] if documents else None)
