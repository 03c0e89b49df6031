"""Which documents of an inventory an import is about: they may have been renamed, moved and
edited.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from cpuplan.importers import documents
from cpuplan.importers.base import Node
from cpuplan.importers.documents import Kind
from cpuplan.write.merge import same_facts, tells_less
from cpuplan.write.merge_nodes import groups_of, hardware_of

#: A node: its cluster and name.
Place: TypeAlias = tuple[str, str]


class Known(NamedTuple):
    """A document that is there: its file, its number in it, and its data."""

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


def in_known_clusters(nodes: Sequence[Node], known: Collection[Known]) -> list[Node]:
    """The nodes; those whose input names no cluster in the one that the inventory has them in, or
    their like.
    """
    clusters: dict[str, set[str]] = {}
    for document in known:
        if document.kind == "Nodes":
            for group in groups_of(document.spec):
                for name in group.names:
                    clusters.setdefault(name, set()).add(document.cluster)
    told = {name: found.pop() for name, found in clusters.items() if len(found) == 1}
    used = {told[node.name] for node in nodes if node.cluster is None and node.name in told}
    other = used.pop() if len(used) == 1 else None
    return [
        node if node.cluster is not None else _placed(node, told.get(node.name), other)
        for node in nodes
    ]


def _placed(node: Node, told: str | None, other: str | None) -> Node:
    source = "the cluster of the nodes beside it in the inventory" if told is None and other else ""
    return node._replace(cluster=told or other, cluster_from=source)


def users(known: Collection[Known]) -> dict[str, set[Place]]:
    """The nodes by the name of their hardware."""
    found: dict[str, set[Place]] = {}
    for document in known:
        if document.kind == "Nodes":
            for group in groups_of(document.spec):
                places = {(document.cluster, name) for name in group.names}
                found.setdefault(hardware_of(document.spec, group) or "", set()).update(places)
    return found


class Matches(NamedTuple):
    """By kind of machine: the document that it is, if any, and the name of its document."""

    documents: dict[str, Known]
    names: dict[str, str]


def match(known: Collection[Known], kinds: Mapping[str, Kind], read: Collection[Place]) -> Matches:
    """Find the Hardware document of each kind: by its facts, as that of its nodes if it tells more,
    by name, by nodes.

    By the last two only if all of a document's nodes are among those that were `read`: else it
    would change for nodes of which nothing is known.
    """
    hardware = [document for document in known if document.kind == "Hardware"]
    nodes = users(known)
    found: dict[str, Known] = {}
    for test in (_has_facts, _tells_more, _has_name, _has_nodes):
        for name in sorted(kinds, key=lambda name: (-len(kinds[name].nodes), name)):
            places = {(documents.cluster_of(node), node.name) for node in kinds[name].nodes}
            fitting = [
                document
                for document in hardware
                if name not in found
                and document not in found.values()
                and test(document, name, kinds[name], places & nodes.get(document.name, set()))
                and (
                    test in (_has_facts, _tells_more)
                    or nodes.get(document.name, set()) <= set(read)
                )
            ]
            if fitting:
                found[name] = max(
                    fitting,
                    key=lambda document: (
                        len(places & nodes.get(document.name, set())),
                        document.name == name,
                    ),
                )
    taken = {document.name for document in hardware}
    names = {
        name: found[name].name
        if name in found
        else documents.with_digest(name, kind.spec)
        if name in taken
        else name
        for name, kind in kinds.items()
    }
    return Matches(found, names)


def _has_facts(document: Known, _name: str, kind: Kind, _nodes: Collection[Place]) -> bool:
    return same_facts(document.spec, kind.spec, complete=kind.machine.kubelet is not None)


def _tells_more(document: Known, _name: str, kind: Kind, nodes: Collection[Place]) -> bool:
    return bool(nodes) and kind.machine.kubelet is None and tells_less(document.spec, kind.spec)


def _has_name(document: Known, name: str, _kind: Kind, _nodes: Collection[Place]) -> bool:
    return document.name == name


def _has_nodes(document: Known, _name: str, _kind: Kind, nodes: Collection[Place]) -> bool:
    """A regular machine of a catalogue is not taken for the machine of a node, whose facts may be
    many more.
    """
    return bool(nodes) and "topology" in document.spec
