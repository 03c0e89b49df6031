"""What was imported, written as documents and read back by the reader of every other document."""

from typing import NamedTuple

from cpuplan.base.topology import Topology
from cpuplan.fleet import hardware
from cpuplan.importers import documents as importer_documents
from cpuplan.importers.base import Imported
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.language.read import documents, yaml


class ReadBack(NamedTuple):
    """The Hardware documents with the machine that each describes (None if it is wrong), and what
    is wrong.
    """

    hardware: list[tuple[HardwareSpec, Topology | None]]
    problems: list[str]


def read_back(imported: Imported) -> ReadBack:
    """The documents of `imported`, after they were text."""
    sources = []
    problems = []
    for name, text in importer_documents.render(imported).items():
        found, wrong = yaml.parse(name, text)
        sources += found
        problems += [f"{name}: {problem.code}: {problem.message}" for problem in wrong]
    loaded, wrong = documents.from_sources(sources)
    problems += [f"documents: {problem.code}: {problem.message}" for problem in wrong]
    built = []
    for document in loaded.of_kind("Hardware"):
        topology, faults = hardware.build(document.spec)
        problems += [f"build: {fault}" for fault in faults]
        built.append((document.spec, topology))
    return ReadBack(built, problems)


def read_machine(imported: Imported) -> ReadBack:
    """The same of an import of one machine, its diagnostics among what is wrong; no document of
    none or of several.
    """
    problems = [f"{diagnostic.code}: {diagnostic.message}" for diagnostic in imported.diagnostics]
    if len(imported.nodes) != 1:
        return ReadBack([], [*problems, f"{len(imported.nodes)} nodes"])
    made = read_back(imported)
    return ReadBack(made.hardware, [*problems, *made.problems])
