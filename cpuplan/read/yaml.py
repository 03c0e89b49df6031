"""The strict YAML reader: text -> Sources, with the place of every key and value.

It takes the subset of YAML of which all readers have one opinion, and reports everything else in
one run. It works on the events of PyYAML's parser (libyaml), without recursion: PyYAML's and
ruamel's own composers overflow the stack on deep nesting, and expand aliases.
"""

import codecs
import gc
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.files import MAX_BYTES, Name, TooLarge, Unreadable, read_regular
from cpuplan.read import yaml_text
from cpuplan.read.files import refusal
from cpuplan.read.scalars import WORDS, Refusal, clip, read_plain
from cpuplan.read.yaml_text import BREAK, Place, Problem
from cpuplan.source import Mark, Marks, Position, Source

MAX_VALUES = 2_000_000
MAX_DEPTH = 64
MAX_SCALAR = 1024 * 1024
MAX_ERRORS = 1000

#: libyaml where PyYAML was built with it; the parser in Python gives the same events fifteen times
#: slower.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NOWHERE = (-1, -1, -1)
_ITEM: Any = object()  # the "key" of whatever comes next in a list
_PROPERTY = re.compile(r"[ \t]*([&!][^\s,\[\]{}]*)")


class _Stop(Exception):  # noqa: N818  not an error of the program: the rest of the file is not read
    pass


def read(
    path: Path, name: str, *, within: Name | None = None
) -> tuple[list[Source], list[Diagnostic]]:
    """Read the documents of the file at `path`; `name` is what messages call it.

    No link may lead out of the folder `within`. See `parse`.
    """
    try:
        data = read_regular(path, within=within, limit=MAX_BYTES)
    except TooLarge:
        return [], [_too_large(Position(name, 1, 1), "bytes", MAX_BYTES)]
    except Unreadable as error:
        return [], [refusal(name, error)]
    return decode(name, data)


def decode(name: str, data: bytes) -> tuple[list[Source], list[Diagnostic]]:
    """Read the documents in the bytes of the file `name`; see `parse`."""
    try:
        data = data.removeprefix(codecs.BOM_UTF8)
        text = data.decode()
    except UnicodeDecodeError as error:
        lines = BREAK.split(data[: error.start].decode())
        problem = f"byte 0x{data[error.start]:02x} is not UTF-8"
        position = Position(name, len(lines), len(lines[-1]) + 1)
        return [], [diagnose("CP108", position, path=name, problem=problem)]
    return parse(name, text)


def parse(path: str, text: str) -> tuple[list[Source], list[Diagnostic]]:
    """Read the YAML documents in `text`; `path` is what positions call the file.

    Documents without content are dropped. All errors of the file are returned together, in the
    order of their places; invalid syntax (CP101) and excess (CP106) end the reading. With errors,
    the documents are whole but for what was refused: an ambiguous scalar is its text, a value
    without a usable key is missing.
    """
    reader = _Reader(path, text.removeprefix("\ufeff"))
    # Reading makes no cycles, but many objects that the collector would walk again and again: a
    # third of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        reader.report(*yaml_text.oddities(reader.text))
        loader = LOADER(reader.text)
        reader.compose(iter(loader.get_event, None))
        reader.report(*yaml_text.tabs(reader.text))
    except yaml.YAMLError as error:
        reader.report(yaml_text.syntax_problem(reader.text, error))
    except _Stop:
        pass
    finally:
        if collecting:
            gc.enable()
    return reader.sources, sorted(reader.diagnostics, key=lambda d: d.position or ())


