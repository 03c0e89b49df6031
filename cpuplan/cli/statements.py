"""Places of statements for commands that read no intents: they are read when one is asked for."""

from functools import cached_property
from pathlib import Path

from cpuplan.diagnostics.source import Position, Source

#: Where a project has its intents.
FOLDER = "intents"


class Statements:
    """The documents of a project, valid or not; none where there is no project."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def sources(self) -> dict[tuple[str, str], Source]:
        """Documents by kind and name."""
        from cpuplan.language.read import inputs, yaml

        found: dict[tuple[str, str], Source] = {}
        if not (self.root / FOLDER).is_dir():  # a node, and no project
            return found
        for name, data in inputs.read(self.root).texts.items():
            for source in yaml.decode(name, data)[0]:
                if document := _name(source):
                    found.setdefault(document, source)
        return found

    def spec_of(self, kind: str, name: str) -> object:
        """The spec of a document, as YAML has it; None where there is none."""
        source = self.sources.get((kind, name))
        return source.data.get("spec") if source and isinstance(source.data, dict) else None

    def locate(self, origin: str) -> Position | None:
        """Where the statement `Kind/name:field.path` stands; None where no document has it."""
        from cpuplan.language.read import statements

        document, field = statements.split(origin)
        source = self.sources.get(document) if document else None
        return statements.position(source, field) if source else None


def _name(source: Source) -> tuple[str, str] | None:
    data = source.data
    metadata = data.get("metadata") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(metadata, dict):
        return None
    kind, name = data.get("kind"), metadata.get("name")
    return (kind, name) if isinstance(kind, str) and isinstance(name, str) else None
