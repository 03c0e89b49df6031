"""A map as text: header, boxes, what is below them, legend."""

from collections.abc import Iterator

from cpuplan.base.printable import printable_values
from cpuplan.render.ansi import paint
from cpuplan.render.map.boxes import Box, Map, Table
from cpuplan.render.map.terminal.boxes import BORDERS, bordered, depth, leaves, listed
from cpuplan.render.map.terminal.cells import contents
from cpuplan.render.map.terminal.lines import Line, Span, cut, wrapped, wrapped_note

#: More lines of boxes without pools become a line for each outer box.
MOST_LINES = 120
#: Nothing is drawn narrower than this.
LEAST_WIDTH = 48


def draw_text(drawn: Map, *, colour: bool, width: int = 100) -> str:
    """The text of a map, at most `width` wide; letters say all that colours say."""
    text = ""
    for line in _lines(printable_values(drawn), max(width, LEAST_WIDTH)):
        text += "".join(paint(span.text, span.style, colour) for span in line).rstrip() + "\n"
    return text


def _lines(drawn: Map, width: int) -> Iterator[Line]:
    yield [Span(drawn.title, "bold")]
    for line in drawn.lines:
        yield from wrapped([], line, width, ", ")
    inner = leaves(drawn.boxes)
    room = width - BORDERS * depth(drawn.boxes)
    cells, condensed = contents(inner, drawn.last_cpu, room, condensed=drawn.condensed)
    body = list(bordered(drawn.boxes, cells, width))
    if condensed and len(body) > MOST_LINES and all(box.groups[0].plain for box in inner):
        body = list(listed(drawn.boxes, width))
    yield []
    yield from body
    for box in drawn.memory:
        yield from _memory(box, width)
    for note in drawn.notes:
        yield from wrapped_note(note, width)
    if drawn.table:
        yield []
        yield from _table(drawn.table)
    if drawn.legend:
        yield []
        yield from _legend(drawn, width)
    if condensed and drawn.legend and drawn.splits_cores:
        yield [Span(" /  core whose threads are in different pools")]


def _memory(box: Box, width: int) -> Iterator[Line]:
    head = f"{box.title}: " if box.notes else box.title
    return wrapped([Span(head)], ", ".join(box.notes), width, ", ")


def _table(table: Table) -> Iterator[Line]:
    """Distances in columns."""
    texts = [*table.heads, *(str(value) for _, values in table.rows for value in values)]
    column = max(map(len, texts)) + 1
    first = max(len(head) for head, _ in table.rows)
    yield [Span(table.title, "bold")]
    yield [Span(" " * first), *(Span(head.rjust(column), "dim") for head in table.heads)]
    for head, values in table.rows:
        cells = [Span(str(value).rjust(column)) for value in values]
        yield [Span(head.rjust(first), "dim"), *cells]


def _legend(drawn: Map, width: int) -> Iterator[Line]:
    """A line for each mark, below the heading of its section if there are several."""
    names = min(max(len(entry.mark.name) for entry in drawn.legend), width // 3)
    digits = max(len(str(len(entry.cpus))) for entry in drawn.legend)
    letters = max(len(entry.mark.letter) for entry in drawn.legend)
    has_sections = len({entry.section for entry in drawn.legend}) > 1
    current = ""
    for mark, cpus, section in drawn.legend:
        if has_sections and section != current:
            yield [Span(section, "bold")]
            current = section
        count = f"{len(cpus):>{digits}} CPU{' ' if len(cpus) == 1 else 's'}"
        name = cut(mark.name, names).ljust(names)
        letter = Span(f" {mark.letter.ljust(letters)} ", mark.style)
        yield from wrapped([letter, Span(f" {name}  {count}  ")], str(cpus), width)
