"""Source lines with markers under their columns, in the manner of rustc."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from unicodedata import category, east_asian_width

from cpuplan.base.printable import printable
from cpuplan.render.ansi import paint

#: Terminal columns of a source line that are shown; of a longer line, a window around the marker.
LIMIT = 100
#: Columns before the marker that a window keeps.
CONTEXT = 30
#: Columns of the line numbers.
GUTTER = 4


class Mark(NamedTuple):
    """What to underline: columns `start` to `end` - 1 of a line, from 1, and words on it."""

    line: int
    start: int
    end: int
    text: str
    style: str  # of ansi.STYLES; "place" for all but the main place
    sign: str  # ^ for the main place, - for others


def draw(lines: Sequence[str], marks: Iterable[Mark], colour: bool) -> list[str]:
    """Each marked line with its markers, in ascending order, without marks beyond the end."""
    by_line: dict[int, list[Mark]] = {}
    for mark in sorted(marks, key=lambda mark: (mark.line, mark.start)):
        if 1 <= mark.line <= len(lines):
            by_line.setdefault(mark.line, []).append(mark)
    rows: list[str] = []
    last = 0
    for number, marks_here in by_line.items():
        if last and number == last + 2:
            rows += _marked_line(last + 1, lines[last], [], colour)
        elif last and number > last + 2:
            rows.append(paint("...".rjust(GUTTER), "place", colour))
        rows += _marked_line(number, lines[number - 1], marks_here, colour)
        last = number
    return rows


def _marked_line(number: int, line: str, marks: list[Mark], colour: bool) -> list[str]:
    cells = ["    " if char == "\t" else printable(char) for char in line.rstrip("\r\n")]
    widths = [_width(cell) for cell in cells]
    if sum(widths) <= LIMIT:
        markers = [_marker(mark, widths, 0, len(cells), colour) for mark in marks]
        return [_row(number, "".join(cells), colour), *markers]
    rows = []
    for mark in marks:  # markers of a long line may be far apart: each gets its own window
        first, last = _window(widths, min(mark.start - 1, len(cells)))
        rows.append(_row(number, _cut(cells, first, last), colour))
        rows.append(_marker(mark, widths, first, last, colour))
    return rows or [_row(number, _cut(cells, *_window(widths, 0)), colour)]


def _cut(cells: list[str], first: int, last: int) -> str:
    before, after = "…" if first else "", "…" if last < len(cells) else ""
    return before + "".join(cells[first:last]) + after


def _window(widths: list[int], start: int) -> tuple[int, int]:
    """The part of a long line that is shown: some of it before `start`, then as much as fits."""
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
    before = " " * (sum(widths[first:start]) + (1 if first else 0))
    sign = mark.sign * max(1, sum(widths[start:end]))
    text = f"{sign} {mark.text}".rstrip().replace("\n", " ")
    return f"{_gutter('', colour)} {before}{paint(text, mark.style, colour)}"


def _row(number: int, text: str, colour: bool) -> str:
    return f"{_gutter(str(number), colour)} {text}".rstrip()


def _gutter(number: str, colour: bool) -> str:
    return paint(f"{number:>{GUTTER}} |", "place", colour)


def _width(text: str) -> int:
    """Terminal columns: 2 for an East Asian wide character (UAX #11), 0 for a combining one."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if category(character) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
