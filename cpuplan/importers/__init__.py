"""Importers: what machines there are, read from what people have. One module per format."""

import os
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers import formats, join
from cpuplan.importers.base import (
    Imported,
    Importer,
    Node,
    NodeObject,
    PartsImporter,
    Refused,
    node_name,
)

#: Files of a folder that are looked at.
MAX_FILES = 10_000
#: Module by format. Only the one that is needed is loaded: they stand on unlike libraries.
IMPORTERS = {
    "sysroot": "cpuplan.importers.sysroot.reader",
    "must-gather": "cpuplan.importers.must_gather",
    "lscpu": "cpuplan.importers.lscpu.reader",
    "hwloc": "cpuplan.importers.hwloc.reader",
    "objects": "cpuplan.importers.objects.reader",
    "machineinfo": "cpuplan.importers.objects.machineinfo",
    "ironic": "cpuplan.importers.objects.ironic",
}
#: Formats whose files each tell a part of a node: files that give a node one name are read together
#: (`read_parts`).
_IN_PARTS = frozenset({"lscpu"})


def run(format: str | None, paths: Iterable[Path], cluster: str | None = None) -> Imported:  # noqa: A002 - the option's name
    """Read the nodes at `paths`; `format` is found by looking if it is None. `cluster` names the
    nodes' cluster.

    A folder that is of no format holds files, and each that is of one is read. Nodes and a
    cluster's objects of one name are brought together, wherever they stand; of two whole machines
    of one name the first counts (CP126). Files of lscpu that give a node one name are one machine.
    """
    found = list(_read(format, paths))
    remarks = [remark for _, part in found for remark in part.remarks]
    diagnostics = [diagnostic for _, part in found for diagnostic in part.diagnostics]
    nodes, problems = _joined(found)
    diagnostics += problems
    objects = _objects(each for _, part in found for each in part.objects)
    for name in sorted(nodes.keys() & objects.keys()):
        nodes[name], contradictions = join.complete(nodes[name], objects[name])
        diagnostics += contradictions
    strangers = [objects[name] for name in sorted(objects.keys() - nodes)]
    remarks += _strangers(strangers)
    diagnostics += _without_cpus(strangers)
    whole = [nodes[name] for name in sorted(nodes)]
    remarks += join.remarks(whole)
    if not nodes and not diagnostics:
        diagnostics.append(diagnose("CP124", path=", ".join(map(str, paths))))
    return Imported(
        tuple(_finished(node, cluster) for node in whole), tuple(remarks), tuple(diagnostics)
    )


def _joined(found: Iterable[tuple[Path, Imported]]) -> tuple[dict[str, Node], list[Diagnostic]]:
    """The nodes by name. Partial ones come last, and complete what is there."""
    nodes: dict[str, Node] = {}
    origins: dict[str, Path] = {}
    diagnostics: list[Diagnostic] = []
    for path, node in sorted(
        ((path, node) for path, part in found for node in part.nodes), key=lambda it: it[1].partial
    ):
        if node.name not in nodes:
            nodes[node.name], origins[node.name] = node, path
        elif node.partial:
            nodes[node.name], contradictions = join.fill(nodes[node.name], node, str(path))
            diagnostics += contradictions
        else:
            diagnostics.append(
                diagnose("CP126", path=path, node=node.name, first=origins[node.name])
            )
    return nodes, diagnostics


def _objects(found: Iterable[NodeObject]) -> dict[str, NodeObject]:
    objects: dict[str, NodeObject] = {}
    for each in found:
        objects[each.name] = join.merge(objects[each.name], each) if each.name in objects else each
    return objects


def _read(format: str | None, paths: Iterable[Path]) -> Iterator[tuple[Path, Imported]]:  # noqa: A002
    """What is at `paths`, each with the path that it is from: of files that are read together, the
    first one.
    """
    together: dict[tuple[str, str], list[Path]] = {}
    for path in paths:
        # opening a pipe would wait for its writer
        if not os.path.isdir(path) and not os.path.isfile(path):
            problem = diagnose("CP121", path=path, problem="it is neither a file nor a folder")
            yield path, Imported((), (), (problem,))
            continue
        problems: list[Diagnostic] = []
        for each, name in _files(format, path, problems):
            if name in _IN_PARTS:
                together.setdefault((name, node_name(each)), []).append(each)
            elif name is None:
                yield (
                    each,
                    Imported((), (), (diagnose("CP120", path=each, formats=", ".join(IMPORTERS)),)),
                )
            else:
                yield each, _importer(name).read(each)
        yield path, Imported((), (), tuple(problems))
    for (name, _), parts in together.items():
        module: PartsImporter = import_module(IMPORTERS[name])
        yield parts[0], module.read_parts(parts)


def _files(
    format: str | None,  # noqa: A002
    path: Path,
    problems: list[Diagnostic],
) -> Iterator[tuple[Path, str | None]]:
    """The path, or the files of a folder that is of no format or read in parts, each with its
    format.
    """
    found = format or formats.detect(path)
    files: list[tuple[Path, str | None]] = []
    if os.path.isdir(path) and (found is None or found in _IN_PARTS):
        looks = ((each, formats.detect(each)) for each in _entries(path, problems))
        files = [(each, name) for each, name in looks if name and found in (None, name)]
    yield from files or [(path, found)]


def _entries(folder: Path, problems: list[Diagnostic]) -> list[Path]:
    """The files in a folder, not below it; links to what is elsewhere are left out."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        problems.append(diagnose("CP121", path=folder, problem=error.strerror or str(error)))
        return []
    if len(entries) > MAX_FILES:
        problems.append(
            diagnose("CP123", path=folder, limit=f"{MAX_FILES:,}", what="files in a folder")
        )
        return []
    refused = Refused(str(folder))
    files = []
    inside = os.path.realpath(folder)
    for entry in filter(os.path.isfile, entries):
        if entry.is_symlink() and os.path.dirname(os.path.realpath(entry)) != inside:
            refused.add("a link that leads out of it", entry.name)
        else:
            files.append(entry)
    problems += refused.diagnostics()
    return files


def _importer(name: str) -> Importer:
    module: Importer = import_module(IMPORTERS[name])
    return module


def _finished(node: Node, cluster: str | None) -> Node:
    node = node._replace(machine=join.assume(node.machine))
    return node._replace(cluster=cluster, cluster_from="") if cluster else node


def _strangers(objects: Iterable[NodeObject]) -> Iterator[str]:
    for each in objects:
        if not each.zones:
            yield f"node {each.name} has a Node object and nothing that tells its CPUs: it is left out"


def _without_cpus(objects: Iterable[NodeObject]) -> Iterator[Diagnostic]:
    """One diagnostic for all nodes that only zones tell of."""
    names = [each.name for each in objects if each.zones]
    if names:
        from cpuplan.importers.documents import fold_names

        yield diagnose("CP130", nodes=", ".join(fold_names(names)))
