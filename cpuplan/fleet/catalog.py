"""The catalogue: Hardware documents of common server models, which users copy into projects.

They ship with cpuplan. A project never reads them: a release that corrects an entry must not change
the plans of projects that copied it before.
"""

from pathlib import Path

from cpuplan.base.resources import resource
from cpuplan.diagnostics.source import Source
from cpuplan.language.read import documents, yaml
from cpuplan.language.read.documents import Document


def read() -> list[Document]:
    """All entries, ascending by name."""
    sources: list[Source] = []
    for path in sorted(_folder().glob("*.yaml")):
        of_file, _ = yaml.decode(path.name, path.read_bytes())
        sources += of_file
    return documents.from_sources(sources)[0].of_kind("Hardware")


def find(name: str) -> Document | None:
    """The entry of this name."""
    return next((entry for entry in read() if entry.name == name), None)


def text(entry: Document) -> str:
    """The entry as a file: the comments of its family, which name the sources, and its text."""
    chunks = (_folder() / entry.source.path).read_text().split("---\n")
    first = chunks[0].splitlines(keepends=True)
    comments = sum(1 for line in first if line.startswith("#"))
    head, chunks[0] = "".join(first[:comments]), "".join(first[comments:])
    own = next(chunk for chunk in chunks if f"\n  name: {entry.name}\n" in chunk)
    return head.replace("../../schemas/", "../schemas/") + own


def _folder() -> Path:
    return resource("inventories", "catalog")
