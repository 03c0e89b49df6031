"""Source lines with markers under their columns, in the manner of rustc."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cpuplan.printable import printable
from cpuplan.render.ansi import paint

#: Terminal columns of a source line that are shown; of a longer line, a window around the marker.
LIMIT = 100
#: Columns before the marker that a window keeps.
CONTEXT = 30
#: Columns of the line numbers.
GUTTER = 4


class Mark(NamedTuple):
    """What to underline: a line, its columns `start` to `end` - 1 (all from 1, in code points), and
    words on it.
    """

    line: int
    start: int
    end: int
    text: str
    style: str  # of ansi.STYLES; "place" for what is not the main place
    sign: str  # ^ for the main place, - for others


def draw(lines: Sequence[str], marks: Iterable[Mark], colour: bool) -> list[str]:
    """The rows of a frame: each marked line with its markers, lines ascending. Marks beyond the end
    are left out.
    """
    by_line: dict[int, list[Mark]] = {}
    for mark in sorted(marks, key=lambda mark: (mark.line, mark.start)):
        if 1 <= mark.line <= len(lines):
            by_line.setdefault(mark.line, []).append(mark)
    rows: list[str] = []
    last = 0
    for number, here in by_line.items():
        if last and number == last + 2:
            rows.append(_marked_line(last + 1, lines[last], [], colour)[0])
        elif last and number > last + 2:
            rows.append(paint("...".rjust(GUTTER), "place", colour))
        rows += _marked_line(number, lines[number - 1], here, colour)
        last = number
    return rows


def _marked_line(number: int, line: str, marks: list[Mark], colour: bool) -> list[str]:
    chars = ["    " if char == "\t" else printable(char) for char in line.rstrip("\r\n")]
    widths = [_width(text) for text in chars]
    if sum(widths) <= LIMIT:
        source = _row(number, "".join(chars), colour)
        return [source, *(_marker(mark, widths, 0, len(chars), colour) for mark in marks)]
    rows = []
    for mark in marks:  # markers of a long line may be far apart: each gets its own window
        first, last = _window(widths, min(mark.start - 1, len(chars)))
        rows += [
            _row(number, _cut(chars, first, last), colour),
            _marker(mark, widths, first, last, colour),
        ]
    return rows or [_row(number, _cut(chars, *_window(widths, 0)), colour)]


def _cut(chars: list[str], first: int, last: int) -> str:
    return ("…" if first else "") + "".join(chars[first:last]) + ("…" if last < len(chars) else "")


def _window(widths: list[int], start: int) -> tuple[int, int]:
    """The stretch of a long line that is shown: some of what is before `start`, then as much as
    fits.
    """
    first, room = start, CONTEXT
    while first and widths[first - 1] <= room:
        first -= 1
        room -= widths[first]
    last, room = first, LIMIT - 2
    while last < len(widths) and widths[last] <= room:
        room -= widths[last]
        last += 1
    while last == len(widths) and first and widths[first - 1] <= room:
        first -= 1
        room -= widths[first]
    return first, last


def _marker(mark: Mark, widths: list[int], first: int, last: int, colour: bool) -> str:
    start = max(first, min(mark.start - 1, last))
    end = min(max(mark.end - 1, start), last)
    before = sum(widths[first:start]) + (1 if first else 0)
    sign = mark.sign * max(1, sum(widths[start:end]))
    text = f"{sign} {mark.text}".rstrip().replace("\n", " ")
    return f"{paint(' ' * GUTTER + ' |', 'place', colour)} {' ' * before}{paint(text, mark.style, colour)}"


def _row(number: int, text: str, colour: bool) -> str:
    return f"{paint(f'{number:>{GUTTER}} |', 'place', colour)} {text}".rstrip()


def _width(text: str) -> int:
    """Terminal columns of `text`: 2 for East Asian wide characters (UAX #11), 0 for combining
    ones.
    """
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0
        if unicodedata.category(char) in ("Mn", "Me")
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )
