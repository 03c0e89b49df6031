"""Places of findings as the fields of documents, so that they hold when lines move.

Of documents that have the same values, the same is to be said; comments, blank lines and quotes
change nothing of it but where it stands.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Data, Field, Position, Source


class Place(NamedTuple):
    """A key, a value, or the beginning of either, of the document with this number."""

    document: int
    field: Field
    is_key: bool
    is_beginning: bool


#: Of a position, and of those of labels.
Named = tuple[Place | None, tuple[Place, ...]]


def digest(sources: Iterable[Source]) -> str:
    """SHA-256 over the values of documents, in their order and with the names of their files."""
    values = [(source.path, source.data) for source in sources]
    return sha256(json.dumps(values).encode()).hexdigest()


def named(diagnostics: Sequence[Diagnostic], sources: Sequence[Source]) -> list[Named] | None:
    """The places of findings; None where one has none, such as a part of a text."""
    positions = [position for each in diagnostics for position in _positions(each)]
    known = _places(sources, {position.path for position in positions})
    if not all(position in known for position in positions):
        return None
    return [
        (
            known[each.position] if each.position else None,
            tuple(known[label.position] for label in each.labels),
        )
        for each in diagnostics
    ]


def found(diagnostic: Diagnostic, named: Named, sources: Sequence[Source]) -> Diagnostic:
    """A finding at the present position of its places, which `sources` have."""
    place, of_labels = named
    labels = tuple(
        label._replace(position=_position(one, sources))
        for label, one in zip(diagnostic.labels, of_labels, strict=True)
    )
    position = _position(place, sources) if place else None
    return diagnostic._replace(position=position, labels=labels)


def _positions(diagnostic: Diagnostic) -> Iterator[Position]:
    if diagnostic.position:
        yield diagnostic.position
    yield from (label.position for label in diagnostic.labels)


def _places(sources: Sequence[Source], paths: set[str]) -> dict[Position, Place]:
    """All places in some files by their positions; of several, the first."""
    known: dict[Position, Place] = {}
    for number, source in enumerate(sources):
        if source.path in paths:
            for field in _fields(source.data):
                for is_key, is_beginning in ((False, False), (True, False), (False, True)):
                    place = Place(number, field, is_key, is_beginning)
                    known.setdefault(_position(place, sources), place)
    return known


def _fields(data: Data) -> Iterator[Field]:
    """The document itself, and all that it holds."""
    todo: list[tuple[Data, Field]] = [(data, ())]
    while todo:
        value, field = todo.pop()
        yield field
        if isinstance(value, dict):
            todo += [(child, (*field, name)) for name, child in value.items()]
        elif isinstance(value, list):
            todo += [(child, (*field, index)) for index, child in enumerate(value)]


def _position(place: Place, sources: Sequence[Source]) -> Position:
    source = sources[place.document]
    if place.is_beginning:
        line, column = source.mark_of(place.field).value[:2]
        return Position(source.path, line + 1, column + 1, column + 1)
    return source.key_at(place.field) if place.is_key else source.value_at(place.field)
