"""A YAML text as a tree of entries, each with its comments, and as ruamel.yaml reads it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import yaml

from cpuplan.base.yaml_values import LOADER

#: An entry: the number of its document, and the keys and numbers down to it.
Path: TypeAlias = tuple[str | int, ...]

#: What begins a line between documents that is no comment.
_MARKERS = ("---", "...", "%")


class Comment(NamedTuple):
    """A comment: its line and column, from 1, and its text from the `#` on."""

    line: int
    column: int
    text: str


class Remark(NamedTuple):
    """A comment behind something in its line, and the blanks before it."""

    blanks: int
    text: str


class UnusualError(Exception):
    """A text that has no tree; says why."""


class Leaf(NamedTuple):
    """A scalar, or what stands in brackets: its node, its text, and the comments in it."""

    node: Any
    text: str
    comments: tuple[str, ...]


@dataclass(slots=True)
class Block:
    """A mapping or list that has a line, or more, for each entry."""

    column: int
    is_list: bool
    entries: "list[Entry]" = field(default_factory=list)


@dataclass(slots=True)
class Entry:
    """A key or dash with its value. Of lines, an empty one is a blank line."""

    key: str | int
    label: str
    value: Block | Leaf | None = None
    lead: list[str] = field(default_factory=list)  # lines above it
    head: Remark | None = None  # behind the key or dash
    between: list[str] = field(default_factory=list)  # lines between key and value
    tail: Remark | None = None  # behind the value
    more: list[str] = field(default_factory=list)  # comments that go on below `head` or `tail`
    foot: list[str] = field(default_factory=list)  # lines below it, indented deeper than it is


class Tree(NamedTuple):
    """The documents of a text, each an entry without a label, and the lines behind the last."""

    documents: list[Entry]
    end: list[str]


def comments(text: str) -> Iterator[Comment]:
    """Every comment of a text, in order, found without the tree.

    For what stands in brackets, and for texts that are too large for the second reader.
    """
    line, counted = 1, 0
    for start, end in _gaps(text):
        at = text.find("#", start, end)
        while at >= 0:
            line, counted = line + text.count("\n", counted, at), at
            last = min(_line_end(text, at), end)
            yield Comment(line, at - text.rfind("\n", 0, at), text[at:last].rstrip())
            at = text.find("#", last, end)


def _gaps(text: str) -> Iterator[tuple[int, int]]:
    """The stretches of a text that are no scalar; of a block, its first line is one too."""
    at = 0
    for token in yaml.scan(text, LOADER):
        if isinstance(token, yaml.ScalarToken):
            start, end = token.start_mark.index, token.end_mark.index
            if token.style in ("|", ">"):
                start = min(_line_end(text, start), end)
            yield at, start
            at = end
    yield at, len(text)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def tree(text: str) -> Tree:
    """The tree of a text whose lines end in \\n. Raises UnusualError."""
    return _Reader(text).read()


def standing(tree: Tree) -> Iterator[tuple[Path, str]]:
    """Each comment of a tree in order, with the entry that it stands with.

    What is above the first entry of a document stands with the document.
    """
    for number, document in enumerate(tree.documents):
        path: Path = (number,)
        yield from _texts(path, document.lead)
        if isinstance(document.value, Block):
            first, *rest = document.value.entries
            yield from _texts(path, first.lead)
            for entry in [replace(first, lead=[]), *rest]:
                yield from _of_entry(entry, (*path, entry.key))
            yield from _texts(path, document.foot)
        else:
            yield from _of_entry(replace(document, lead=[]), path)
    yield from _texts((), tree.end)


def _of_entry(entry: Entry, path: Path) -> Iterator[tuple[Path, str]]:
    yield from _texts(path, entry.lead)
    yield from _texts(path, [remark.text for remark in [entry.head] if remark])
    yield from _texts(path, entry.between)
    if isinstance(entry.value, Block):
        for child in entry.value.entries:
            yield from _of_entry(child, (*path, child.key))
    elif entry.value:
        yield from _texts(path, entry.value.comments)
    yield from _texts(path, [remark.text for remark in [entry.tail] if remark])
    yield from _texts(path, [*entry.more, *entry.foot])


def _texts(path: Path, lines: Iterable[str]) -> Iterator[tuple[Path, str]]:
    for line in lines:
        if "#" in line:
            yield path, line[line.index("#") :]


class _Line(NamedTuple):
    """A line between two scalars: where its comment stands, and its text; "" if it is blank."""

    column: int
    comment: str


class _Reader:
    """Goes through a text from one key, dash or value to the next, and places what is between."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0  # the end of the last key, dash or value
        self._last = Entry("", "")  # whose it is

    def read(self) -> Tree:
        """The tree."""
        documents: list[Entry] = []
        for root in yaml.compose_all(self._text, LOADER):
            if _is_empty(root):
                continue
            start = root.start_mark.index
            document = Entry(len(documents), "", lead=self._until(start, documents))
            self._at, self._last = start, document
            document.value = self._value(document, root)
            documents.append(document)
        return Tree(documents, self._until(len(self._text), documents))

    def _until(self, end: int, documents: list[Entry]) -> list[str]:
        """The lines before a document, from a marker on; what is above them ends the last one."""
        lines = self._text[self._at : end].split("\n")
        if documents:
            marked = [number for number, line in enumerate(lines) if number and _is_marker(line)]
            own = marked[0] if marked else len(lines)
            self._end(documents[-1], "\n".join([*lines[:own], ""]))
            lines = lines[own:]
        if lines and not lines[-1].strip():
            lines.pop()
        return [line.rstrip() if _is_marker(line) else line.strip() for line in lines]

    def _end(self, document: Entry, gap: str) -> None:
        root = document.value
        if isinstance(root, Block):
            self._place(gap, document.foot, root.column, root.entries[-1])
        else:
            document.tail, lines = _split(gap)
            document.foot += [line.comment for line in lines]
        while document.foot and not document.foot[-1]:
            document.foot.pop()

    def _value(self, entry: Entry, node: Any) -> Block | Leaf | None:
        if _is_empty(node):
            return None
        if isinstance(node, yaml.ScalarNode) or node.flow_style:
            return self._leaf(entry, node)
        block = Block(node.start_mark.column, isinstance(node, yaml.SequenceNode))
        for number, item in enumerate(node.value):
            key, value = (None, item) if block.is_list else item
            start = self._dash() if key is None else key.start_mark.index
            end = start + 1 if key is None else key.end_mark.index
            child = Entry(number, "-") if key is None else _keyed(key, self._text[start:end])
            before = block.entries[-1] if block.entries else None
            self._place(self._text[self._at : start], child.lead, block.column, before)
            self._at, self._last = end, child
            child.value = self._value(child, value)
            block.entries.append(child)
        return block

    def _dash(self) -> int:
        """Where the next dash stands: the first that is in no comment."""
        at = self._at
        while self._text[at] != "-":
            at = _line_end(self._text, at) if self._text[at] == "#" else at + 1
        return at

    def _leaf(self, entry: Entry, node: Any) -> Leaf:
        start, end = node.start_mark.index, node.end_mark.index
        if entry.label:
            entry.head, lines = _split(self._text[self._at : start])
            entry.between = [line.comment for line in lines if line.comment]
        inner = ""
        if not isinstance(node, yaml.ScalarNode):
            inner = self._text[start:end]
        elif node.style in ("|", ">"):
            inner = self._text[start : _line_end(self._text, start)]
            end = _end_of_block(self._text, node)
        self._at, self._last = end, entry
        own = tuple(comment.text for comment in comments(inner)) if "#" in inner else ()
        return Leaf(node, self._text[start:end], own)

    def _place(self, gap: str, lead: list[str], column: int, before: Entry | None) -> None:
        """Give the comments in a gap to what they stand with.

        `lead` takes the lines above what comes next, in a block at `column`; `before` is the entry
        that precedes it there. What is indented deeper belongs to that entry, or to one in it.
        """
        remark, lines = _split(gap)
        if remark:
            self._remark(remark, gap, lines, column, goes_on=before is not None)
        chain = _chain(before, column) if before else []
        blanks: list[str] = []
        for line in lines:
            if not line.comment:
                blanks.append("")
                continue
            if line.column <= column:
                chain = []
            target = lead
            if chain:
                chain = chain[: _depth(chain, line.column) + 1]
                target = chain[-1][1].foot
            target += [*blanks, line.comment]
            blanks = []
        lead += blanks

    def _remark(
        self, remark: Remark, gap: str, lines: list[_Line], column: int, *, goes_on: bool
    ) -> None:
        """Give a comment to what it is behind, with those in its column right below it."""
        entry = self._last
        if entry.value is None:
            entry.head = remark
        else:
            entry.tail = remark
        own = self._at + gap.index("#") - self._text.rfind("\n", 0, self._at) - 1
        while goes_on and own > column and lines and lines[0].comment and lines[0].column == own:
            entry.more.append(lines.pop(0).comment)


