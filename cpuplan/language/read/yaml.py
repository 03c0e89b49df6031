"""The strict YAML reader: text to Sources, with the place of every key and value.

It takes the subset of YAML that all readers understand alike, and reports everything else in one
run.

For the meaning of unquoted scalars, compared are YAML 1.1 (https://yaml.org/type/, as PyYAML reads
it) and the core schema of YAML 1.2 (section 10.3.2; `_` and a sign before `0o` as ruamel reads
them). Only where both give the same, and the same text again when written, is a scalar taken: true,
false, null, decimal whole numbers, text.
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import yaml
from yaml.events import AliasEvent, MappingStartEvent, ScalarEvent
from yaml.reader import ReaderError

from cpuplan.base.files import MAX_BYTES, Name, TooLarge, Unreadable, note, read_regular
from cpuplan.base.patterns import expression
from cpuplan.base.text import SHOWN, clip
from cpuplan.base.yaml_values import LOADER, Builder, Container, ExcessError, Limits, compose
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.diagnostics.source import Mark, Marks, Position, Source
from cpuplan.language.read.files import refusal

#: Unquoted words that both versions read alike.
WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class Refusal(NamedTuple):
    """A scalar that is not taken: the code that says why and the values for its wording."""

    code: str
    values: dict[str, Any]


#: What YAML 1.1 makes of words that are text to YAML 1.2, and how to write that so that both
#: understand it.
_WORDS_11 = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), ("true", "true")),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), ("false", "false")),
    "<<": ("a merge of another mapping", "the merged keys out"),
    "=": ("the default value of its mapping", "the value out"),
}

_MAX_INT = 2**63 - 1  # what Go and JSON readers hold without rounding

_INT = expression(r"0|-?[1-9][0-9]*")
_DIGITS = expression(r"[-+]?[0-9]+")
_OCTAL_12 = expression(r"[-+]?0o[0-7]+")
_HEX_12 = expression(r"0x[0-9a-fA-F]+")
_FLOAT_12 = expression(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)

_BINARY_11 = expression(r"[-+]?0b[01_]+")
_OCTAL_11 = expression(r"[-+]?0[0-7_]+")
_HEX_11 = expression(r"[-+]?0x[0-9a-fA-F_]+")
_DECIMAL_11 = expression(r"[-+]?[1-9][0-9_]*")
_BASE60_11 = expression(
    r"[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*"
)
_FLOAT_11 = expression(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?")
_DATE_11 = expression(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ "
    r"\t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?)?"
)


def read_plain(text: str) -> bool | int | str | Refusal | None:
    """The value of the unquoted scalar `text`."""
    if text in WORDS:
        return WORDS[text]
    if text in _WORDS_11:
        first, plain = _WORDS_11[text]
        return _ambiguous(text, first, "text", plain)
    if text[0] not in "+-.0123456789":
        return text
    # Lengths before int(): Python refuses to convert more than 4300 digits, and 2 MiB of them would
    # take seconds.
    if _INT.fullmatch(text) and len(text) <= 20 and -_MAX_INT <= (number := int(text)) <= _MAX_INT:
        return number
    return _read_number_like(text)


def _read_number_like(text: str) -> str | Refusal:
    first, second = _number_11(text), _number_12(text)
    if _FLOAT_12.fullmatch(text) and (first == second or not _DIGITS.fullmatch(text)):
        return _lossy(text, _float_words(text))
    if first == second:
        return text if first is None else _lossy(text, first.removeprefix("the number "))
    readings = [
        words for words in (first, second) if words is not None and words.startswith("the number ")
    ]
    plain = " or ".join(words.removeprefix("the number ") for words in readings)
    return _ambiguous(text, first or "text", second or "text", plain)


def _number_11(text: str) -> str | None:
    """What YAML 1.1 makes of `text`, in words; None when it is text."""
    digits = text.replace("_", "")
    for pattern, base in (_BINARY_11, 2), (_OCTAL_11, 8), (_HEX_11, 16), (_DECIMAL_11, 10):
        if pattern.fullmatch(text):
            return _int_words(digits, base)
    if re.fullmatch(r"[-+]?0", text):
        return "the number 0"
    if _BASE60_11.fullmatch(text):
        return _base60_words(digits)
    if _FLOAT_11.fullmatch(text):
        return f"the number {_float_words(digits)}"
    return "a date" if _DATE_11.fullmatch(text) else None


def _number_12(text: str) -> str | None:
    """What YAML 1.2 makes of `text`, in words; None when it is text."""
    for pattern, base in (_DIGITS, 10), (_OCTAL_12, 8), (_HEX_12, 16):
        if pattern.fullmatch(text):
            return _int_words(text, base)
    return None


def _int_words(digits: str, base: int) -> str:
    if len(digits) > SHOWN:
        return f"a number in base {base}"
    try:
        return f"the number {int(digits, base)}"
    except ValueError:  # a prefix without digits, as in 0x_
        return f"a number in base {base}"


def _float_words(text: str) -> str:
    if text[-1] in "nN":
        return "not-a-number"
    number = float(text.replace(".", "") if text[-1] in "fF" else text) + 0  # + 0 makes 0 of -0
    return f"{number:.15g}".replace("inf", "infinity")


def _base60_words(digits: str) -> str:
    if len(digits) > SHOWN:
        return "a number in base 60"
    value = 0.0
    for part in digits.lstrip("+-").split(":"):
        value = value * 60 + float(part)
    return f"the number {'-' if digits[0] == '-' else ''}{value:.15g}"


def _ambiguous(text: str, first: str, second: str, plain: str) -> Refusal:
    shown = clip(text)
    alternative = f"; otherwise write {plain}" if plain else ""
    values = {
        "text": shown,
        "first": first,
        "second": second,
        "quoted": f'"{shown}"',
        "alternative": alternative,
    }
    return Refusal("CP103", values)


def _lossy(text: str, value: str) -> Refusal:
    shown = clip(text)
    return Refusal("CP104", {"text": shown, "value": value, "quoted": f'"{shown}"'})


#: What libyaml counts as the end of a line.
BREAK = expression(r"\r\n|[\n\r\x85\u2028\u2029]")
_TAB_OR_BREAK = expression(r"\t|\r\n|[\n\r\x85\u2028\u2029]")
_COMMENT = expression(r"(?<=[ \t\n\r\x85\u2028\u2029])#")
_CONFLICT = expression(r"^<{7} ", re.MULTILINE)

#: Line, first and last column, from 0.
Place = tuple[int, int, int]


class Problem(NamedTuple):
    """A diagnostic without the file's name; `labels` are places with a few words."""

    code: str
    place: Place
    values: dict[str, Any]
    labels: Sequence[tuple[Place, str]] = ()
    ends_reading: bool = False


