"""Statements, `Kind/name:field.path`: their places in documents, whether these are valid or not."""

import re
from collections.abc import Iterator
from typing import Any

from cpuplan.diagnostics.source import Position, Source

_PART = re.compile(r"#(\d{1,7})\.(\d{1,7})\.(\d{1,7})\Z")


def split(origin: str) -> tuple[tuple[str, str] | None, str]:
    """Kind and name of a statement's document, and its field; no document for a built-in rule."""
    document, colon, path = origin.partition(":")
    kind, _, name = document.partition("/")
    return ((kind, name) if colon else None), path


def position(source: Source, path: str) -> Position:
    """The place of a field's value; of its key where a colon follows the path.

    Of a part of its text where line, column and end follow, as `#2.1.8`.
    """
    if match := _PART.search(path):
        field = tuple(_field(source.data, path[: match.start()]))
        line, column, end = map(int, match.groups())
        return source.text_at(field, (line, column, end))
    field = tuple(_field(source.data, path.removesuffix(":")))
    return source.key_at(field) if path.endswith(":") else source.value_at(field)


def _field(data: Any, path: str) -> Iterator[str | int]:
    """The path to a value; a key with dots (`labels.example.com/role`) is found whole."""
    while path:
        if isinstance(data, dict) and path in data:
            yield path
            return
        name, _, path = path.partition(".")
        key = int(name) if name.isdigit() else name
        inside = isinstance(data, dict | list) and (
            key in data if isinstance(data, dict) else key in range(len(data))
        )
        data = data[key] if inside else None
        yield key
