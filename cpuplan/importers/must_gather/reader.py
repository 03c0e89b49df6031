"""A must-gather: `nodes/<node>/sysinfo.tgz` of the node tuning operator, and Node objects."""

from pathlib import Path

from cpuplan.base.naming import is_subdomain
from cpuplan.base.progress import follow
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers.base import Imported, Node, NodeObject
from cpuplan.importers.must_gather import SNAPSHOT, images, snapshot_path
from cpuplan.importers.must_gather import cluster as foreign
from cpuplan.importers.must_gather.cluster import cluster_name, facts, node_objects
from cpuplan.importers.packed_files import ArchiveError
from cpuplan.importers.sysroot import reader as sysroot
from cpuplan.importers.trees import FolderTree, TarTree


def read(path: Path) -> Imported:
    """Read every node. Of a node in two images, the first in the order of names counts."""
    nodes: dict[str, Node] = {}
    objects: dict[str, NodeObject] = {}
    remarks: list[str] = []
    diagnostics: list[Diagnostic] = []
    for image in images(path):
        tree = FolderTree(image)
        cluster, source = cluster_name(tree)
        stated = {**facts(tree), **foreign.foreign_facts(tree, diagnostics)}
        if cluster is None:
            remarks.append(
                f"{image} does not contain the cluster's name: "
                "its Infrastructure object has none, or is missing"
            )
        for known in node_objects(tree, cluster, diagnostics):
            objects.setdefault(known.name, known)
        names = list(filter(is_subdomain, tree.names("nodes")))
        for name in follow("nodes", len(names), names, str):
            node = None if name in nodes else read_node(tree, name, cluster, remarks, diagnostics)
            if node is not None:
                nodes[name] = node._replace(cluster_from=source, cluster_facts=stated)
        diagnostics += tree.refused.diagnostics()
    without_object = sorted(nodes.keys() - objects)
    remarks += (
        f"node {name} has no Node object: its labels are unknown" for name in without_object
    )
    if not nodes and not diagnostics:
        diagnostics.append(diagnose("CP124", path=path))
    return Imported(
        tuple(nodes.values()), tuple(remarks), tuple(diagnostics), tuple(objects.values())
    )


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
        remarks.append(f"node {name} has no {SNAPSHOT}: it is left out")
        return None
    try:
        snapshot = TarTree(snapshot_bytes, f"{tree.name}/{path}")
    except ArchiveError as error:
        diagnostics.append(error.diagnostic)
        return None
    machine, sentences, problems = sysroot.read_machine(snapshot)
    remarks += (f"node {name}: {sentence}" for sentence in sentences)
    diagnostics += problems
    return None if machine is None else Node(name, machine, {}, cluster)
