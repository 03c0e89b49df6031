"""Which field stands at a place of a file: `Kind/name:path`, which holds when lines move."""

from collections.abc import Iterable, Iterator

from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Field, Mark, Position, Source
from cpuplan.language.read.documents import Document, Documents


class Places:
    """The fields of documents by their places."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self._fields: dict[str, dict[tuple[int, int], str]] = {}

    def field_at(self, position: Position) -> str:
        """The field whose key or value begins there; empty without one or in a broken document."""
        path = position.path
        if path not in self._fields:
            self._fields[path] = self._fields_of(path)
        return self._fields[path].get((position.line, position.column), "")

    def _fields_of(self, path: str) -> dict[tuple[int, int], str]:
        names: dict[tuple[int, int], str] = {}
        for document in self.documents.by_name.values():
            if document.source.path != path:
                continue
            line, column = document.source.start
            names.setdefault((line + 1, column + 1), f"{document.kind}/{document.name}")
            for field, mark in _marks(document.source):
                name = f"{document.kind}/{document.name}:{'.'.join(map(str, field))}"
                for line, column, _ in mark:
                    if line >= 0:
                        names.setdefault((line + 1, column + 1), name)
        return names

    def document_at(self, position: Position) -> Document | None:
        """The document whose lines the position is in."""
        for document in self.documents.by_name.values():
            source = document.source
            if source.path == position.path and source.start[0] < position.line <= self._last_line(
                document
            ):
                return document
        return None

    def _last_line(self, document: Document) -> int:
        """The last line that a field of the document begins on."""
        lines = (max(mark.key[0], mark.value[0]) for _, mark in _marks(document.source))
        return max(lines, default=document.source.start[0]) + 1


def _marks(source: Source) -> Iterator[tuple[Field, Mark]]:
    """All fields with their marks, outer ones first: an item begins where its first key does."""
    todo: list[tuple[object, Field]] = [(source.data, ())]
    for value, field in todo:
        marks = source.marks.get(id(value), {})
        for name, child in _items(value):
            mark = marks.get(name)
            if mark and isinstance(child, dict | list) and mark.key[0] >= 0:
                # A mapping begins where its first key does; it is told by its own key
                # (`Source.value_at`).
                yield (*field, name), mark._replace(value=mark.key)
            elif mark:
                yield (*field, name), mark
            todo.append((child, (*field, name)))


def _items(value: object) -> Iterable[tuple[str | int, object]]:
    """The keys and values of a mapping or list."""
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def named(diagnostics: Iterable[Diagnostic], places: Places) -> list[Diagnostic]:
    """The diagnostics with the fields that they are about."""
    return [
        diagnostic._replace(field=places.field_at(diagnostic.position))
        if diagnostic.position
        else diagnostic
        for diagnostic in diagnostics
    ]