def _keyed(key: Any, text: str) -> Entry:
    if "\n" in text:
        line = key.start_mark.line + 1
        raise UnusualError(f"a key has more than one line (line {line})")
    return Entry(key.value, f"{text}:")


def _end_of_block(text: str, node: Any) -> int:
    """Where the text of a block scalar ends: before the end of its last line."""
    start, end = node.start_mark.index, node.end_mark.index
    raw = text[start:end]
    if "+" in raw.split("\n", 1)[0].partition("#")[0]:
        return int(end - raw.endswith("\n"))
    last = node.value.rstrip("\n").rpartition("\n")[2]
    stripped = raw.rstrip("\n")
    if last.strip():
        lines = stripped.split("\n")
        while not lines[-1].strip():
            lines.pop()
        stripped = "\n".join(lines)
    return int(start + len(stripped))


def _split(gap: str) -> tuple[Remark | None, list[_Line]]:
    """The comment behind what a gap follows, and its other lines but for the unfinished last."""
    first, *rest = gap.split("\n")
    remark = None
    if "#" in first:
        before, mark, text = first.partition("#")
        blanks = len(before) - len(before.rstrip())
        remark = Remark(max(blanks, 1), (mark + text).rstrip())
    lines = []
    for line in rest[:-1]:
        before, mark, text = line.partition("#")
        if mark or not line.strip():
            lines.append(_Line(len(before), (mark + text).rstrip()))
    return remark, lines


