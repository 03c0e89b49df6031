"""The canonical form of a user's file: keys in the order of the models, comments kept."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import yaml as parser

from cpuplan.language.read import yaml
from cpuplan.language.read.documents import KINDS, schema
from cpuplan.write.comments import (
    MAX_CHARACTERS,
    Block,
    Comment,
    Entry,
    Leaf,
    Remark,
    Tree,
    UnreadableError,
    UnusualError,
    comments,
    read,
    same,
    standing,
    tree,
)

_MODELINE = "# yaml-language-server: $schema=../schemas/{kind}.schema.json"
#: A tree takes about 1.5 kB for each key and value: below 1 GB.
_MAX_VALUES = 400_000
_MAX_TEXT = 4 * 1024 * 1024


class NotFormattable(Exception):  # noqa: N818 - what is the case, not what went wrong
    """A text of which no canonical form is found; says why, and at which comment if at one."""

    def __init__(self, problem: str, comment: Comment | None = None) -> None:
        super().__init__(problem)
        self.comment = comment


def canonical(text: str) -> str:
    """`text` with its keys in order, two blanks of indentation, and the editor's modeline first.

    Takes what `read.yaml` takes. Keeps every value and comment, and leaves alone what it made
    itself. Raises NotFormattable.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > _MAX_TEXT:
        raise NotFormattable(f"it has more than {_MAX_TEXT:,} characters; split it")
    before, problems = yaml.parse("", text)
    if problems:
        raise NotFormattable("it is not valid YAML")
    if sum(_count(source.data) for source in before) > _MAX_VALUES:
        raise NotFormattable(f"it has more than {_MAX_VALUES:,} keys and values; split it")
    if not before:
        return text
    if not text.endswith("\n"):
        text += "\n"
    old, result = _rewritten(text)
    after, problems = yaml.parse("", result)
    if problems or [source.data for source in before] != [source.data for source in after]:
        raise NotFormattable("its values would change")
    new, again = _rewritten(result)
    if result != text:
        _compare(text, result)
        _compare_places(text, old, new)
    if again != result:
        raise NotFormattable("formatting it again would change it")
    kind = before[0].data.get("kind") if isinstance(before[0].data, dict) else None
    if isinstance(kind, str) and kind in KINDS and "yaml-language-server:" not in text:
        result = _MODELINE.format(kind=kind.lower()) + "\n" + result
    return result


def _count(value: Any) -> int:
    """How many keys and values there are; `read.yaml` bounds how deep they are."""
    if isinstance(value, dict):
        return 1 + len(value) + sum(map(_count, value.values()))
    return 1 + sum(map(_count, value)) if isinstance(value, list) else 1


def _rewritten(text: str) -> tuple[Tree, str]:
    """The tree of a text with its keys in order, and the text made of it."""
    try:
        ordered = tree(text)
    except (UnusualError, parser.YAMLError) as error:
        raise NotFormattable(str(error)) from error
    for document in ordered.documents:
        _sort_document(document)
    return ordered, _Writer().write(ordered)


def _compare(text: str, result: str) -> None:
    """Raise NotFormattable unless ruamel.yaml reads the same values and comments in both texts."""
    if max(len(text), len(result)) > MAX_CHARACTERS:
        _compare_comments(list(comments(text)), list(comments(result)))
        return
    try:
        old, new = read(text), read(result)
    except UnreadableError as error:
        raise NotFormattable(f"ruamel.yaml does not read it: {error}") from error
    if not same(old.documents, new.documents):
        raise NotFormattable("its values would change, as ruamel.yaml reads them")
    _compare_comments(old.comments, new.comments)
    if repr(old.documents) != repr(new.documents):
        return  # keys have moved, and comments with them
    for comment, other in zip(old.comments, new.comments, strict=True):
        if comment.text != other.text:
            raise NotFormattable("a comment would stand with something else", comment)


def _compare_comments(old: Iterable[Comment], new: Iterable[Comment]) -> None:
    """Raise NotFormattable unless the comments are the same, in any order."""
    left = Counter(comment.text for comment in new)
    for comment in old:
        left[comment.text] -= 1
        if left[comment.text] < 0:
            raise NotFormattable("a comment would be lost", comment)
    if +left:
        raise NotFormattable("it would have more comments than before")


def _compare_places(text: str, old: Tree, new: Tree) -> None:
    """Raise NotFormattable unless every comment stands with the same entry."""
    stood, stands = list(standing(old)), list(standing(new))
    if stood == stands:
        return
    moved = next((was for was, now in zip(stood, stands, strict=False) if was != now), None)
    own = [comment for comment in comments(text) if moved and comment.text == moved[1]]
    raise NotFormattable("a comment would stand with something else", own[0] if own else None)


