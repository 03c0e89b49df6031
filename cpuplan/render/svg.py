"""A map as a self-contained SVG 1.1 picture: no fonts or scripts from outside, dark where its reader's screen is."""

from collections.abc import Sequence
from typing import NamedTuple

from cpuplan.printable import printable_values
from cpuplan.render.colours import (
    GROUND,
    INK,
    INNER,
    LINE,
    PANEL,
    SETS,
    SOFT,
    fill_of,
    ink_of,
    pattern_definitions,
    pattern_of,
    style,
)
from cpuplan.render.machine import Box, Core, Entry, Group, Map, Table, counted
from cpuplan.render.marks import Mark
from cpuplan.render.picture import (
    Picture,
    at,
    block,
    escaped,
    even_columns,
    grid,
    rectangle,
    side_by_side,
    text,
    text_width,
    wrapped,
)

#: One CPU, in pixels, with and without the letter of a pool; between cores; around the content of a box; height of a
#: title.
CPU_WIDTH, CPU_HEIGHT, PLAIN_HEIGHT, CORE_GAP, PAD, TITLE = 34, 36, 22, 6, 14, 24
MARGIN = 28
#: Height of the bars below a CPU, with what is around them.
BAR = 9


class _Form(NamedTuple):
    """What all cores of a picture have in common: digits of the numbers, and sets that are drawn below them."""

    digits: int
    over: tuple[Entry, ...]


def draw_svg(drawn: Map) -> str:
    """The picture of a map: header, sockets with what is in them, what has no place in them, legend."""
    drawn = printable_values(drawn)
    head = _header(drawn)
    form = _Form(len(str(drawn.last_cpu)), drawn.over)
    machine = side_by_side(_equal_boxes(drawn.boxes, form, depth=0))
    wide = max(machine.width, head.width, 560)
    below = [side_by_side([_box(box, form, depth=1) for box in drawn.memory])] if drawn.memory else []
    if drawn.notes:
        below.append(_notes(drawn.notes, wide, 13))
    if drawn.table:
        below.append(_table(drawn.table))
    if drawn.legend:
        below.append(_legend(drawn, wide))
    parts = grid([head, machine, *below], 1, 22)
    width, height = parts.width + 2 * MARGIN, parts.height + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img"\nfont-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif" fill="{INK}">\n'
        f"<title>{escaped(drawn.about)}</title>\n"
        f"{style()}"
        f"{pattern_definitions(entry.mark.style for entry in drawn.legend)}"
        f'<rect width="{width}" height="{height}" fill="{GROUND}"/>\n'
        f"{at(MARGIN, MARGIN, parts.body)}</svg>\n"
    )


def _header(drawn: Map) -> Picture:
    body = text(0, 20, drawn.title, 22, bold=True)
    for index, line in enumerate(drawn.lines):
        body += text(0, 44 + 20 * index, line, 13, SOFT)
    width = max([text_width(drawn.title, 22), *(text_width(line, 13) for line in drawn.lines)])
    return Picture(width, 34 + 20 * len(drawn.lines), body)


def _equal_boxes(boxes: Sequence[Box], form: _Form, depth: int) -> list[Picture]:
    """Boxes that stand together are equally wide, whatever their titles are."""
    pictures = [_box(box, form, depth) for box in boxes]
    widest = max((picture.width for picture in pictures), default=0)
    return [
        picture if picture.width == widest else _box(box, form, depth, widest - 2 * PAD)
        for box, picture in zip(boxes, pictures, strict=True)
    ]


def _box(box: Box, form: _Form, depth: int, least: int = 0) -> Picture:
    """A box with a title, its content at least `least` wide."""
    inner = _equal_boxes(box.boxes, form, depth + 1) or [_group(group, form) for group in box.groups]
    content = block(inner)
    wide = max(content.width, text_width(box.title, 13), least)
    if box.notes:
        content = grid([content, _notes(box.notes, max(wide, 240), 11)][not inner :], 1, PAD)
    width = max(content.width, wide) + 2 * PAD
    height = content.height + TITLE + 2 * PAD
    ground = INNER if depth or not box.boxes else PANEL
    body = (
        rectangle(0, 0, width, height, ground, LINE, 8)
        + text(PAD, PAD + 10, box.title, 13, bold=True)
        + at(PAD, PAD + TITLE, content.body)
    )
    return Picture(width, height, body)


