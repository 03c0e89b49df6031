"""Documents of YAML's events, with a mark for every key and value; what is wrong is noted."""

import re
from collections.abc import Iterable
from typing import Any, NoReturn

from yaml.events import AliasEvent, MappingStartEvent, ScalarEvent

from cpuplan.base.composer import Builder, Container, ExcessError
from cpuplan.base.text import clip
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Mark, Marks, Position, Source
from cpuplan.language.read.scalars import WORDS, Refusal, read_plain
from cpuplan.language.read.yaml_text import BREAK, Place, Problem

MAX_SCALAR = 1024 * 1024
MAX_ERRORS = 1000

_NOWHERE = (-1, -1, -1)
_PROPERTY = re.compile(r"[ \t]*([&!][^\s,\[\]{}]*)")
_KINDS = {bool: "a boolean", int: "a number", str: "text", list: "a list", dict: "a mapping"}


class Stop(Exception):  # noqa: N818  not an error of the program: the rest of the file is not read
    """Too much was found."""


class DocumentBuilder(Builder):
    """Makes the documents of one file."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.diagnostics: list[Diagnostic] = []
        self.marks: Marks = {}  # of the document that is being read
        # unquoted scalars seen so far: most texts of a file repeat
        self._known: dict[str, Any] = dict(WORDS)

    def source(self, document: Container) -> Source | None:
        """The document as a Source; None for one without content, or that is not a mapping."""
        marks, self.marks = self.marks, {}
        root, place = document.value[0], marks[id(document.value)][0].value
        if isinstance(root, dict):
            return Source(self.path, root, marks, place[:2])
        if root is not None:
            what = f"the document is {_kind(root)}; it must be a mapping"
            self._report("CP107", place, what=what)
        return None

    def document(self) -> "_List":
        """A list of one item, the root."""
        return _List(self)

    def mapping(self, event: Any) -> "_Mapping":
        """An empty mapping."""
        if event.anchor or event.tag:
            self._refuse_properties(event)
        return _Mapping(self)

    def sequence(self, event: Any) -> "_List":
        """An empty list."""
        if event.anchor or event.tag:
            self._refuse_properties(event)
        return _List(self)

    def scalar(self, event: Any) -> bool | int | str | None:
        """The value of a scalar; its text where it is refused."""
        text: str = event.value
        if event.implicit[0] and text in self._known and not event.anchor:
            value: bool | int | str | None = self._known[text]
            return value
        if len(text) > MAX_SCALAR:
            self._stop(self.place(event), "characters in one scalar", MAX_SCALAR)
        if event.anchor or event.tag:
            self._refuse_properties(event)
        if not event.implicit[0] or event.tag:
            return text
        plain = read_plain(text)
        if isinstance(plain, Refusal):
            self._report(plain.code, self.place(event), **plain.values)
            return text
        self._known[text] = plain
        return plain

    def alias(self, event: Any, _value: Any) -> None:
        """Refuse an alias."""
        self._report("CP105", self.place(event), what="alias", text=clip(f"*{event.anchor}"))

    def place(self, event: Any) -> Place:
        """Where a value stands, on the line that it begins on."""
        start, end = event.start_mark, event.end_mark
        line, column = start.line, start.column
        if end.line == line:
            return line, column, end.column
        if event.__class__ is not ScalarEvent:
            return line, column, column
        ending = BREAK.search(self.text, start.index)
        return line, column, column + (ending.start() if ending else len(self.text)) - start.index

    def refuse_key(self, key: object, event: Any, marks: dict[Any, Mark]) -> None:
        """Report a key that is not text, or that the mapping with these marks has already."""
        kind = event.__class__
        if isinstance(key, str):
            first = Label(self._position(marks[key].key), "first written here")
            self._report("CP102", self.place(event), labels=[first], key=clip(key))
        elif kind is ScalarEvent:
            shown = clip(event.value) or "of no characters"
            what = f"the key {shown} is {_kind(key)}; it must be text"
            self._report("CP107", self.place(event), what=what)
        elif kind is not AliasEvent:
            name = "mapping" if kind is MappingStartEvent else "list"
            self._report("CP107", self.place(event), what=f"a {name} is used as a key")

    def refuse_excess(self, error: ExcessError) -> None:
        """Report that the file has more than it may."""
        position = self._position(self.place(error.event))
        self.diagnostics.append(too_large(position, error.what, error.limit))

    def report(self, *problems: Problem) -> None:
        """Report what is wrong with the text; half of a character ends the reading."""
        for problem in problems:
            labels = [Label(self._position(place), text) for place, text in problem.labels]
            self._report(problem.code, problem.place, labels, **problem.values)
            if problem.ends_reading:
                raise Stop

    def _refuse_properties(self, event: Any) -> None:
        """Report the anchor and the tag before a value, as written."""
        start = event.start_mark
        written = _PROPERTY.match(self.text, start.index)
        while written:
            text = written[1]
            column = start.column + written.start(1) - start.index
            what = "anchor" if text[0] == "&" else "tag"
            place = (start.line, column, column + len(text))
            self._report("CP105", place, what=what, text=clip(text))
            written = _PROPERTY.match(self.text, written.end())

    def _report(self, code: str, place: Place, labels: Iterable[Label] = (), **values: Any) -> None:
        if len(self.diagnostics) >= MAX_ERRORS and code != "CP101":
            self._stop(place, "errors", MAX_ERRORS)
        self.diagnostics.append(diagnose(code, self._position(place), labels=labels, **values))

    def _stop(self, place: Place, what: str, limit: int) -> NoReturn:
        self.diagnostics.append(too_large(self._position(place), what, limit))
        raise Stop

    def _position(self, place: Place) -> Position:
        return Position(self.path, place[0] + 1, place[1] + 1, place[2] + 1)


class _List(Container):
    """An open list, or a document."""

    def __init__(self, builder: DocumentBuilder) -> None:
        self.value: list[Any] = []
        self._marks: dict[Any, Mark] = {}
        builder.marks[id(self.value)] = self._marks
        self._builder = builder

    def add(self, child: Any, event: Any) -> None:
        """Take the next item."""
        self._marks[len(self.value)] = Mark(_NOWHERE, self._builder.place(event))
        self.value.append(child)

    def end_child(self, event: Any) -> None:
        """Have the mark of the last item reach to its closing bracket."""
        _extend(self._marks, len(self.value) - 1, event)


#: What `_Mapping` has instead of a key where one comes next, and where the last one was refused.
_NONE: Any = object()
_REFUSED: Any = object()


class _Mapping(Container):
    """An open mapping; a value without a usable key is dropped."""

    def __init__(self, builder: DocumentBuilder) -> None:
        self.value: dict[str, Any] = {}
        self._marks: dict[Any, Mark] = {}
        builder.marks[id(self.value)] = self._marks
        self._builder = builder
        self._key = _NONE
        self._key_place: Place = _NOWHERE
        self._last = _NONE  # key of the value that was taken last

    def add(self, child: Any, event: Any) -> None:
        """Take the next key, or its value."""
        if self._key is _NONE:
            self._last = _NONE
            if child.__class__ is str and child not in self.value:
                self._key, self._key_place = child, self._builder.place(event)
            else:
                self._key = _REFUSED
                self._builder.refuse_key(child, event, self._marks)
            return
        if self._key is not _REFUSED:
            self.value[self._key] = child
            self._marks[self._key] = Mark(self._key_place, self._builder.place(event))
            self._last = self._key
        self._key = _NONE

    def end_child(self, event: Any) -> None:
        """Have the mark of the last value reach to its closing bracket."""
        if self._last is not _NONE:
            _extend(self._marks, self._last, event)


def _extend(marks: dict[Any, Mark], slot: Any, end: Any) -> None:
    """Have a list or mapping in brackets on one line be marked up to its end."""
    mark = marks[slot]
    line, column = end.end_mark.line, end.end_mark.column
    # the end of a block has no width
    if column > end.start_mark.column and mark.value[0] == line:
        marks[slot] = Mark(mark.key, (line, mark.value[1], column))


def too_large(position: Position, what: str, limit: int) -> Diagnostic:
    """CP106."""
    return diagnose("CP106", position, what=what, limit=limit)


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "null")
