"""Importers: what machines there are, read from what people have."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from cpuplan.base.naming import fold_names
from cpuplan.base.progress import stage
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers import formats, join
from cpuplan.importers.base import Imported, Node, NodeObject

#: What was read, with the path that it is from.
_Read = tuple[Path, Imported]


@stage("reading machines")
def run(format_name: str | None, paths: Iterable[Path], cluster: str | None = None) -> Imported:
    """Read the nodes at `paths`, in the format of that name or in the one that each looks like.

    A folder that is of no format holds files, and each that is of one is read. Nodes and a
    cluster's objects of one name are brought together, wherever they stand; of two whole machines
    of one name the first counts (CP126). `cluster` names the cluster of all nodes.
    """
    parts = list(formats.read_sources(formats.FORMATS[format_name] if format_name else None, paths))
    remarks = [remark for _, part in parts for remark in part.remarks]
    diagnostics = [diagnostic for _, part in parts for diagnostic in part.diagnostics]
    nodes, problems = _nodes(parts)
    diagnostics += problems
    objects = _objects(known for _, part in parts for known in part.objects)
    for name in sorted(nodes.keys() & objects.keys()):
        nodes[name], contradictions = join.complete(nodes[name], objects[name])
        diagnostics += contradictions
    strangers = [objects[name] for name in sorted(objects.keys() - nodes)]
    remarks += _without_machine(strangers)
    diagnostics += _without_cpus(strangers)
    whole = [nodes[name] for name in sorted(nodes)]
    remarks += join.remarks(whole)
    if not nodes and not diagnostics:
        diagnostics.append(diagnose("CP124", path=", ".join(map(str, paths))))
    finished = tuple(_finished(node, cluster) for node in whole)
    return Imported(finished, tuple(remarks), tuple(diagnostics))


def _nodes(parts: Iterable[_Read]) -> tuple[dict[str, Node], list[Diagnostic]]:
    """The nodes by name. Partial ones come last, and complete what is there."""
    nodes: dict[str, Node] = {}
    origins: dict[str, Path] = {}
    diagnostics: list[Diagnostic] = []
    named = [(path, node) for path, part in parts for node in part.nodes]
    for path, node in sorted(named, key=lambda pair: _gaps(pair[1])):
        if node.name not in nodes:
            nodes[node.name], origins[node.name] = node, path
        elif node.partial:
            nodes[node.name], contradictions = join.fill(nodes[node.name], node, str(path))
            diagnostics += contradictions
        else:
            first = origins[node.name]
            diagnostics.append(diagnose("CP126", path=path, node=node.name, first=first))
    for name in [name for name, node in nodes.items() if not node.machine.siblings]:
        diagnostics.append(diagnose("CP136", path=origins[name], what="siblings"))
        del nodes[name]
    return nodes, diagnostics


def _gaps(node: Node) -> tuple[bool, bool]:
    return node.partial, not node.machine.siblings


def _objects(parts: Iterable[NodeObject]) -> dict[str, NodeObject]:
    """The objects by the name of their node, those of one name merged."""
    objects: dict[str, NodeObject] = {}
    for part in parts:
        known = objects.get(part.name)
        objects[part.name] = join.merge(known, part) if known else part
    return objects


def _finished(node: Node, cluster: str | None) -> Node:
    node = node._replace(machine=join.assume(node.machine))
    return node._replace(cluster=cluster, cluster_from="") if cluster else node


def _without_machine(objects: Iterable[NodeObject]) -> Iterator[str]:
    for known in objects:
        if not known.zones:
            yield (f"node {known.name} has a Node object but no source of its CPUs: it is left out")


def _without_cpus(objects: Iterable[NodeObject]) -> Iterator[Diagnostic]:
    """One diagnostic for all nodes of which only zones are known."""
    names = [known.name for known in objects if known.zones]
    if names:
        yield diagnose("CP130", nodes=", ".join(fold_names(names)))
