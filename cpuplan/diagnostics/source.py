"""YAML data with the places of its values."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias, Union

#: A value of a YAML document. No floats and no dates: the reader refuses scalars that YAML 1.1 and
#: 1.2 read differently.
Data: TypeAlias = Union[bool, int, str, "list[Data]", "dict[str, Data]", None]
#: The way to a value: mapping keys and list indexes from the top of a document.
Field: TypeAlias = tuple[str | int, ...]


class Position(NamedTuple):
    """A part of one line of a file, counted from 1; `end` is the column after the last character.

    Line 0 is the whole file.
    """

    path: str
    line: int
    column: int
    end: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.line else self.path


#: Finds the line of a place, `Kind/name:field.path`; None for the names of built-in rules.
Locate = Callable[[str], Position | None]
#: Finds the line of a field of one document, by its path below a place that is fixed.
At = Callable[[str], Position | None]


class Mark(NamedTuple):
    """The places of a mapping's key and value, or a list's item: line, column and end, from 0.

    The key of an item is -1.
    """

    key: tuple[int, int, int]
    value: tuple[int, int, int]


#: Marks per container, by the container's id() and then by key or index. Source keeps the
#: containers alive.
Marks: TypeAlias = dict[int, dict[str | int, Mark]]


class Source:
    """One YAML document: its data and, for every field, its place in the file."""

    __slots__ = ("data", "grafts", "marks", "path", "start")

    def __init__(
        self,
        path: str,
        data: Data,
        marks: Marks,
        start: tuple[int, int],
        grafts: dict[int, str] | None = None,
    ) -> None:
        self.path = path
        self.data = data
        self.marks = marks
        self.start = start
        #: The files of values that `graft` put in, by the values' id().
        self.grafts = grafts or {}

    def graft(self, field: Field, other: "Source") -> None:
        """Put the data of a document of another file in the place of a value."""
        *parents, name = field
        self.at(tuple(parents))[name] = other.data
        self.marks.update(other.marks)
        self.grafts[id(other.data)] = other.path

    def at(self, field: Field) -> Any:
        """The value of an existing field."""
        data: Any = self.data
        for key in field:
            data = data[key]
        return data

    def value_at(self, field: Field) -> Position:
        """The place of the value of `field`, or of its nearest written parent."""
        return self._find(field, key=False)

    def key_at(self, field: Field) -> Position:
        """The place of the key of `field`, or of its nearest written parent."""
        return self._find(field, key=True)

    def mark_of(self, field: Field) -> Mark:
        """The mark of `field`, or of its nearest written parent."""
        data = self.data
        nearest = Mark((-1, -1, -1), (*self.start, self.start[1]))
        for name in field:
            mark = self.marks.get(id(data), {}).get(name)
            if mark is None:
                break
            nearest = mark
            data = data[name]  # type: ignore[index]
        return nearest

    def part(self, field: Field) -> "Source":
        """The value of `field` as a separate document, at its places here."""
        data = self.data
        for name in field:
            data = data[name]  # type: ignore[index]
        return Source(self.path, data, self.marks, self.mark_of(field).value[:2], self.grafts)

    def moved(self, lines: int, columns: int) -> "Source":
        """The document so many lines further down and columns further right in a file."""

        def later(at: tuple[int, int, int]) -> tuple[int, int, int]:
            line, column, end = at
            return at if line < 0 else (line + lines, column + columns, end + columns)

        marks: Marks = {}
        for owner, children in self.marks.items():
            moved = {name: Mark(*map(later, mark)) for name, mark in children.items()}
            marks[owner] = moved
        start = (self.start[0] + lines, self.start[1] + columns)
        return Source(self.path, self.data, marks, start, self.grafts)

    def retold(self, data: Data, places: Mapping[Field, Field]) -> "Source":
        """A document made from this one: each value has the place of its field in `places`.

        A value that `places` does not have is at the place of its parent.
        """
        marks: Marks = {}
        todo: list[tuple[Data, Field, Field]] = [(data, (), ())]
        while todo:
            value, field, origin = todo.pop()
            for name, child in items_of(value):
                place = places.get((*field, name), origin)
                marks.setdefault(id(value), {})[name] = self.mark_of(place)
                todo.append((child, (*field, name), place))
        return Source(self.path, data, marks, self.start)

    def _find(self, field: Field, key: bool) -> Position:
        at: tuple[int, int, int] = (*self.start, self.start[1])
        data, path, inside = self.data, self.path, self.path
        for name in field:
            inside = self.grafts.get(id(data), inside)
            mark = self.marks.get(id(data), {}).get(name)
            if mark is None:
                break
            path = inside
            # A missing child is shown at its parent's key: a block mapping starts a line later.
            data = data[name]  # type: ignore[index]
            nested = isinstance(data, dict | list)
            at = mark.key if key or (nested and mark.key[0] >= 0) else mark.value
            if at[0] < 0:
                at = mark.value
        return Position(path, at[0] + 1, at[1] + 1, at[2] + 1)


def items_of(value: Data) -> Iterable[tuple[str | int, Data]]:
    """The entries of a mapping or list."""
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()