def oddities(text: str) -> Iterator[Problem]:
    """Byte order marks and line ends of YAML 1.1 (section 4.2), which libyaml takes, 1.2 not."""
    if text.isascii():
        return
    line = start = 0
    for match in re.finditer("\r\n|[\n\r\x85\u2028\u2029\ufeff\ud800-\udfff]", text):
        code = ord(match[0][0])
        shown, column = f"U+{code:04X}", match.start() - start
        place = (line, column, column + 1)
        if 0xD800 <= code <= 0xDFFF:
            yield Problem(
                "CP101", place, {"problem": f"{shown} is half of a character"}, ends_reading=True
            )
        if code == 0xFEFF:
            problem = f"{shown}, a byte order mark, is allowed only at the start of a file"
            yield Problem("CP101", place, {"problem": problem})
            continue
        if code > 0x7F:
            meant = {
                "quoted": f'"\\u{code:04x}"',
                "alternative": "; otherwise end the line as usual",
            }
            yield Problem(
                "CP103",
                place,
                {"text": shown, "first": "the end of a line", "second": "text", **meant},
            )
        line, start = line + 1, match.end()


def tabs(text: str) -> Iterator[Problem]:
    """Tabs outside of quotes, block texts and comments: libyaml takes them, some readers do not."""
    if "\t" not in text:
        return
    kept = [
        (token.start_mark.index, token.end_mark.index)
        for token in yaml.scan(text, LOADER)
        if isinstance(token, yaml.ScalarToken) and not token.plain
    ]
    line = start = index = 0
    for match in _TAB_OR_BREAK.finditer(text):
        at = match.start()
        while index < len(kept) and kept[index][1] <= at:
            index += 1
        if match[0] != "\t":
            line, start = line + 1, match.end()
        elif not (index < len(kept) and kept[index][0] <= at) and not _is_comment(
            text, start, at, kept, index
        ):
            yield Problem("CP113", (line, at - start, at - start + 1), {})


