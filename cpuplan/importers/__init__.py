"""Importers: what machines there are, read from what people have. One module per format."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from cpuplan.diagnostics import diagnose
from cpuplan.importers import formats
from cpuplan.importers.base import Imported, Importer, Node, NodeObject, PartsImporter, node_name

#: Module by format. Only the one that is needed is loaded: they stand on unlike libraries.
IMPORTERS = {
    "sysroot": "cpuplan.importers.sysroot",
    "must-gather": "cpuplan.importers.must_gather",
    "lscpu": "cpuplan.importers.lscpu",
}
#: Formats whose files each tell a part of a node: files that give a node one name are read together (`read_parts`).
_IN_PARTS = frozenset({"lscpu"})


def run(format: str | None, paths: Iterable[Path], cluster: str | None = None) -> Imported:  # noqa: A002 - the option's name
    """Read the nodes at `paths`; `format` is found by looking if it is None. `cluster` names the nodes' cluster.

    A folder that is of no format holds files, and each that is of one is read. Nodes and Node objects of one name are
    brought together, wherever they stand; of two machines of one name the first one counts (CP126). Files of lscpu
    that give a node one name are one machine.
    """
    found = list(_read(format, paths))
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


def _read(format: str | None, paths: Iterable[Path]) -> Iterator[tuple[Path, Imported]]:  # noqa: A002
    """What is at `paths`, each with the path that it is from: of files that are read together, the first one."""
    together: dict[tuple[str, str], list[Path]] = {}
    for path in paths:
        for each, name in _files(format, path):
            if name in _IN_PARTS:
                together.setdefault((name, node_name(each)), []).append(each)
            elif name is None:
                yield each, Imported((), (), (diagnose("CP120", path=each, formats=", ".join(IMPORTERS)),))
            else:
                yield each, _importer(name).read(each)
    for (name, _), parts in together.items():
        module: PartsImporter = import_module(IMPORTERS[name])
        yield parts[0], module.read_parts(parts)


def _files(format: str | None, path: Path) -> Iterator[tuple[Path, str | None]]:  # noqa: A002
    """The path, or the files of a folder that is of no format or read in parts, each with its format."""
    found = format or formats.detect(path)
    files: list[tuple[Path, str | None]] = []
    if path.is_dir() and (found is None or found in _IN_PARTS):
        looks = ((each, formats.detect(each)) for each in sorted(path.iterdir()) if each.is_file())
        files = [(each, name) for each, name in looks if name and found in (None, name)]
    yield from files or [(path, found)]


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