def _is_marker(line: str) -> bool:
    return line.startswith(_MARKERS)


def _is_empty(node: Any) -> bool:
    """Whether nothing stands in the place of a value."""
    return isinstance(node, yaml.ScalarNode) and node.start_mark.index == node.end_mark.index


def _chain(entry: Entry, column: int) -> list[tuple[int, Entry]]:
    """The entries that end with an entry at `column`, outermost first, and where each goes on.

    The dashes of a list may stand below its key: what follows it there belongs to its last item.
    """
    chain = []
    while True:
        value = entry.value
        block = value if isinstance(value, Block) else None
        inside = block.column if block and block.column > column else column + 1
        if entry.label == "-" or not (block and block.is_list):
            chain.append((inside, entry))
        if not block:
            return chain
        column, entry = block.column, block.entries[-1]


def _depth(chain: list[tuple[int, Entry]], column: int) -> int:
    """The number of the innermost entry that goes on at or left of `column`, else the first."""
    fitting = [number for number, (inside, _) in enumerate(chain) if inside <= column]
    return fitting[-1] if fitting else 0


#: What is larger is judged by libyaml alone. ruamel.yaml is written in Python and takes 4 to 17 µs
#: for each character: 400,000 keys and values before and after would take 36 s, this 4 to 18 s.
MAX_CHARACTERS = 512 * 1024


class Reading(NamedTuple):
    """The values of each document that is not empty, and the comments of the whole text."""

    documents: list[Any]
    comments: list[Comment]


class UnreadableError(Exception):
    """A text that ruamel.yaml refuses; says why."""


def read(text: str) -> Reading:
    """What ruamel.yaml reads in a text that `read.yaml` accepts. Raises UnreadableError."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.scanner import RoundTripScanner, Scanner

    comments: list[Comment] = []

    class CommentScanner(RoundTripScanner):
        """Notes comments and hands on the tokens of values only."""

        def scan_to_next_token(self) -> None:
            comment = super().scan_to_next_token()
            while comment:
                comments.extend(_comment(comment[0], comment[1]))
                comment = super().scan_to_next_token()

        def scan_block_scalar(self, style: Any, rt: bool | None = False) -> Any:
            # For its round trip a folded text gets marks where its lines end.
            return Scanner.scan_block_scalar(self, style, rt=False)

        def scan_block_scalar_ignored_line(self, start_mark: Any) -> Any:
            mark = self.reader.get_mark()
            comment = super().scan_block_scalar_ignored_line(start_mark)
            comments.extend(_comment(comment or "", mark))
            return comment

        def scan_directive_ignored_line(self, start_mark: Any) -> None:
            # It says of no comment that it has skipped here.
            mark = self.reader.get_mark()
            super().scan_directive_ignored_line(start_mark)
            comments.extend(_comment(text[mark.index : self.reader.get_mark().index], mark))

    reader = YAML(typ="safe", pure=True)
    reader.Scanner = CommentScanner
    try:
        documents = [document for document in reader.load_all(text) if document is not None]
    except (YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise UnreadableError(str(error).partition("\n")[0]) from error
    return Reading(documents, comments)


def same(value: Any, other: Any) -> bool:
    """Whether two values are the same; unlike for Python, `true` and 1 differ."""
    if type(value) is not type(other):
        return False
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(same(value[key], other[key]) for key in value)
    if isinstance(value, list):
        return len(value) == len(other) and all(map(same, value, other))
    return repr(value) == repr(other)


def _comment(written: str, mark: Any) -> "Iterator[Comment]":
    """The comment in what was skipped from a mark on; blank lines are skipped the same way."""
    before, sign, after = written.partition("#")
    if sign:
        words = (sign + after.partition("\n")[0]).rstrip()
        yield Comment(mark.line + 1, mark.column + len(before) + 1, words)
