"""YAML data that remembers where each of its values was written."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, Union

#: A value of a YAML document. No floats and no dates: the reader refuses scalars of which YAML 1.1
#: and 1.2 differ.
Data: TypeAlias = Union[bool, int, str, "list[Data]", "dict[str, Data]", None]
#: The way to a value: mapping keys and list indexes from the top of a document.
Field: TypeAlias = tuple[str | int, ...]


class Position(NamedTuple):
    """A stretch of one line of a file; line and columns count from 1, `end` is the column after the
    last character.

    Line 0 is the file as a whole.
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
    """Where a mapping's key and value stand, or a list's item (its key is -1): line, column and
    end, from 0.
    """

    key: tuple[int, int, int]
    value: tuple[int, int, int]


#: Marks per container, by the container's id() and then by key or index. Source keeps the
#: containers alive.
Marks: TypeAlias = dict[int, dict[str | int, Mark]]


class Source:
    """One YAML document: its data and, for every field, its place in the file."""

    __slots__ = ("data", "marks", "path", "start")

    def __init__(self, path: str, data: Data, marks: Marks, start: tuple[int, int]) -> None:
        self.path = path
        self.data = data
        self.marks = marks
        self.start = start

    def at(self, field: Field) -> Any:
        """The value of a field that is there."""
        data: Any = self.data
        for key in field:
            data = data[key]
        return data

    def value_at(self, field: Field) -> Position:
        """Where the value of `field` is; of a field that is not there, where its nearest written
        parent is.
        """
        return self._find(field, key=False)

    def key_at(self, field: Field) -> Position:
        """Where the key of `field` is; of a field that is not there, where its nearest written
        parent is.
        """
        return self._find(field, key=True)

    def mark_of(self, field: Field) -> Mark:
        """The mark of `field`, or of its nearest written parent."""
        data = self.data
        found = Mark((-1, -1, -1), (*self.start, self.start[1]))
        for name in field:
            mark = self.marks.get(id(data), {}).get(name)
            if mark is None:
                break
            found = mark
            data = data[name]  # type: ignore[index]
        return found

    def part(self, field: Field) -> "Source":
        """The value of `field` as a document of its own, at its places here."""
        data = self.data
        for name in field:
            data = data[name]  # type: ignore[index]
        return Source(self.path, data, self.marks, self.mark_of(field).value[:2])

    def retold(self, data: Data, places: Mapping[Field, Field]) -> "Source":
        """A document made from this one: each value is where the field that `places` names for it
        was written.

        A value without a name there is where its parent is.
        """
        marks: Marks = {}
        todo: list[tuple[Data, Field, Field]] = [(data, (), ())]
        while todo:
            value, field, origin = todo.pop()
            items = (
                value.items()
                if isinstance(value, dict)
                else enumerate(value)
                if isinstance(value, list)
                else ()
            )
            for name, child in items:
                place = places.get((*field, name), origin)
                marks.setdefault(id(value), {})[name] = self.mark_of(place)
                todo.append((child, (*field, name), place))
        return Source(self.path, data, marks, self.start)

    def _find(self, field: Field, key: bool) -> Position:
        at: tuple[int, int, int] = (*self.start, self.start[1])
        data = self.data
        for name in field:
            mark = self.marks.get(id(data), {}).get(name)
            if mark is None:
                break
            # A missing child is best shown at its parent's key: the value of a block mapping starts
            # a line later.
            data = data[name]  # type: ignore[index]
            nested = isinstance(data, dict | list)
            at = mark.key if key or (nested and mark.key[0] >= 0) else mark.value
            if at[0] < 0:
                at = mark.value
        return Position(self.path, at[0] + 1, at[1] + 1, at[2] + 1)
