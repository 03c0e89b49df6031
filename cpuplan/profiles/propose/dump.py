"""A must-gather as a cluster: its pools and nodes, and the machine of a node on request."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cpuplan.base.naming import is_subdomain
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.fleet import cluster
from cpuplan.fleet.cluster import ClusterNode, MachineConfigPool
from cpuplan.importers import data
from cpuplan.importers.machine import Machine
from cpuplan.importers.must_gather import reader as must_gather
from cpuplan.importers.must_gather.cluster import INFRASTRUCTURES, cluster_name
from cpuplan.importers.must_gather.images import NODES, images, snapshot_path
from cpuplan.importers.trees import FolderTree
from cpuplan.profiles.propose import alike

#: On a hosted cluster, the label of each node with its node pool (openshift/hypershift, api
#: NodePoolLabel).
NODE_POOL = "hypershift.openshift.io/nodePool"
_POOLS = "cluster-scoped-resources/machineconfiguration.openshift.io/machineconfigpools"
_VERSIONS = (
    "cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml",
    "cluster-scoped-resources/config.openshift.io/clusterversions.yaml",
)


class Dump:
    """The cluster of a must-gather. Snapshots of nodes are unpacked one by one, in memory.

    All images of one must-gather describe one cluster: an object that two of them contain must be
    the same in both.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.diagnostics: list[Diagnostic] = []
        self.remarks: list[str] = []
        self.name: str | None = None
        self._machines: dict[str, tuple[Machine | None, list[Diagnostic]]] = {}
        self._objects: dict[tuple[str, str], dict[str, Any]] = {}
        self._trees = [FolderTree(image) for image in images(path)] if path.is_dir() else []
        for tree in self._trees:
            self._read(tree)
        if not self._trees:
            self.diagnostics.append(diagnose("CP124", path=path))
        objects = list(self._objects.values())
        self.pools: list[MachineConfigPool] = sorted(
            cluster.listed_pools(objects), key=lambda pool: pool.name
        )
        self.nodes: list[ClusterNode] = sorted(cluster.nodes(objects), key=lambda node: node.name)
        if self._trees and not self.nodes:
            self.remarks.append(
                f"there are no Node objects ({NODES}), which determine the nodes of a pool"
            )
        self.facts = cluster.facts(objects)
        self.release = self.facts.version if "ClusterVersion" in self._kinds() else None
        self.hosted = self._is_hosted()

    @property
    def is_empty(self) -> bool:
        """Whether the folder has no image of a must-gather; `diagnostics` reports it."""
        return not self._trees

    def machine(self, name: str) -> Machine | None:
        """The machine of a node; None if the snapshot is missing or damaged (see `problems`)."""
        return self._node(name)[0]

    def problems(self, name: str) -> list[Diagnostic]:
        """What is wrong with a node's snapshot."""
        return self._node(name)[1]

    def _node(self, name: str) -> tuple[Machine | None, list[Diagnostic]]:
        if name not in self._machines:
            self._machines[name] = self._read_machine(name)
        return self._machines[name]

    def _read_machine(self, name: str) -> tuple[Machine | None, list[Diagnostic]]:
        """Read the first whole snapshot; those of other images must have the same CPUs."""
        problems: list[Diagnostic] = []
        first: Machine | None = None
        for tree in self._trees if is_subdomain(name) else ():
            findings: list[Diagnostic] = []
            node = must_gather.read_node(tree, name, None, [], findings)
            if first is None and node is not None:
                first, problems = node.machine, findings
            elif first is None:
                problems += findings
            elif node is not None and alike.layout_facts(node.machine) != alike.layout_facts(first):
                path = f"{tree.name}/{snapshot_path(name)}"
                problems.append(diagnose("CP286", path=path, kind="the CPUs of", name=name))
        return first, problems or ([] if first else [diagnose("CP285", node=name, path=self.path)])

    def _read(self, tree: FolderTree) -> None:
        self.name = self.name or cluster_name(tree)[0]
        for path in _paths(tree):
            for item in _items(self._load(tree, path)):
                self._add(item, f"{tree.name}/{path}")

    def _load(self, tree: FolderTree, path: str) -> dict[str, Any]:
        """The object in a file; {} if there is none.

        A damaged one is an error, because it may be the pool of any node.
        """
        text = tree.read(path)
        try:
            documents = data.parse(text) if text else []
        except data.DataError as error:
            self.diagnostics.append(diagnose("CP121", path=f"{tree.name}/{path}", problem=error))
            return {}
        return data.mapping(documents[0] if documents else None)

    def _add(self, item: dict[str, Any], path: str) -> None:
        name = data.mapping(item.get("metadata")).get("name")
        kind = item.get("kind")
        if not isinstance(kind, str) or not isinstance(name, str):
            return
        if not is_subdomain(name):
            problem = f"it is not a valid name of a {kind}"
            self.diagnostics.append(
                diagnose("CP125", path=path, text=data.clip(name), problem=problem)
            )
            return
        first = self._objects.setdefault((kind, name), item)
        if _meaning(first) != _meaning(item):
            self.diagnostics.append(diagnose("CP286", path=path, kind=kind, name=name))

    def _kinds(self) -> set[str]:
        return {kind for kind, _ in self._objects}

    def _is_hosted(self) -> bool:
        """Whether the control plane is elsewhere, so that node pools replace MachineConfigPools."""
        if ("Infrastructure", "cluster") in self._objects:
            return self.facts.control_plane_topology == "External"
        if self._trees:
            self.remarks.append(
                "there is no Infrastructure object: the pools show whether the control plane "
                "is elsewhere"
            )
        return not self.pools and any(NODE_POOL in node.labels for node in self.nodes)


def _paths(tree: FolderTree) -> Iterator[str]:
    yield from INFRASTRUCTURES
    yield from _VERSIONS
    for folder in (_POOLS, NODES):
        yield from (f"{folder}/{name}" for name in tree.names(folder) if name.endswith(".yaml"))


def _items(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The object, or those of a list, which may lack their kind."""
    kind = str(document.get("kind", ""))
    if not kind.endswith("List"):
        return [document]
    return [
        {"kind": kind.removesuffix("List"), **item} for item in data.items(document.get("items"))
    ]


def _meaning(item: dict[str, Any]) -> object:
    """The parts of an object that are compared; counters and times change all the time."""
    return cluster.listed_pools([item]), list(cluster.nodes([item])), cluster.facts([item])
