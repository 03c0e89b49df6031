"""The documents of an existing inventory, and which nodes they have."""

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Source
from cpuplan.importers.base import Node
from cpuplan.importers.documents.nodes import cluster_of
from cpuplan.language.read import yaml
from cpuplan.language.read.documents import from_sources
from cpuplan.language.read.files import object_files
from cpuplan.write.inventory.groups import groups_of, hardware_of

#: A node: its cluster and name.
Place: TypeAlias = tuple[str, str]


class Known(NamedTuple):
    """An existing document: its file, its number in it, and its data."""

    path: Path
    number: int
    kind: str
    name: str
    data: dict[str, Any]

    @property
    def spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.data["spec"]
        return spec

    @property
    def cluster(self) -> str:
        """Of a Nodes document."""
        return str(self.spec.get("cluster"))

    @property
    def node_names(self) -> list[str]:
        """Of a Nodes document."""
        return [name for group in groups_of(self.spec) for name in group.names]


def read(folder: Path) -> tuple[list[Known], list[Diagnostic]]:
    """The Hardware, Nodes and Cluster documents below `folder`, by path, and their problems."""
    if not os.path.lexists(folder):
        return [], []
    paths, refused = object_files(folder, json=False)
    if not paths:
        return [], refused
    diagnostics: list[Diagnostic] = [*refused]
    places: list[tuple[Path, int, Source]] = []
    for path in paths:
        sources, problems = yaml.read(path, str(path))
        diagnostics += problems
        places += [(path, number, source) for number, source in enumerate(sources)]
    documents, problems = from_sources(source for _, _, source in places)
    by_source = {id(document.source): document for document in documents.by_name.values()}
    known = []
    for path, number, source in places:
        document = by_source.get(id(source))
        if document is not None and document.kind in ("Hardware", "Nodes", "Cluster"):
            data: Any = source.data
            known.append(Known(path, number, document.kind, document.name, data))
    return known, [*diagnostics, *problems]


def place_of(node: Node) -> Place:
    """The cluster and name of an imported node."""
    return cluster_of(node), node.name


def users(known: Collection[Known]) -> dict[str, set[Place]]:
    """The nodes by the name of their hardware."""
    places: dict[str, set[Place]] = {}
    for document in known:
        if document.kind == "Nodes":
            for group in groups_of(document.spec):
                of_hardware = places.setdefault(hardware_of(document.spec, group) or "", set())
                of_hardware.update((document.cluster, name) for name in group.names)
    return places


def in_known_clusters(nodes: Sequence[Node], known: Collection[Known]) -> list[Node]:
    """The nodes; those without a cluster get that of the inventory, or of the others in it."""
    clusters: dict[str, set[str]] = {}
    for document in known:
        if document.kind == "Nodes":
            for name in document.node_names:
                clusters.setdefault(name, set()).add(document.cluster)
    only = {name: names.pop() for name, names in clusters.items() if len(names) == 1}
    nameless = [node for node in nodes if node.cluster is None]
    used = {only[node.name] for node in nameless if node.name in only}
    common = used.pop() if len(used) == 1 else None
    return [
        _placed(node, only.get(node.name), common) if node.cluster is None else node
        for node in nodes
    ]


def _placed(node: Node, own: str | None, common: str | None) -> Node:
    source = ""
    if own is None and common:
        source = "the cluster of the nodes next to it in the inventory"
    return node._replace(cluster=own or common, cluster_from=source)
