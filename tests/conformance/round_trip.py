"""What was imported, written as documents and read back by the reader of every other document."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.importers import documents as importer_documents
from cpuplan.importers.base import Imported
from cpuplan.inventory import HardwareSpec
from cpuplan.load import documents, hardware, yaml
from cpuplan.topology import Topology


class ReadBack(NamedTuple):
    """The Hardware documents with the machine that each describes (None if it is wrong), and what is wrong."""

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


def differ(what: str, expected: object, found: object) -> Iterator[str]:
    """A sentence if the two are not equal."""
    if expected != found:
        yield f"{what} is {found!s:.120}, not {expected!s:.120}"
