"""Importers: what machines there are, read from what people have. One module per format."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from cpuplan.diagnostics import diagnose
from cpuplan.importers import formats
from cpuplan.importers.base import Imported, Importer, Node, NodeObject

#: Module by format. Only the one that is needed is loaded: they stand on unlike libraries.
IMPORTERS = {
    "sysroot": "cpuplan.importers.sysroot",
    "must-gather": "cpuplan.importers.must_gather",
}


def run(format: str | None, paths: Iterable[Path], cluster: str | None = None) -> Imported:  # noqa: A002 - the option's name
    """Read the nodes at `paths`; `format` is found by looking if it is None. `cluster` names the nodes' cluster.

    A folder that is of no format holds files, and each that is of one is read. Nodes and Node objects of one name are
    brought together, wherever they stand; of two machines of one name the first one counts (CP126).
    """
    found = [(path, part) for path in paths for part in _read(format, path)]
    objects = {each.name: each for _, part in found for each in part.objects}
    remarks = [remark for _, part in found for remark in part.remarks]
    diagnostics = [diagnostic for _, part in found for diagnostic in part.diagnostics]
    nodes: dict[str, Node] = {}
    origins: dict[str, Path] = {}
    for path, part in found:
        for node in part.nodes:
            if node.name in nodes:
                diagnostics.append(diagnose("CP126", path=path, node=node.name, first=origins[node.name]))
                continue
            nodes[node.name], origins[node.name] = _joined(node, objects.get(node.name), cluster), path
    remarks += _strangers(nodes, objects)
    if not nodes and not diagnostics:
        diagnostics.append(diagnose("CP124", path=", ".join(map(str, paths))))
    return Imported(tuple(nodes[name] for name in sorted(nodes)), tuple(remarks), tuple(diagnostics))


def _read(format: str | None, path: Path) -> Iterator[Imported]:  # noqa: A002
    found = format or formats.detect(path)
    if found is None and path.is_dir():
        files = {each: formats.detect(each) for each in sorted(path.iterdir()) if each.is_file()}
        yield from (_importer(name).read(each) for each, name in files.items() if name)
        if any(files.values()):
            return
    if found is None:
        yield Imported((), (), (diagnose("CP120", path=path, formats=", ".join(IMPORTERS)),))
    else:
        yield _importer(found).read(path)


def _importer(name: str) -> Importer:
    module: Importer = import_module(IMPORTERS[name])
    return module


def _joined(node: Node, known: NodeObject | None, cluster: str | None) -> Node:
    """The node with what the cluster knows of it; the kubelet tells the architecture more surely than a CPU does."""
    if known:
        machine = node.machine._replace(architecture=known.architecture or node.machine.architecture)
        node = node._replace(
            machine=machine, labels={**node.labels, **known.labels}, cluster=known.cluster or node.cluster
        )
    return node._replace(cluster=cluster) if cluster else node


def _strangers(nodes: dict[str, Node], objects: dict[str, NodeObject]) -> Iterator[str]:
    for name in sorted(objects.keys() - nodes):
        yield f"node {name} has a Node object and nothing that tells its CPUs: it is left out"