class _Reader:
    """Reads one file. A frame of `_stack` is an open container, its marks, where its child goes and
    its next key.
    """

    __slots__ = ("_dropped", "_known", "_marks", "_stack", "diagnostics", "path", "sources", "text")

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.sources: list[Source] = []
        self.diagnostics: list[Diagnostic] = []
        # unquoted scalars seen so far: most texts of a file repeat
        self._known: dict[str, Any] = dict(WORDS)
        self._marks: Marks = {}
        self._stack: list[tuple[Any, dict[Any, Mark], Any, Any]] = []
        # values without a usable key
        self._dropped: list[tuple[dict[Any, Any], dict[Any, Mark], int]] = []

    def compose(self, events: Iterable[Any]) -> None:
        """Build the documents; `data` is the innermost open container and `key` is None where a key
        comes next.

        A document counts as a list of one item, its root. This loop is what reading a large file
        spends its time in.
        """
        known, count = self._known, 0
        data: Any = []
        places: dict[Any, Mark] = {}
        key: Any = _ITEM
        key_place = _NOWHERE
        for event in events:
            kind = event.__class__
            count += 1
            if count > MAX_VALUES:
                self._stop(
                    (event.start_mark.line, event.start_mark.column, 0),
                    "keys and values",
                    MAX_VALUES,
                )
            if kind is ScalarEvent:
                start, end = event.start_mark, event.end_mark
                line = start.line
                place = (
                    (line, start.column, end.column)
                    if end.line == line
                    else self._first_line(start)
                )
                value = known.get(event.value, known) if event.implicit[0] else known
                if value is known or event.anchor or event.tag:
                    value = self._read_scalar(event, place)
            elif kind is AliasEvent:
                value, place = None, self._refuse_alias(event)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                data, places, key = self._open(event, data, places, key, key_place)
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                count -= 1
                data, places, key = self._close(event)
                continue
            else:
                data, places = self._turn_document(event, data, places)
                continue
            if key is None:
                key_place = place
                usable = value.__class__ is str and value not in data
                key = value if usable else self._refuse_key(event, value, place, data, places)
            elif key is _ITEM:
                places[len(data)] = Mark(_NOWHERE, place)
                data.append(value)
            else:
                data[key] = value
                places[key] = Mark(key_place, place)
                key = None

    def _open(
        self, event: Any, data: Any, places: dict[Any, Mark], key: Any, key_place: Place
    ) -> tuple[Any, dict[Any, Mark], Any]:
        """Put an empty container at `key` of `data`, or at its end, and go into it."""
        start, end = event.start_mark, event.end_mark
        place = (start.line, start.column, end.column if end.line == start.line else start.column)
        mapping = event.__class__ is MappingStartEvent
        if event.anchor or event.tag:
            self._refuse_properties(event)
        if len(self._stack) == MAX_DEPTH:
            self._stop(place, "levels of nesting", MAX_DEPTH)
        next_key = None
        # the container is itself a key: its value will come to the same unusable place
        if key is None:
            key = next_key = self._refuse_key(event, None, place, data, places)
            key_place = place
        child: Any = {} if mapping else []
        if key is _ITEM:
            self._stack.append((data, places, len(data), _ITEM))
            places[len(data)] = Mark(_NOWHERE, place)
            data.append(child)
        else:
            self._stack.append((data, places, key, next_key))
            places[key] = Mark(key_place, place)
            data[key] = child
        marks: dict[Any, Mark] = {}
        self._marks[id(child)] = marks
        return child, marks, None if mapping else _ITEM

    def _close(self, event: Any) -> tuple[Any, dict[Any, Mark], Any]:
        """Leave a container. One in brackets on one line is marked up to its closing bracket."""
        data, places, slot, key = self._stack.pop()
        start, end = event.start_mark, event.end_mark
        if end.column > start.column:  # the end of a block has no width
            mark = places[slot]
            if mark.value[0] == end.line:
                places[slot] = Mark(mark.key, (end.line, mark.value[1], end.column))
        return data, places, key

    def _turn_document(
        self, event: Any, data: list[Any], places: dict[Any, Mark]
    ) -> tuple[list[Any], dict[Any, Mark]]:
        """Begin a document, or end one and keep it when it is a mapping."""
        if event.__class__ is DocumentEndEvent:
            for mapping, marks, key in self._dropped:
                mapping.pop(key, None)
                marks.pop(key, None)
            root, place = data[0], places[0].value
            if isinstance(root, dict):
                self.sources.append(Source(self.path, root, self._marks, place[:2]))
            elif root is not None:
                self._report(
                    "CP107", place, what=f"the document is {_kind(root)}, where a mapping is wanted"
                )
        self._marks, self._dropped = {}, []
        return [], {}

    def _read_scalar(self, event: Any, place: Place) -> bool | int | str | None:
        """The value of a scalar that is quoted, new, or has an anchor or tag."""
        text: str = event.value
        if len(text) > MAX_SCALAR:
            self._stop(place, "characters in one scalar", MAX_SCALAR)
        if event.anchor or event.tag:
            self._refuse_properties(event)
        if not event.implicit[0] or event.tag:
            return text
        value = read_plain(text)
        if isinstance(value, Refusal):
            self._report(value.code, place, **value.values)
            return text
        return self._known.setdefault(text, value)

    def _refuse_key(
        self, event: Any, value: object, place: Place, data: Any, places: dict[Any, Mark]
    ) -> int:
        """Report an unusable key; the one returned keeps its value apart from all others until the
        document ends.
        """
        if isinstance(value, str):
            first = Label(self._position(places[value].key), "first written here")
            self._report("CP102", place, labels=[first], key=clip(value))
        elif event.__class__ is ScalarEvent:
            shown = clip(event.value) or "of no characters"
            self._report(
                "CP107", place, what=f"the key {shown} is {_kind(value)}, where text is wanted"
            )
        elif event.__class__ is not AliasEvent:
            kind = "mapping" if event.__class__ is MappingStartEvent else "list"
            self._report("CP107", place, what=f"a {kind} stands where a key is wanted")
        self._dropped.append((data, places, len(self._dropped)))
        return len(self._dropped) - 1

    def _refuse_properties(self, event: Any) -> None:
        """Report the anchor and the tag before a value, as written."""
        start = event.start_mark
        written = _PROPERTY.match(self.text, start.index)
        while written:
            column = start.column + written.start(1) - start.index
            what = "anchor" if written[1][0] == "&" else "tag"
            self._report(
                "CP105",
                (start.line, column, column + len(written[1])),
                what=what,
                text=clip(written[1]),
            )
            written = _PROPERTY.match(self.text, written.end())

    def _refuse_alias(self, event: Any) -> Place:
        start = event.start_mark
        place = (start.line, start.column, event.end_mark.column)
        self._report("CP105", place, what="alias", text=clip(f"*{event.anchor}"))
        return place

    def report(self, *problems: Problem) -> None:
        """Report what is wrong with the text; half of a character ends the reading."""
        for each in problems:
            labels = [Label(self._position(place), text) for place, text in each.labels]
            self._report(each.code, each.place, labels, **each.values)
            if each.ends_reading:
                raise _Stop

    def _report(self, code: str, place: Place, labels: Iterable[Label] = (), **values: Any) -> None:
        if len(self.diagnostics) >= MAX_ERRORS and code != "CP101":
            self._stop(place, "errors", MAX_ERRORS)
        self.diagnostics.append(diagnose(code, self._position(place), labels=labels, **values))

    def _stop(self, place: Place, what: str, limit: int) -> NoReturn:
        self.diagnostics.append(_too_large(self._position(place), what, limit))
        raise _Stop

    def _position(self, place: Place) -> Position:
        return Position(self.path, place[0] + 1, place[1] + 1, place[2] + 1)

    def _first_line(self, start: Any) -> Place:
        """The place of a scalar of several lines: its first."""
        end = BREAK.search(self.text, start.index)
        return (
            start.line,
            start.column,
            start.column + (end.start() if end else len(self.text)) - start.index,
        )


def _too_large(position: Position, what: str, limit: int) -> Diagnostic:
    return diagnose("CP106", position, what=what, limit=limit)


def _kind(value: object) -> str:
    names = {bool: "a boolean", int: "a number", str: "text", list: "a list", dict: "a mapping"}
    return names.get(type(value), "null")