def _sort_document(document: Entry) -> None:
    value = document.value
    kind = None
    if isinstance(value, Block) and not value.is_list:
        kinds = [entry.value for entry in value.entries if entry.key == "kind"]
        if kinds and isinstance(kinds[0], Leaf):
            kind = kinds[0].node.value
    elif isinstance(value, Leaf) and isinstance(value.node, parser.MappingNode):
        kind = next((item.value for key, item in value.node.value if key.value == "kind"), None)
    if isinstance(kind, str) and kind in KINDS:
        whole = _schema(kind)
        _sort(value, whole, whole)


@cache
def _schema(kind: str) -> dict[str, Any]:
    """The schema of a kind, of which a file may have many documents."""
    return schema(kind)


def _sort(value: Block | Leaf | None, rules: dict[str, Any], whole: dict[str, Any]) -> None:
    """Put the keys of a value in the order of its schema, each with its comments."""
    rules = _resolve(rules, whole)
    if isinstance(value, Leaf):
        if not value.comments:
            _sort_node(value.node, rules, whole)
    elif value and value.is_list:
        for entry in value.entries:
            _sort(entry.value, rules.get("items", {}), whole)
    elif value:
        order = _order(rules)
        value.entries.sort(key=lambda entry: order.get(entry.key, len(order)))
        for entry in value.entries:
            _sort(entry.value, rules.get("properties", {}).get(entry.key, {}), whole)


def _sort_node(node: Any, rules: dict[str, Any], whole: dict[str, Any]) -> None:
    """The same for what stands in brackets."""
    rules = _resolve(rules, whole)
    if isinstance(node, parser.SequenceNode):
        for item in node.value:
            _sort_node(item, rules.get("items", {}), whole)
    elif isinstance(node, parser.MappingNode):
        order = _order(rules)
        node.value.sort(key=lambda pair: order.get(pair[0].value, len(order)))
        for key, item in node.value:
            _sort_node(item, rules.get("properties", {}).get(key.value, {}), whole)


def _order(rules: dict[str, Any]) -> dict[Any, int]:
    return {key: index for index, key in enumerate(rules.get("properties", {}))}


