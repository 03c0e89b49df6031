"""YAML that was written here, read back: its values, and whether it is what is written of them.

An entry of a block mapping or list has the same value whatever stands above and below it: it ends
where a line begins at its own column or before, and nothing that is written here refers to another
entry (anchors) or to the document (directives, tags). So a text is read and compared entry by
entry, each entry once, however many files it is in. What cannot be divided like this is read as a
whole; an entry that is wrong alone, such as half of a text in quotes, is wrong in its file too.
"""

import operator
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import yaml
from yaml.resolver import Resolver

from cpuplan.base.composer import LOADER
from cpuplan.base.emit import to_yaml

_TEXT, _LIST, _MAPPING = (f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map"))
#: Shorter texts are not divided: looking for entries takes longer than reading them.
_SHORT = 400
#: Entries that are remembered: those of some hundred files.
_MOST = 1 << 13
#: Between two documents; no line of a value begins at the first column.
_MARK = re.compile(r"^---\n", re.MULTILINE)
#: A list of plain words, such as the nodes of a class, of which no other file has one.
_NAMES = re.compile(r"(?: *- [a-z][a-z0-9.-]*\n)+")
_COMMENTS = re.compile(r"(?: *#.*\n)+")


class _Loader(LOADER):  # type: ignore[misc]  # of one of two classes
    """PyYAML's, which asks two functions for each node about paths that no one defines, and one for
    the tag of each text.
    """

    descend_resolver = staticmethod(operator.is_)
    ascend_resolver = staticmethod(tuple)
    resolve = staticmethod(lru_cache(maxsize=_MOST)(Resolver().resolve))


class Written(NamedTuple):
    """What a text says. The value is shared by all that read the same text: never changed."""

    value: Any
    #: Whether the text, but for its comments, is what is written of the value.
    is_canonical: bool


def document(data: bytes) -> Written:
    """What a YAML document says; ValueError for what cannot be read."""
    text = data.decode()
    try:
        written = read(text)
    except ValueError:
        _parse(text)  # whose message has the line in the whole text
        raise
    return written if _stands_at(text) == 0 else written._replace(is_canonical=False)


def documents(data: bytes) -> Written:
    """The same of a file of several documents, whose value is the list of theirs."""
    found = [document(text.encode()) for text in _MARK.split(data.decode())]
    return Written([one.value for one in found], all(one.is_canonical for one in found))


@lru_cache(maxsize=_MOST)
def read(text: str) -> Written:
    """The value of a YAML document, or of an entry at its column; ValueError for what is none."""
    if len(text) < _SHORT:
        return _read_whole(text)
    comments = _COMMENTS.match(text)
    if comments:
        return read(text[comments.end() :])
    if _NAMES.fullmatch(text):
        return _read_whole(text)
    entries = list(_entries(text))
    if len(entries) == 1:
        return _of_list(text) or _of_mapping(text) or _read_whole(text)
    return _joined([read(entry) for entry in entries]) or _read_whole(text)


def _column(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


@lru_cache
def _begin(column: int, is_list: bool) -> re.Pattern[str]:
    """Where entries begin after the first.

    The dashes of a list stand at the column of its key; a colon there belongs to a long key. The
    pattern begins with a text, which `re` finds fifty times as fast as the begin of a line.
    """
    first = "- " if is_list else r"(?!- )[^ #:\n]"
    return re.compile("\n" + " " * column + first)


def _entries(text: str) -> Iterator[str]:
    column = _column(text)
    begin = _begin(column, text.startswith("- ", column))
    starts = [0, *(match.start() + 1 for match in begin.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield text[start:end]


def _joined(entries: Sequence[Written]) -> Written | None:
    """The mapping or list with these entries; None where they are not of one kind."""
    is_canonical = all(entry.is_canonical for entry in entries)
    if all(isinstance(entry.value, list) for entry in entries):
        items = [item for entry in entries for item in entry.value]
        return Written(items, is_canonical)
    if not all(isinstance(entry.value, dict) for entry in entries):
        return None
    made: dict[str, Any] = {}
    for entry in entries:
        made |= entry.value
    return Written(made, is_canonical) if len(made) == len(entries) else None


def _of_list(text: str) -> Written | None:
    """A list of one mapping, which is read without the dash before its first key."""
    column = _column(text)
    if not re.compile(r"- [A-Za-z]").match(text, column):
        return None
    value, is_canonical = read(f"{text[:column]}  {text[column + 2 :]}")
    return Written([value], is_canonical) if isinstance(value, dict) else None


def _of_mapping(text: str) -> Written | None:
    """A mapping with one key, and below it a list or mapping."""
    line, _, below = text.partition("\n")
    if not (line.endswith(":") and below.strip()):
        return None
    column = _column(text)
    key, is_key_canonical = _read_key(line)
    if not isinstance(key, dict):
        return None
    value, is_canonical = read(below)
    return Written(
        dict.fromkeys(key, value),
        is_key_canonical and is_canonical and _stands_at(below) == _place(value, column),
    )


@lru_cache(maxsize=_MOST)
def _read_key(line: str) -> Written:
    """A mapping of the key on a line; it has the same form whatever is below it."""
    return _read_whole(f"{line}\n{' ' * _column(line)}- 0\n")


def _place(value: object, column: int) -> int | None:
    """The column of what is below a key; None for what would stand on the line of the key."""
    if isinstance(value, dict):
        return column + 2
    return column if isinstance(value, list) else None


def _stands_at(text: str) -> int:
    """The column of the first line that is not a comment."""
    comments = _COMMENTS.match(text)
    return _column(text[comments.end() :] if comments else text)


def _read_whole(text: str) -> Written:
    value = _parse(text)
    try:
        written = to_yaml(value)
    except (TypeError, ValueError):
        return Written(value, False)
    if written == text:
        return Written(value, True)
    lines = _lines(text)
    indent = " " * _stands_at(text)
    made = [f"{indent}{line}" if line else "" for line in _lines(written)]
    return Written(value, made == lines)


def _lines(text: str) -> list[str]:
    """Without comments."""
    lines = text.splitlines()
    return [line for line in lines if "#" not in line or not line.lstrip().startswith("#")]


def _parse(text: str) -> Any:
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        return node and _construct(loader, node)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _construct(loader: Any, node: yaml.Node) -> Any:
    """The value of a node, as the constructors of PyYAML's `loader` make it.

    Texts, and lists and mappings of them, are most of a file. They are made here, as PyYAML's
    generators take five times as long.
    """
    kind, tag = node.__class__, node.tag
    if kind is yaml.ScalarNode and tag == _TEXT:
        return node.value
    if kind is yaml.SequenceNode and tag == _LIST:
        return [_construct(loader, item) for item in node.value]
    if kind is yaml.MappingNode and tag == _MAPPING:
        return _mapping(loader, node)
    return loader.construct_object(node, deep=True)


def _mapping(loader: Any, node: yaml.Node) -> Any:
    made = {}
    for key, value in node.value:
        if key.tag != _TEXT or key.__class__ is not yaml.ScalarNode:
            return loader.construct_object(node, deep=True)
        made[key.value] = _construct(loader, value)
    return made