def _is_comment(
    text: str, start: int, at: int, kept: Sequence[tuple[int, int]], index: int
) -> bool:
    """Whether a comment begins in the line from `start` before `at`, after the last quoted text."""
    begin = max(start, kept[index - 1][1]) if index else start
    return bool(_COMMENT.search(text, begin, at)) or text[begin : begin + 1] == "#"


def syntax_problem(text: str, error: yaml.YAMLError) -> Problem:
    """What stopped the parser."""
    if conflict := _CONFLICT.search(text):
        return Problem(
            "CP101", _place(text, conflict.start()), {"problem": "Git left a merge conflict here"}
        )
    if isinstance(error, ReaderError):
        index = error.position
        if error.encoding != "unicode":  # libyaml counts bytes
            index = len(text.encode()[:index].decode(errors="ignore"))
        return Problem(
            "CP101", _place(text, index), {"problem": f"{error.reason} (U+{error.character:04X})"}
        )
    if (
        not isinstance(error, yaml.MarkedYAMLError)
        or (mark := error.problem_mark or error.context_mark) is None
    ):
        return Problem("CP101", (0, 0, 0), {"problem": str(error)})
    labels = []
    context = re.sub("^while (parsing|scanning) ", "", error.context or "")
    if error.context_mark and error.context_mark.index < mark.index:
        labels.append((_place(text, error.context_mark.index), f"{context} starts here"))
    problem = error.problem or context
    character = text[mark.index : mark.index + 1]
    if "flow" in context and character in ("[", "{"):
        problem += f"; a text with {character} in it, such as a range of names, needs quotes here"
    if "cannot start any token" in problem:
        problem = (
            "a tab is not allowed as indentation"
            if character == "\t"
            else f"an unquoted value cannot start with {character!r}"
        )
    index = min(mark.index, len(text.rstrip()))
    return Problem("CP101", _place(text, index), {"problem": problem}, labels)


def _place(text: str, index: int) -> Place:
    """The place of the character at `index` of the text."""
    lines = BREAK.split(text[:index])
    return len(lines) - 1, len(lines[-1]), len(lines[-1]) + 1


MAX_SCALAR = 1024 * 1024
MAX_ERRORS = 1000

_NOWHERE = (-1, -1, -1)
_PROPERTY = expression(r"[ \t]*([&!][^\s,\[\]{}]*)")
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
        """The document as a Source; None for one without content, or that is not a mapping.

        A JSON patch (RFC 6902) lies beside what it changes, and is none of our documents.
        """
        marks, self.marks = self.marks, {}
        root, place = document.value[0], marks[id(document.value)][0].value
        if isinstance(root, dict):
            return Source(self.path, root, marks, place[:2])
        if root is not None and not _is_patch(root):
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


def _is_patch(root: Any) -> bool:
    """Whether a document is a list of the operations of a JSON patch, and of nothing else."""
    return isinstance(root, list) and all(
        isinstance(item, dict) and item.get("op") in _OPERATIONS and "path" in item for item in root
    )


def too_large(position: Position, what: str, limit: int) -> Diagnostic:
    """CP106."""
    return diagnose("CP106", position, what=what, limit=limit)


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "null")


_OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")
LIMITS = Limits(values=2_000_000, depth=64)


def read(
    path: Path, name: str, *, within: Name | None = None
) -> tuple[list[Source], list[Diagnostic]]:
    """Read the documents of the file at `path`; `name` is what messages call it.

    No link may lead out of the folder `within`. See `parse`.
    """
    try:
        data = read_regular(path, within=within, limit=MAX_BYTES)
    except TooLarge:
        return [], [too_large(Position(name, 1, 1), "bytes", MAX_BYTES)]
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
    note(path)
    builder = DocumentBuilder(path, text.removeprefix("\ufeff"))
    sources = []
    try:
        builder.report(*oddities(builder.text))
        for document in compose(LOADER(builder.text), builder, LIMITS):
            source = builder.source(document)
            sources += [source] if source else []
        if not path.endswith(".json"):  # no reader of JSON refuses tabs
            builder.report(*tabs(builder.text))
    except ExcessError as error:
        builder.refuse_excess(error)
    except yaml.YAMLError as error:
        builder.report(syntax_problem(builder.text, error))
    except Stop:
        pass
    return sources, sorted(builder.diagnostics, key=lambda diagnostic: diagnostic.position or ())
