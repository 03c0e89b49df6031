"""A map as a self-contained SVG 1.1 picture: no fonts or scripts, dark on dark screens."""

from collections.abc import Sequence

from cpuplan.base.printable import printable_values
from cpuplan.base.text import counted
from cpuplan.render.map.boxes import Entry, Map, Table
from cpuplan.render.map.svg.boxes import box_picture, machine_picture, notes_picture
from cpuplan.render.map.svg.colours import (
    GROUND,
    INK,
    SETS,
    SOFT,
    ink_of,
    pattern_definitions,
    style,
)
from cpuplan.render.map.svg.cores import bar, marked
from cpuplan.render.map.svg.form import form_of
from cpuplan.render.map.svg.shapes import (
    BOX_GAP,
    Picture,
    at,
    escaped,
    grid,
    row_columns,
    text,
    text_width,
    wrapped,
)

#: Pixels around the picture.
MARGIN = 28
_FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"


def draw_svg(drawn: Map) -> str:
    """The picture of a map: header, sockets, what has no place in them, legend."""
    return draw_svgs(drawn.about, [drawn])


def draw_svgs(about: str, maps: Sequence[Map]) -> str:
    """The pictures of several maps, one below the other; `about` is what all are of."""
    about, maps = printable_values((about, tuple(maps)))
    picture = grid([grid(_parts(drawn), 1, 22) for drawn in maps], 1, 3 * MARGIN)
    styles = [entry.mark.style for drawn in maps for entry in drawn.legend]
    width, height = picture.width + 2 * MARGIN, picture.height + 2 * MARGIN
    size = f'width="{width}" height="{height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" '
        f'role="img"\nfont-family="{_FONT}" fill="{INK}">\n'
        f"<title>{escaped(about)}</title>\n"
        f"{style()}"
        f"{pattern_definitions(dict.fromkeys(styles))}"
        f'<rect {size} fill="{GROUND}"/>\n'
        f"{at(MARGIN, MARGIN, picture.body)}</svg>\n"
    )


def _parts(drawn: Map) -> list[Picture]:
    """From top to bottom."""
    form = form_of(drawn)
    machine_picture(drawn.boxes, form)  # chooses the columns
    form = form._replace(is_layout=False)
    parts = [_header(drawn), machine_picture(drawn.boxes, form)]
    width = max(560, *(part.width for part in parts))
    if drawn.memory:
        memory = [box_picture(box, form, (-1,)) for box in drawn.memory]
        parts.append(grid(memory, row_columns(memory), BOX_GAP))
    if drawn.notes:
        parts.append(notes_picture(drawn.notes, width, 13))
    if drawn.table:
        parts.append(_table(drawn.table))
    if drawn.legend:
        parts.append(_legend(drawn, width))
    return parts


def _header(drawn: Map) -> Picture:
    body = text(0, 20, drawn.title, 22, bold=True)
    width = text_width(drawn.title, 22)
    for index, line in enumerate(drawn.lines):
        body += text(0, 44 + 20 * index, line, 13, SOFT)
        width = max(width, text_width(line, 13))
    return Picture(width, 34 + 20 * len(drawn.lines), body)


def _table(table: Table) -> Picture:
    """Distances, the farther the darker."""
    numbers = [value for _, values in table.rows for value in values]
    texts = [*table.heads, *map(str, numbers)]
    column = max(text_width(cell, 11) for cell in texts) + 12
    first = max(text_width(head, 11) for head, _ in table.rows) + 12
    body = text(0, 12, table.title, 13, bold=True)
    for index, head in enumerate(table.heads):
        body += text(first + index * column + column // 2, 34, head, 11, SOFT, anchor="middle")
    ranks = sorted(set(numbers))
    for row, (head, values) in enumerate(table.rows):
        top = 40 + row * 20
        body += text(first - 12, top + 14, head, 11, SOFT, anchor="end")
        for index, value in enumerate(values):
            left = first + index * column
            opacity = f"{ranks.index(value) / max(len(ranks) - 1, 1):.2f}"
            size = f'width="{column - 1}" height="19"'
            shade = f'fill="#8fd0f5" fill-opacity="{opacity}"'
            body += f'<rect x="{left}" y="{top}" {size} {shade}/>\n'
            body += text(left + column // 2, top + 14, str(value), 11, anchor="middle")
    width = max(first + len(table.heads) * column, text_width(table.title, 13))
    return Picture(width, 40 + len(table.rows) * 20, body)


def _legend(drawn: Map, width: int) -> Picture:
    """A line for each mark, below the heading of its section if there are several."""
    body, top, current = "", 0, ""
    has_sections = len({entry.section for entry in drawn.legend}) > 1
    numbers = max(186, *(text_width(entry.mark.name, 13) + 110 for entry in drawn.legend))
    for entry in drawn.legend:
        mark, cpus, section = entry
        if has_sections and section != current:
            body += text(0, top + 16, section, 12, SOFT)
            current, top = section, top + 26
        body += _swatch(entry, top)
        body += text(40, top + 14, mark.name, 13, bold=True)
        body += text(numbers, top + 14, counted(len(cpus), "CPU"), 13, anchor="end")
        for line in wrapped(str(cpus), (width - numbers - 18) // 8, ","):
            body += text(numbers + 18, top + 14, line, 13, SOFT)
            top += 19
        top += 9
    return Picture(width, top, body)


def _swatch(entry: Entry, top: int) -> str:
    mark = entry.mark
    if mark.name in SETS:
        return bar(14 * (mark.name != "bestEffort"), top + 6, 14, mark)
    letter, ink = mark.letter.strip(), ink_of(mark.style)
    sign = text(14, top + 14, letter, 11, ink, bold=True, anchor="middle")
    return marked(0, top, 28, 20, mark) + sign
