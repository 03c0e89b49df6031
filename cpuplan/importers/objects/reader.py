"""Kubernetes objects, as `kubectl get nodes -o json` and `kubectl get noderesourcetopologies -o
yaml` print them.

YAML or JSON, one object or many in a file: a stream, a `List`, a `NodeList`, a
`NodeResourceTopologyList`. Objects of other kinds are passed over.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cpuplan.importers import data
from cpuplan.importers.base import Imported, Node, NodeObject
from cpuplan.importers.objects import node_object, nrt
from cpuplan.importers.trees.archive import ArchiveError

_NODE = "Node"
_TOPOLOGY = "NodeResourceTopology"
_MAX_LISTS = 4  # a list in a list is odd enough


def read(path: Path) -> Imported:
    """The nodes whose CPUs an object tells, and what the objects tell of nodes."""
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
            complaints.add(
                f"{kind}, metadata.name", named, "a node's name is an RFC 1123 subdomain"
            )
        elif kind == _NODE:
            objects += filter(None, (node_object.read(value),))
        else:
            machine, known = nrt.read(name, value, complaints)
            objects.append(known)
            if machine is not None:
                nodes.append(Node(name, machine, {}, partial=True))
    return Imported(tuple(nodes), tuple(_remarks(path, nodes)), tuple(complaints), tuple(objects))


def _remarks(path: Path, nodes: Iterable[Node]) -> Iterator[str]:
    """What the annotation of koordlet leaves open on every machine, and where its cores may not be
    the kernel's.
    """
    machines = [node.machine for node in nodes]
    if machines:
        yield f"{path}: koordlet does not tell offline CPUs, dies, clusters and kinds of cores; sockets are as in lscpu"
    if any(len(core) > 2 for machine in machines for core in machine.siblings):
        yield f"{path}: cores of more than two CPUs: lscpu may have numbered the cores of each CPU type from 0"


def _objects(
    values: Iterable[Any], kind: str = "", depth: int = 0
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(kind, object) of the kinds that are read. The items of a typed list need not say their
    kind.
    """
    for value in values:
        if not isinstance(value, dict):
            continue
        found = str(value.get("kind") or kind)
        if found in (_NODE, _TOPOLOGY):
            yield found, value
        elif found.endswith("List") and isinstance(value.get("items"), list) and depth < _MAX_LISTS:
            yield from _objects(value["items"], found.removesuffix("List"), depth + 1)
