"""Places that are named by field, until who has the documents finds their lines."""

from collections.abc import Callable, Container, Iterable, Iterator
from typing import TypeAlias

from cpuplan.diagnostics import Diagnostic, Label
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.language.read import statements

#: Kind and name of a document.
Name: TypeAlias = tuple[str, str]

#: The line of a position whose path is a place, `Kind/name:field.path`.
_LINE = -1


def locate_in(documents: Container[Name]) -> Locate:
    """Names the places in `documents` without their lines; None for all others."""

    def locate(origin: str) -> Position | None:
        document, _ = statements.split(origin)
        return Position(origin, _LINE, 0) if document in documents else None

    return locate


def placed(diagnostics: Iterable[Diagnostic], locate: Locate) -> list[Diagnostic]:
    """The diagnostics with the lines of their places."""

    def find(position: Position) -> Position | None:
        return locate(position.path) if position.line == _LINE else position

    return [_placed(each, find) for each in diagnostics]


def _placed(diagnostic: Diagnostic, find: Callable[[Position], Position | None]) -> Diagnostic:
    position = diagnostic.position and find(diagnostic.position)
    labels = tuple(_labels(diagnostic.labels, find))
    return diagnostic._replace(position=position, labels=labels)


def _labels(
    labels: Iterable[Label], find: Callable[[Position], Position | None]
) -> Iterator[Label]:
    for label in labels:
        position = find(label.position)
        if position:
            yield label._replace(position=position)


def has_lines(diagnostic: Diagnostic) -> bool:
    """Whether it has a place with a line, which may move while no document changes."""
    positions = [diagnostic.position, *(label.position for label in diagnostic.labels)]
    return any(position is not None and position.line != _LINE for position in positions)
