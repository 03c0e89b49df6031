"""Kubernetes objects, as `kubectl get nodes,noderesourcetopologies -o yaml` prints them.

YAML or JSON, one object or many in a file: a stream, a `List`, a `NodeList`, a
`NodeResourceTopologyList`. Objects of other kinds are passed over.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cpuplan.importers import data
from cpuplan.importers.base import Imported, Node, NodeObject
from cpuplan.importers.objects import node_object, nrt
from cpuplan.importers.packed_files import ArchiveError

_NODE = "Node"
_TOPOLOGY = "NodeResourceTopology"
_MAX_LISTS = 4  # a list in a list is odd enough


def read(path: Path) -> Imported:
    """The nodes of which an object lists the CPUs, and what the objects say of nodes."""
    try:
        documents = data.read(path)
    except ArchiveError as error:
        return Imported((), (), (error.diagnostic,))
    complaints = data.Complaints(str(path))
    nodes: list[Node] = []
    objects: list[NodeObject] = []
    for kind, value in _objects(documents):
        name = node_object.object_name(value)
        if name is None:
            named = data.mapping(value.get("metadata")).get("name")
            problem = "the name of a node must be an RFC 1123 subdomain"
            complaints.add(f"{kind}, metadata.name", named, problem)
        elif kind == _NODE:
            objects += filter(None, (node_object.read(value),))
        else:
            machine, node = nrt.read(name, value, complaints)
            objects.append(node)
            if machine is not None:
                nodes.append(Node(name, machine, {}, partial=True))
    return Imported(tuple(nodes), tuple(_remarks(path, nodes)), tuple(complaints), tuple(objects))


def _remarks(path: Path, nodes: Iterable[Node]) -> Iterator[str]:
    """What the annotation of koordlet leaves open, and where its cores may not be the kernel's."""
    cores = [core for node in nodes for core in node.machine.siblings]
    if cores:
        yield (
            f"{path}: koordlet does not report offline CPUs, dies, clusters and kinds of cores; "
            "sockets are as in lscpu"
        )
    if any(len(core) > 2 for core in cores):
        yield (
            f"{path}: cores of more than two CPUs: "
            "lscpu may have numbered the cores of each CPU type from 0"
        )


def _objects(
    values: Iterable[Any], kind: str = "", depth: int = 0
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(kind, object) of the kinds that are read; the items of a typed list may leave theirs out."""
    for value in values:
        if not isinstance(value, dict):
            continue
        known = str(value.get("kind") or kind)
        if known in (_NODE, _TOPOLOGY):
            yield known, value
        elif known.endswith("List") and isinstance(value.get("items"), list) and depth < _MAX_LISTS:
            yield from _objects(value["items"], known.removesuffix("List"), depth + 1)
