"""The machines that a user wants drawn, of the project, the catalogue, or an import."""

from pathlib import Path

import click

from cpuplan.cli.output import print_diagnostics, print_remarks
from cpuplan.diagnostics import CpuplanError, diagnose, errors
from cpuplan.fleet import hardware
from cpuplan.language.read.documents import Document, Documents
from cpuplan.pipeline import Project
from cpuplan.render.map.boxes import Map
from cpuplan.render.map.hardware import hardware_map

#: Before a name that is a node's too; as in the origins of reasons.
PREFIX = "Hardware/"


def named(project: Project, name: str) -> Map | None:
    """The map of hardware `name`, None if there is none. Raises CpuplanError if it is wrong."""
    wanted = name.removeprefix(PREFIX)
    document = project.documents.by_name.get(("Hardware", wanted))
    if document is None and not project.documents.may_define("Hardware", wanted):
        from cpuplan.fleet import catalog

        document = catalog.find(wanted)
    return _map(document) if document else None


def imported(source: Path, name: str | None) -> list[Map]:
    """The machines at `source`, or only the one with the hardware or node `name`.

    Raises CpuplanError and UsageError if there is none.
    """
    from cpuplan import importers
    from cpuplan.importers import documents as importer_documents
    from cpuplan.language.read import documents, yaml

    imported_machines = importers.run(None, [source])
    if not imported_machines.nodes:
        raise CpuplanError(imported_machines.diagnostics)
    print_diagnostics(imported_machines.diagnostics)
    print_remarks(imported_machines.remarks)
    sources = []
    for path, text in importer_documents.render(imported_machines).items():
        sources += yaml.parse(path, text)[0]
    read, problems = documents.from_sources(sources)
    if errors(problems):
        raise CpuplanError(problems)
    nodes = _nodes_of(read)
    chosen = [
        document
        for document in read.of_kind("Hardware")
        if name in (None, document.name, *nodes.get(document.name, ()))
    ]
    if not chosen:
        raise click.UsageError(
            f"{source} has no hardware or node {name!r}; it has {', '.join(nodes)}"
        )
    return [_map(document) for document in chosen]


def _nodes_of(documents: Documents) -> dict[str, list[str]]:
    """Node names by hardware."""
    from cpuplan.base.name_ranges import expand_names

    names: dict[str, list[str]] = {document.name: [] for document in documents.of_kind("Hardware")}
    for document in documents.of_kind("Nodes"):
        for group in document.spec.nodes:
            names[group.hardware or document.spec.hardware] += expand_names(group.name)
    return names


def _map(document: Document) -> Map:
    topology, problems = hardware.build(document.spec)
    if topology is None:
        diagnostics = [
            diagnose(problem.code, document.at(*problem.field), **problem.values)
            for problem in problems
        ]
        raise CpuplanError(diagnostics)
    return hardware_map(document.name, document.spec, topology)
