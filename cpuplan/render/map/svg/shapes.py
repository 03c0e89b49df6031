"""Pieces of SVG pictures: texts and rectangles, and how pictures are arranged."""

from collections.abc import Sequence
from math import log
from typing import NamedTuple
from xml.sax.saxutils import escape

#: Pixels between boxes.
BOX_GAP = 14
#: Pictures stand side by side up to this width, else in rows.
WIDEST = 1500
#: Width to height of pictures with many parts.
LIKED = 1.6


class Picture(NamedTuple):
    """A drawing from its own (0, 0), and its size in pixels."""

    width: int
    height: int
    body: str


def row_columns(pictures: Sequence[Picture]) -> int:
    """One row if it is not too wide, otherwise few rows, filled evenly, and no narrow column."""
    if sum(picture.width + BOX_GAP for picture in pictures) - BOX_GAP <= WIDEST:
        return len(pictures)
    width = max(picture.width for picture in pictures) + BOX_GAP
    height = max(picture.height for picture in pictures) + BOX_GAP
    fitting = max((WIDEST + BOX_GAP) // width, _columns(len(pictures), width, height))
    rows = -(-len(pictures) // fitting)
    return -(-len(pictures) // rows)


def _columns(count: int, width: int, height: int) -> int:
    """The number of columns that makes a whole of about LIKED, full rows before others."""

    def dislike(columns: int) -> float:
        shape = columns * width / (-(-count // columns) * height)
        return abs(log(shape / LIKED)) + 0.5 * (count % columns > 0)

    return min(range(1, count + 1), key=dislike)


def grid(pictures: Sequence[Picture], columns: int, gap: int) -> Picture:
    """Pictures in rows; columns as wide as their widest."""
    starts = range(0, len(pictures), max(columns, 1))
    rows = [pictures[start : start + columns] for start in starts]
    widths = [_widest(pictures[column::columns]) for column in range(min(columns, len(pictures)))]
    body, top = "", 0
    for row in rows:
        left = 0
        for picture, width in zip(row, widths, strict=False):
            body += at(left, top, picture.body)
            left += width + gap
        top += max(picture.height for picture in row) + gap
    return Picture(sum(widths) + gap * max(len(widths) - 1, 0), max(top - gap, 0), body)


def _widest(pictures: Sequence[Picture]) -> int:
    return max(picture.width for picture in pictures)


def block_columns(pictures: Sequence[Picture]) -> int:
    """The columns of a grid that is about one and a half times as wide as high."""
    width = max(picture.width for picture in pictures) + BOX_GAP
    height = max(picture.height for picture in pictures) + BOX_GAP
    return even_columns(len(pictures), (1.5 * len(pictures) * height / width) ** 0.5)


def even_columns(count: int, wanted: float) -> int:
    """The number of columns nearest to `wanted` that leaves the fewest gaps in the last row."""
    tried = range(min(count, max(1, round(wanted * 0.7))), min(count, round(wanted * 1.5) + 1) + 1)
    return min(tried, key=lambda columns: (-count % columns, abs(columns - wanted)), default=1)


def wrapped(text: str, width: int, separator: str) -> list[str]:
    """Lines of at most `width` characters, broken after separators."""
    lines = [""]
    for item in text.replace(separator, f"{separator}\n").split("\n"):
        if len(lines[-1]) + len(item) > width and lines[-1]:
            lines.append("")
        lines[-1] += item
    return lines


def rectangle(
    x: int, y: int, width: int, height: int, fill: str, edge: str, radius: int = 0
) -> str:
    """A rectangle whose border, a pixel wide, lies inside of it."""
    corner = f' rx="{radius}"' if radius else ""
    size = f'x="{x + 0.5}" y="{y + 0.5}" width="{width - 1}" height="{height - 1}"'
    return f'<rect {size}{corner} fill="{fill}" stroke="{edge}"/>\n'


def text(
    x: int, y: int, text: str, size: int, fill: str = "", *, bold: bool = False, anchor: str = ""
) -> str:
    """A line of text; `anchor` says which part of it is at `x`."""
    marks = f' fill="{fill}"' if fill else ""
    marks += ' font-weight="bold"' if bold else ""
    marks += f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x}" y="{y}" font-size="{size}"{marks}>{escaped(text)}</text>\n'


def at(x: int, y: int, body: str) -> str:
    """`body` moved to a place."""
    return f'<g transform="translate({x} {y})">\n{body}</g>\n' if x or y else body


def text_width(text: str, size: int) -> int:
    """Enough room for `text` in a bold sans serif: there are no fonts to ask."""
    return int(len(text) * size * 0.66) + 1


def escaped(text: str) -> str:
    """`text` as the content or an attribute of an element."""
    return escape(text, {'"': "&quot;"})
