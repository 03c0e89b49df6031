"""Lines of styled text."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias


class Span(NamedTuple):
    """Text in a style of ansi.STYLES."""

    text: str
    style: str = ""


Line: TypeAlias = list[Span]


def length(line: Line) -> int:
    """The characters of a line."""
    return sum(len(span.text) for span in line)


def widest(lines: list[Line]) -> int:
    """The length of the longest line; 0 if there is none."""
    return max(map(length, lines), default=0)


def cut(text: str, width: int) -> str:
    """`text`, or as much of it as fits, with an ellipsis."""
    return text if len(text) <= width else text[: width - 1] + "…"


def wrapped(head: Line, text: str, width: int, separator: str = ",") -> Iterator[Line]:
    """`text` after `head`, broken after separators and indented to its start if that is near."""
    used = length(head)
    indent = used if used <= width // 2 else 2
    line = list(head)
    for piece in _pieces(text, separator, max(width - indent, 1)):
        if used + len(piece.rstrip()) > width and used > indent:
            yield line
            line, used = [Span(" " * indent)], indent
        line.append(Span(piece))
        used += len(piece)
    yield line


def wrapped_note(note: str, width: int, style: str = "") -> Iterator[Line]:
    """`head: item, item`, broken between items."""
    head, _, items = note.partition(": ")
    return wrapped([Span(f"{head}: ", style)], items, width, ", ")


def _pieces(text: str, separator: str, most: int) -> Iterator[str]:
    """The text in pieces that end after separators; what is longer than a line, anywhere."""
    for item in text.replace(separator, f"{separator}\n").split("\n"):
        size = len(item.rstrip())
        if size <= most:
            yield item
        else:
            yield from (item[start : start + most] for start in range(0, size, most))
