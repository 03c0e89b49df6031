"""A map as a self-contained SVG 1.1 picture: no fonts or scripts from outside, dark where its
reader's screen is.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from cpuplan.printable import printable_values
from cpuplan.render.map.boxes import Box, Core, Entry, Group, Map, Table
from cpuplan.render.map.marks import Mark
from cpuplan.render.map.svg.colours import (
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
from cpuplan.render.map.svg.shapes import (
    BOX_GAP,
    Picture,
    at,
    block_columns,
    escaped,
    even_columns,
    grid,
    rectangle,
    row_columns,
    text,
    text_width,
    wrapped,
)
from cpuplan.text import counted

#: One CPU, in pixels, with and without the letter of a pool; between cores; around the content of a
#: box; height of a title.
CPU_WIDTH, CPU_HEIGHT, PLAIN_HEIGHT, CORE_GAP, PAD, TITLE = 34, 36, 22, 6, 14, 24
MARGIN = 28
#: Height of the bars below a CPU, with what is around them.
BAR = 9


#: The way to a part of a picture: numbers of boxes and groups from the outside in.
_Way: TypeAlias = tuple[int, ...]


class _Form(NamedTuple):
    """What all cores of a picture have in common.

    `columns` has the columns of each part, by the way to it. They are chosen once, for cores with
    the letters of pools and nothing below them (`is_layout`), so that a plan stands as its bare
    machine does.
    """

    digits: int
    over: tuple[Entry, ...]  # sets that are drawn below the cores
    most: Mapping[int, int]  # cores of the largest group, by threads
    columns: dict[_Way, int]
    is_layout: bool

    def columns_of(
        self, way: _Way, pictures: Sequence[Picture], choose: Callable[[Sequence[Picture]], int]
    ) -> int:
        if self.is_layout:
            self.columns[way] = choose(pictures)
        return self.columns[way]


def draw_svg(drawn: Map) -> str:
    """The picture of a map: header, sockets with what is in them, what has no place in them,
    legend.
    """
    drawn = printable_values(drawn)
    head = _header(drawn)
    form = _Form(len(str(drawn.last_cpu)), drawn.over, _most(drawn.boxes), {}, is_layout=True)
    _machine(drawn.boxes, form)
    form = form._replace(is_layout=False)
    machine = _machine(drawn.boxes, form)
    wide = max(machine.width, head.width, 560)
    memory = [_box(box, form, (-1,)) for box in drawn.memory]
    below = [grid(memory, row_columns(memory), BOX_GAP)] if memory else []
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


def _machine(boxes: Sequence[Box], form: _Form) -> Picture:
    pictures = _equal_boxes(boxes, form, ())
    return grid(pictures, form.columns_of((), pictures, row_columns), BOX_GAP)


def _most(boxes: Sequence[Box]) -> dict[int, int]:
    """The cores of the largest group, by the threads of its first core: groups alike have as many
    columns.
    """
    most: dict[int, int] = {}
    todo = list(boxes)
    for box in todo:
        todo += box.boxes
        for group in box.groups:
            threads, count = len(group.cores[0].siblings), len(group.by_cluster())
            most[threads] = max(most.get(threads, 0), count if count > 1 else len(group.cores))
    return most


def _equal_boxes(boxes: Sequence[Box], form: _Form, way: _Way) -> list[Picture]:
    """Boxes that stand together are equally wide, whatever their titles are."""
    pictures = [_box(box, form, (*way, index)) for index, box in enumerate(boxes)]
    widest = max((picture.width for picture in pictures), default=0)
    return [
        picture if picture.width == widest else _box(box, form, (*way, index), widest - 2 * PAD)
        for index, (box, picture) in enumerate(zip(boxes, pictures, strict=True))
    ]


def _box(box: Box, form: _Form, way: _Way, least: int = 0) -> Picture:
    """A box with a title, its content at least `least` wide."""
    inner = _equal_boxes(box.boxes, form, way) or [
        _group(group, form, (*way, index)) for index, group in enumerate(box.groups)
    ]
    columns = form.columns_of((*way, -1), inner, block_columns) if inner else 0
    content = grid(inner, columns, BOX_GAP)
    wide = max(content.width, text_width(box.title, 13), least)
    if box.notes:
        content = grid([content, _notes(box.notes, max(wide, 240), 11)][not inner :], 1, PAD)
    width = max(content.width, wide) + 2 * PAD
    height = content.height + TITLE + 2 * PAD
    ground = INNER if len(way) > 1 or not box.boxes else PANEL
    body = (
        rectangle(0, 0, width, height, ground, LINE, 8)
        + text(PAD, PAD + 10, box.title, 13, bold=True)
        + at(PAD, PAD + TITLE, content.body)
    )
    return Picture(width, height, body)


def _notes(notes: Sequence[str], width: int, size: int) -> Picture:
    """Sentences below one another, broken after commas."""
    lines = [line for note in notes for line in wrapped(note, width * 10 // (size * 6), ", ")]
    body = "".join(
        text(0, size + index * (size + 5), line, size, SOFT) for index, line in enumerate(lines)
    )
    return Picture(
        min(width, max(text_width(line, size) for line in lines)), len(lines) * (size + 5), body
    )


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
            body += f'<rect x="{left}" y="{top}" width="{column - 1}" height="19" fill="#8fd0f5" fill-opacity="{shade}"/>\n'
            body += text(left + column // 2, top + 14, str(value), 11, anchor="middle")
    width = max(first + len(table.heads) * column, text_width(table.title, 13))
    return Picture(width, 40 + len(table.rows) * 20, body)


def _group(group: Group, form: _Form, way: _Way) -> Picture:
    """The cores of one cache on a ground of their own, if it has a title; else bare. Clusters get a
    frame each.
    """
    clusters = group.by_cluster()
    drawn = [[_core(core, form) for core in cluster] for cluster in clusters]
    pictures = drawn[0] if len(drawn) == 1 else [_cluster(each) for each in drawn]
    most = form.most[len(group.cores[0].siblings)]
    columns = form.columns_of(way, pictures, lambda drawn: _columns(drawn, most))
    cores = grid(pictures, min(columns, len(pictures)), CORE_GAP)
    if not group.title:
        return cores
    width, height = max(cores.width, text_width(group.title, 11)) + 16, cores.height + 32
    body = (
        rectangle(0, 0, width, height, PANEL, LINE, 6)
        + text(8, 16, group.title, 11, SOFT)
        + at(8, 24, cores.body)
    )
    return Picture(width, height, body)


def _columns(cores: Sequence[Picture], most: int) -> int:
    """As many cores as a title is wide; of many cores a block that is about twice as wide as
    high.
    """
    width, height = cores[0].width + CORE_GAP, cores[0].height + CORE_GAP
    return even_columns(most, max(320 / width, (2.0 * most * height / width) ** 0.5))


def _cluster(cores: Sequence[Picture]) -> Picture:
    inner = grid(
        cores, len(cores) if len(cores) <= 4 else even_columns(len(cores), len(cores) ** 0.5), 3
    )
    width, height = inner.width + 8, inner.height + 8
    return Picture(
        width, height, rectangle(0, 0, width, height, INNER, LINE, 4) + at(4, 4, inner.body)
    )


def _core(core: Core, form: _Form) -> Picture:
    """A cell for each sibling, side by side, in rows of at most four; a letter tells the pool
    without its colour.
    """
    cpus = sorted((cpu, mark) for mark, part in core.parts for cpu in part)
    columns = min(len(cpus), 4)
    plain = not form.is_layout and not any(mark.letter for _, mark in cpus)
    cell, high = (max(24, 7 * form.digits + 8), PLAIN_HEIGHT) if plain else (CPU_WIDTH, CPU_HEIGHT)
    over = () if form.is_layout else form.over
    step = high + (BAR if over else 0)
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
        for number, (bar, members, _) in enumerate(over):
            if cpu in members:
                body += _bar(left + number * cell // len(over), top + high, cell // len(over), bar)
    return Picture(columns * cell, -(-len(cpus) // columns) * step, body + "</g>\n")


def _marked(left: int, top: int, width: int, height: int, mark: Mark) -> str:
    body = rectangle(left, top, width, height, *fill_of(mark.style))
    if pattern := pattern_of(mark.style):
        body += f'<rect x="{left + 1}" y="{top + 1}" width="{width - 2}" height="{height - 2}" fill="{pattern}"/>\n'
    return body


def _bar(left: int, top: int, width: int, mark: Mark) -> str:
    """A set that lies over the pools: solid below the left half of a CPU, hollow below its right
    one.
    """
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
    letter = text(
        14, top + 14, mark.letter.strip(), 11, ink_of(mark.style), bold=True, anchor="middle"
    )
    return _marked(0, top, 28, 20, mark) + letter