def _notes(notes: Sequence[str], width: int, size: int) -> Picture:
    """Sentences below one another, broken after commas."""
    lines = [line for note in notes for line in wrapped(note, width * 10 // (size * 6), ", ")]
    body = "".join(text(0, size + index * (size + 5), line, size, SOFT) for index, line in enumerate(lines))
    return Picture(min(width, max(text_width(line, size) for line in lines)), len(lines) * (size + 5), body)


def _table(table: Table) -> Picture:
    """Distances, the farther the darker."""
    texts = [*table.heads, *(str(value) for _, values in table.rows for value in values)]
    column = max(text_width(each, 11) for each in texts) + 12
    first = max(text_width(head, 11) for head, _ in table.rows) + 12
    body = text(0, 12, table.title, 13, bold=True)
    for index, head in enumerate(table.heads):
        body += text(first + index * column + column // 2, 34, head, 11, SOFT, anchor="middle")
    ranks = sorted({value for _, values in table.rows for value in values})
    for row, (head, values) in enumerate(table.rows):
        top = 40 + row * 20
        body += text(first - 12, top + 14, head, 11, SOFT, anchor="end")
        for index, value in enumerate(values):
            shade = f"{ranks.index(value) / max(len(ranks) - 1, 1):.2f}"
            left = first + index * column
            body += (
                f'<rect x="{left}" y="{top}" width="{column - 1}" height="19" fill="#8fd0f5" fill-opacity="{shade}"/>\n'
            )
            body += text(left + column // 2, top + 14, str(value), 11, anchor="middle")
    width = max(first + len(table.heads) * column, text_width(table.title, 13))
    return Picture(width, 40 + len(table.rows) * 20, body)


def _group(group: Group, form: _Form) -> Picture:
    """The cores of one cache on a ground of their own, if it has a title; else bare. Clusters get a frame each."""
    clusters = group.by_cluster()
    drawn = [[_core(core, form) for core in cluster] for cluster in clusters]
    pictures = drawn[0] if len(drawn) == 1 else [_cluster(each) for each in drawn]
    cores = grid(pictures, _columns(pictures), CORE_GAP)
    if not group.title:
        return cores
    width, height = max(cores.width, text_width(group.title, 11)) + 16, cores.height + 32
    body = rectangle(0, 0, width, height, PANEL, LINE, 6) + text(8, 16, group.title, 11, SOFT) + at(8, 24, cores.body)
    return Picture(width, height, body)


def _columns(cores: Sequence[Picture]) -> int:
    """As many cores as a title is wide; of many cores a block that is about twice as wide as high."""
    width, height = cores[0].width + CORE_GAP, cores[0].height + CORE_GAP
    return even_columns(len(cores), max(320 / width, (2.0 * len(cores) * height / width) ** 0.5))


def _cluster(cores: Sequence[Picture]) -> Picture:
    inner = grid(cores, len(cores) if len(cores) <= 4 else even_columns(len(cores), len(cores) ** 0.5), 3)
    width, height = inner.width + 8, inner.height + 8
    return Picture(width, height, rectangle(0, 0, width, height, INNER, LINE, 4) + at(4, 4, inner.body))


def _core(core: Core, form: _Form) -> Picture:
    """A cell for each sibling, side by side, in rows of at most four; a letter tells the pool without its colour."""
    cpus = sorted((cpu, mark) for mark, part in core.parts for cpu in part)
    columns = min(len(cpus), 4)
    plain = not any(mark.letter for _, mark in cpus)
    cell, high = (max(24, 7 * form.digits + 8), PLAIN_HEIGHT) if plain else (CPU_WIDTH, CPU_HEIGHT)
    step = high + (BAR if form.over else 0)
    whose = "; ".join(f"{mark.name} {part}" for mark, part in core.parts if mark.letter)
    told = "; ".join(filter(None, (whose, core.told)))
    body = f"<g><title>{escaped(f'core {core.siblings.first}: {told}')}</title>\n"
    for index, (cpu, mark) in enumerate(cpus):
        left, top = index % columns * cell, index // columns * step
        middle, ink = left + cell // 2, ink_of(mark.style)
        body += _marked(left, top, cell, high, mark)
        if not plain:
            body += text(middle, top + 12, mark.letter.strip(), 9, ink, bold=True, anchor="middle")
        body += text(middle, top + high - (7 if plain else 8), str(cpu), 11, ink, anchor="middle")
        for number, (over, members, _) in enumerate(form.over):
            if cpu in members:
                body += _bar(left + number * cell // len(form.over), top + high, cell // len(form.over), over)
    return Picture(columns * cell, -(-len(cpus) // columns) * step, body + "</g>\n")


def _marked(left: int, top: int, width: int, height: int, mark: Mark) -> str:
    body = rectangle(left, top, width, height, *fill_of(mark.style))
    if pattern := pattern_of(mark.style):
        body += f'<rect x="{left + 1}" y="{top + 1}" width="{width - 2}" height="{height - 2}" fill="{pattern}"/>\n'
    return body


def _bar(left: int, top: int, width: int, mark: Mark) -> str:
    """A set that lies over the pools: solid below the left half of a CPU, hollow below its right one."""
    colour = SETS.get(mark.name, INK)
    fill = colour if mark.name == "bestEffort" else GROUND
    size = f'x="{left + 1.5}" y="{top + 1.5}" width="{width - 3}" height="{BAR - 4}"'
    return f'<rect {size} fill="{fill}" stroke="{colour}"/>\n'


def _legend(drawn: Map, width: int) -> Picture:
    """A line for each mark, below the heading of its section where there are several."""
    body, top, section = "", 0, ""
    sections = len({entry.section for entry in drawn.legend}) > 1
    numbers = max(186, *(text_width(entry.mark.name, 13) + 110 for entry in drawn.legend))
    for entry in drawn.legend:
        mark, cpus, of = entry
        if sections and of != section:
            body += text(0, top + 16, of, 12, SOFT)
            section, top = of, top + 26
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
        return _bar(14 * (mark.name != "bestEffort"), top + 6, 14, mark)
    letter = text(14, top + 14, mark.letter.strip(), 11, ink_of(mark.style), bold=True, anchor="middle")
    return _marked(0, top, 28, 20, mark) + letter
