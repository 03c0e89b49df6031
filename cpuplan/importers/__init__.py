"""Importers: what machines there are, read from what people have."""

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from cpuplan.base import naming
from cpuplan.base.naming import fold_names
from cpuplan.base.progress import stage
from cpuplan.base.text import joined
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
    homes = _Homes(parts, cluster)
    nodes, problems = _nodes(parts, homes)
    objects = _objects(parts, homes)
    diagnostics += [*problems, *homes.diagnostics()]
    for key in sorted(nodes.keys() & objects.keys(), key=_by_name):
        nodes[key], contradictions = join.complete(nodes[key], objects[key])
        diagnostics += contradictions
    strangers = [objects[key] for key in sorted(objects.keys() - nodes, key=_by_name)]
    remarks += _without_machine(strangers)
    diagnostics += _without_cpus(strangers)
    whole = [nodes[key] for key in sorted(nodes, key=_by_name)]
    remarks += join.remarks(whole)
    if not nodes and not diagnostics:
        diagnostics.append(diagnose("CP124", path=", ".join(map(str, paths))))
    finished = tuple(_finished(node, cluster) for node in _with_own_homes(whole))
    return Imported(finished, tuple(remarks), tuple(diagnostics))


#: A node: its cluster, or the collection that it is from, and its name.
_Key = tuple[str, str]


class _Homes:
    """Whose node a file is about: clusters may have nodes of one name, and a file names none."""

    def __init__(self, parts: Iterable[_Read], cluster: str | None) -> None:
        self._cluster = cluster
        self._homes: dict[str, set[str]] = {}
        self._several: dict[tuple[Path, str], set[str]] = {}
        for _, part in parts:
            named: list[Node | NodeObject] = [*part.nodes, *part.objects]
            for known in named:
                if home := self._own(known):
                    self._homes.setdefault(known.name, set()).add(home)

    def _own(self, known: Node | NodeObject) -> str:
        return self._cluster or known.cluster or known.origin

    def key(self, path: Path, known: Node | NodeObject) -> _Key | None:
        """None for what may be about a node of each of several clusters."""
        homes = self._homes.get(known.name, set())
        if not (own := self._own(known)) and len(homes) > 1:
            self._several[path, known.name] = homes
            return None
        return own or next(iter(homes), ""), known.name

    def diagnostics(self) -> Iterator[Diagnostic]:
        """What was left out for that."""
        for (path, name), homes in self._several.items():
            yield diagnose("CP1545", path=path, node=name, clusters=joined(sorted(homes)))


def _nodes(parts: Iterable[_Read], homes: _Homes) -> tuple[dict[_Key, Node], list[Diagnostic]]:
    """The nodes by key. Partial ones come last, and complete what is there."""
    nodes: dict[_Key, Node] = {}
    origins: dict[_Key, Path] = {}
    diagnostics: list[Diagnostic] = []
    named = [(path, node) for path, part in parts for node in part.nodes]
    for path, node in sorted(named, key=lambda pair: _gaps(pair[1])):
        key = homes.key(path, node)
        if key is None:
            continue
        if key not in nodes:
            nodes[key], origins[key] = node, path
        elif node.partial:
            nodes[key], contradictions = join.fill(nodes[key], node, str(path))
            diagnostics += contradictions
        else:
            first = origins[key]
            diagnostics.append(diagnose("CP126", path=path, node=node.name, first=first))
    for key in [key for key, node in nodes.items() if not node.machine.siblings]:
        diagnostics.append(diagnose("CP136", path=origins[key], what="siblings"))
        del nodes[key]
    return nodes, diagnostics


def _by_name(key: _Key) -> _Key:
    home, name = key
    return name, home


def _gaps(node: Node) -> tuple[bool, bool]:
    return node.partial, not node.machine.siblings


def _objects(parts: Iterable[_Read], homes: _Homes) -> dict[_Key, NodeObject]:
    """The objects by the key of their node, those of one node merged."""
    objects: dict[_Key, NodeObject] = {}
    for path, part in parts:
        for known in part.objects:
            key = homes.key(path, known)
            if key is not None:
                objects[key] = join.merge(objects[key], known) if key in objects else known
    return objects


def _with_own_homes(nodes: Collection[Node]) -> Iterator[Node]:
    """The nodes; collections of nameless clusters in folders of one name get unlike names."""
    places: dict[str, set[str]] = {}
    for node in nodes:
        if node.cluster is None and node.home:
            places.setdefault(node.home, set()).add(node.origin)
    taken = {node.cluster for node in nodes}
    for node in nodes:
        is_shared = len(places.get(node.home, ())) > 1 or node.home in taken
        if node.cluster is None and node.home and is_shared:
            yield node._replace(home=_longer(node))
        else:
            yield node


def _longer(node: Node) -> str:
    """The name of a folder with that of the one above it, and a digest of its place."""
    place = Path(node.origin).resolve()
    digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:8]
    name = f"{place.parent.name}-{node.home}"[:50]
    name = f"{name}-{digest}"
    return naming.name_from(name, node.home, naming.LONGEST_LABEL, dots=False)


def _finished(node: Node, cluster: str | None) -> Node:
    node = node._replace(machine=join.assume(node.machine))
    return node._replace(cluster=cluster, cluster_from="") if cluster else node


_OF_NODE = re.compile(r"node ([a-z0-9.-]+)(:? .*)", re.DOTALL)


def grouped(remarks: Iterable[str]) -> Iterator[str]:
    """The remarks, with one for all nodes of which the same is said, in the order of the first."""
    names: dict[str, list[str]] = {}
    for remark in remarks:
        match = _OF_NODE.fullmatch(remark)
        own = names.setdefault(match[2] if match else remark, [])
        own += [match[1]] if match else []
    for text, alike in names.items():
        different = set(alike)
        if len(different) > 1:
            shown = ", ".join(fold_names(different))
            yield f"{len(different)} nodes: {shown}: {text.removeprefix(':').strip()}"
        else:
            yield f"node {alike[0]}{text}" if alike else text


def _without_machine(objects: Iterable[NodeObject]) -> Iterator[str]:
    for known in objects:
        if not known.zones:
            yield (f"node {known.name} has a Node object but no source of its CPUs: it is left out")


def _without_cpus(objects: Iterable[NodeObject]) -> Iterator[Diagnostic]:
    """One diagnostic for all nodes of which only zones are known."""
    names = [known.name for known in objects if known.zones]
    if names:
        yield diagnose("CP130", nodes=", ".join(fold_names(names)))