def _resolve(rules: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in rules:
        return _resolve(whole["definitions"][rules["$ref"].rsplit("/", 1)[1]], whole)
    if "anyOf" in rules:
        forms = [_resolve(form, whole) for form in rules["anyOf"]]
        return next((form for form in forms if "properties" in form or "items" in form), {})
    return rules


class _Writer:
    """Writes a tree: two blanks for each level, dashes below their key, brackets on one line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._is_kept = False  # blank lines that follow would become part of a block scalar

    def write(self, ordered: Tree) -> str:
        """The text of a tree."""
        for document in ordered.documents:
            self._add_all(document.lead, 0)
            if isinstance(document.value, Block):
                self._block(document.value, 0)
            elif document.value:
                self._leaf("", document.value, 0, document.tail, document.more)
            self._add_all(document.foot, 0)
        self._add_all(ordered.end, 0)
        while self._lines and not self._lines[-1] and not self._is_kept:
            self._lines.pop()
        return "\n".join([*self._lines, ""])

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._is_kept = False

    def _add_all(self, lines: Iterable[str], column: int) -> None:
        """Comments and blank lines."""
        for line in lines:
            if line:
                self._add(" " * column + line)
            elif self._lines and not self._is_kept:
                self._add("")

    def _remarked(self, line: str, remark: Remark | None, more: Iterable[str]) -> None:
        """A line with the comment behind it, and those that go on below that."""
        if not remark:
            self._add(line)
            return
        start = line + " " * remark.blanks
        self._add(start + remark.text)
        self._add_all(more, len(start))

    def _block(self, block: Block, column: int) -> None:
        for entry in block.entries:
            self._entry(entry, column)

    def _entry(self, entry: Entry, column: int) -> None:
        self._add_all(entry.lead, column)
        value, label = entry.value, " " * column + entry.label
        inner = column + 2
        if value is None:
            self._remarked(label, entry.head, entry.more)
        elif isinstance(value, Leaf):
            if entry.head or entry.between:
                self._remarked(label, entry.head, ())
                self._add_all(entry.between, inner)
                label = " " * (column + 1)
            self._leaf(label + " ", value, column, entry.tail, entry.more)
        elif entry.label == "-" and not entry.head and not any(value.entries[0].lead):
            value.entries[0].lead.clear()
            first = len(self._lines)
            self._block(value, inner)
            self._lines[first] = f"{label} {self._lines[first][inner:]}"
        else:
            self._remarked(label, entry.head, ())
            self._block(value, column if value.is_list and entry.label != "-" else inner)
        # A comment at the column of a block scalar's text would be a part of it.
        is_text = isinstance(value, Leaf) and _is_block_scalar(value.node)
        self._add_all(entry.foot, column + 1 if is_text else inner)

    def _leaf(
        self, start: str, leaf: Leaf, column: int, tail: Remark | None, more: Iterable[str]
    ) -> None:
        *lines, last = _lines_of(leaf, column, len(start))
        if lines:
            self._add(start + lines[0])
            for line in lines[1:]:
                self._add(line)
            start = ""
        self._remarked(start + last, tail, more)
        header = leaf.text.partition("\n")[0].partition("#")[0]
        self._is_kept = _is_block_scalar(leaf.node) and "+" in header


def _is_block_scalar(node: Any) -> bool:
    return isinstance(node, parser.ScalarNode) and node.style in ("|", ">")


def _lines_of(leaf: Leaf, column: int, start: int) -> list[str]:
    """The lines of a value that begins at `start` below an entry at `column`."""
    if _is_block_scalar(leaf.node):
        return _block_scalar(leaf, column + 2)
    if leaf.comments:
        return _moved(leaf, column, start)
    first, *rest = _inline(leaf, leaf.node).split("\n")
    return [first, *(" " * (column + 2) + line if line else "" for line in rest)]


def _moved(leaf: Leaf, column: int, start: int) -> list[str]:
    """What stands in brackets, with its lines and comments as they are."""
    first, *rest = leaf.text.split("\n")
    lines = [first]
    for line in rest:
        text = line.lstrip(" ")
        least = column if text[:1] in ("]", "}") else column + 1
        wanted = len(line) - len(text) + start - leaf.node.start_mark.column
        lines.append(" " * max(wanted, least) + text if text else "")
    return lines


def _block_scalar(leaf: Leaf, column: int) -> list[str]:
    """A block scalar with its text at `column`."""
    header, *lines = leaf.text.split("\n")
    indicators, mark, comment = header.partition("#")
    value: str = leaf.node.value
    old = _old_indent(lines, value)
    text = [line[old:] for line in lines]
    filled = [line for line in text if line]
    style = indicators[0] + ("2" if filled and filled[0].startswith(" ") else "")
    style += "".join(sign for sign in "+-" if sign in indicators)
    if mark:
        blanks = len(indicators) - len(indicators.rstrip())
        style += " " * max(blanks, 1) + mark + comment.rstrip()
    return [style, *(" " * column + line if line else "" for line in text)]


def _old_indent(lines: Iterable[str], value: str) -> int:
    """How far the lines of a block scalar are indented beyond its value."""
    for line, text in zip(_filled(lines), _filled(value.split("\n")), strict=False):
        return _blanks(line) - _blanks(text)
    return max((len(line) for line in lines), default=0)


def _filled(lines: Iterable[str]) -> Iterator[str]:
    return (line for line in lines if line.strip())


def _blanks(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _inline(leaf: Leaf, node: Any) -> str:
    """A value in brackets or a scalar, on one line if it can be; else lines without indentation."""
    base = leaf.node.start_mark.index
    raw = leaf.text[node.start_mark.index - base : node.end_mark.index - base]
    if isinstance(node, parser.ScalarNode):
        return _joined(raw, node.style) if raw else "null"
    if isinstance(node, parser.SequenceNode):
        return "[" + ", ".join(_inline(leaf, item) for item in node.value) + "]"
    return "{" + ", ".join(_pair(leaf, key, item) for key, item in node.value) + "}"


def _pair(leaf: Leaf, key: Any, item: Any) -> str:
    name = _inline(leaf, key)
    if key.start_mark.line != key.end_mark.line:
        raise NotFormattable(f"a key has more than one line (line {key.start_mark.line + 1})")
    return f"{name}: {_inline(leaf, item)}"


def _joined(raw: str, style: str | None) -> str:
    """A scalar on one line, but for one with blank lines or with an escaped line end."""
    lines = raw.split("\n")
    if len(lines) == 1:
        return raw
    first, *rest = [line.strip(" \t") for line in lines]
    if not all(rest[:-1]) or (style == '"' and "\\\n" in raw):
        return "\n".join([lines[0], *(line.lstrip(" \t") for line in lines[1:])])
    return " ".join([first, *rest])
