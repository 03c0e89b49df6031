"""A map as a self-contained SVG 1.1 picture: no fonts or scripts from outside, dark where its reader's screen is."""

from collections.abc import Sequence
from typing import NamedTuple

from cpuplan.render.machine import Box, Core, Group, Map, Table, label, letter

#: Fill and border of the pools: tints of Okabe and Ito's palette, which every kind of colour blindness tells apart.
#: https://jfly.uni-koeln.de/color/ The text on them is dark, contrast above 7:1.
FILLS = {
    "reserved": ("#f6b96b", "#b36b00"),
    "shared": ("#f5e663", "#a89400"),
    "isolated": ("#8fd0f5", "#1f78a8"),
    "offlined": ("#c9ccd1", "#7b828c"),
    "offline": ("#eef0f2", "#a3a9b1"),
    "off": ("#eef0f2", "#a3a9b1"),
    "plain": ("#dceaf7", "#7ba3c4"),
    "performance": ("#8fd0f5", "#1f78a8"),
    "efficient": ("#bfe3c8", "#3f8f5b"),
    "lowPower": ("#f5e663", "#a89400"),
    "kind0": ("#bfe3c8", "#3f8f5b"),
    "kind1": ("#8fd0f5", "#1f78a8"),
    "kind2": ("#f6b96b", "#b36b00"),
    "kind3": ("#f5e663", "#a89400"),
}
#: For the owners of CPUs, one after the other; the first for all else.
OTHERS = (("#e3b5d0", "#a3517d"), FILLS["efficient"], FILLS["plain"], FILLS["shared"])
INK, SOFT, LINE, GROUND, PANEL, INNER = "#1b2430", "#5a6675", "#c5ccd6", "#ffffff", "#f5f7fa", "#ffffff"
#: What each colour becomes on a dark screen; borders of cores are strong enough for both.
DARK = {
    INK: "#e6ebf1",
    SOFT: "#9aa7b5",
    GROUND: "#10151b",
    PANEL: "#1a2129",
    "#f6b96b": "#8a5200",
    "#f5e663": "#6b5f00",
    "#8fd0f5": "#135a80",
    "#c9ccd1": "#4b525c",
    "#eef0f2": "#232a33",
    "#dceaf7": "#1f3a52",
    "#bfe3c8": "#1f5a35",
    "#e3b5d0": "#6e2f52",
}
DARK_LINE = "#3b4653"

#: One CPU, in pixels, with and without the letter of a pool; between cores; around the content of a box; height of a
#: title; between boxes.
CPU_WIDTH, CPU_HEIGHT, PLAIN_HEIGHT, CORE_GAP, PAD, TITLE, BOX_GAP = 34, 36, 22, 6, 14, 24, 14
MARGIN = 28
#: Sockets stand side by side up to this width, else in rows.
WIDEST = 1500
MANY_BOXES = 16


class Picture(NamedTuple):
    """A drawing from its own (0, 0), and its size in pixels."""

    width: int
    height: int
    body: str


def draw_svg(drawn: Map) -> str:
    """The picture of a map: header, sockets with what is in them, what has no place in them, legend."""
    head = _header(drawn)
    digits = len(str(drawn.last_cpu))
    machine = _side_by_side(_equal_boxes(drawn.boxes, digits, depth=0))
    wide = max(machine.width, head.width, 560)
    below = [_side_by_side([_box(box, digits, depth=1) for box in drawn.memory])] if drawn.memory else []
    if drawn.notes:
        below.append(_notes(drawn.notes, wide, 13))
    if drawn.table:
        below.append(_table(drawn.table))
    if drawn.legend:
        below.append(_legend(drawn, wide))
    parts = _grid([head, machine, *below], 1, 22)
    width, height = parts.width + 2 * MARGIN, parts.height + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img"\nfont-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif" fill="{INK}">\n'
        f"<title>{_escaped(drawn.about)}</title>\n"
        f"{_style()}"
        f'<rect width="{width}" height="{height}" fill="{GROUND}"/>\n'
        f"{_at(MARGIN, MARGIN, parts.body)}</svg>\n"
    )


def _style() -> str:
    """The colours of dark screens: rules win over the attributes that they select."""
    rules = [f'[fill="{light}"]{{fill:{dark}}}' for light, dark in DARK.items()]
    return (
        f'<style>@media(prefers-color-scheme:dark){{{"".join(rules)}[stroke="{LINE}"]{{stroke:{DARK_LINE}}}}}</style>\n'
    )


def _header(drawn: Map) -> Picture:
    body = _text(0, 20, drawn.title, 22, bold=True)
    for index, line in enumerate(drawn.lines):
        body += _text(0, 44 + 20 * index, line, 13, SOFT)
    width = max([_text_width(drawn.title, 22), *(_text_width(line, 13) for line in drawn.lines)])
    return Picture(width, 34 + 20 * len(drawn.lines), body)


def _side_by_side(pictures: Sequence[Picture]) -> Picture:
    """One row if it is not wider than WIDEST, else as few as hold them, filled evenly; of many, about a square."""
    if sum(picture.width + BOX_GAP for picture in pictures) - BOX_GAP <= WIDEST:
        return _grid(pictures, len(pictures), BOX_GAP)
    width = max(picture.width for picture in pictures) + BOX_GAP
    height = max(picture.height for picture in pictures) + BOX_GAP
    fitting = max(1, (WIDEST + BOX_GAP) // width)
    if len(pictures) > MANY_BOXES:
        fitting = max(fitting, round((1.4 * len(pictures) * height / width) ** 0.5))
    rows = -(-len(pictures) // fitting)
    return _grid(pictures, -(-len(pictures) // rows), BOX_GAP)


def _equal_boxes(boxes: Sequence[Box], digits: int, depth: int) -> list[Picture]:
    """Boxes that stand together are equally wide, whatever their titles are."""
    pictures = [_box(box, digits, depth) for box in boxes]
    widest = max((picture.width for picture in pictures), default=0)
    return [
        picture if picture.width == widest else _box(box, digits, depth, widest - 2 * PAD)
        for box, picture in zip(boxes, pictures, strict=True)
    ]


def _box(box: Box, digits: int, depth: int, least: int = 0) -> Picture:
    """A box with a title, its content at least `least` wide."""
    inner = _equal_boxes(box.boxes, digits, depth + 1) or [_group(group, digits) for group in box.groups]
    content = _grid(inner, _columns(inner), BOX_GAP)
    wide = max(content.width, _text_width(box.title, 13), least)
    if box.notes:
        content = _grid([content, _notes(box.notes, max(wide, 240), 11)][not inner :], 1, PAD)
    width = max(content.width, wide) + 2 * PAD
    height = content.height + TITLE + 2 * PAD
    ground = INNER if depth or not box.boxes else PANEL
    body = (
        _rectangle(0, 0, width, height, ground, LINE, 8)
        + _text(PAD, PAD + 10, box.title, 13, bold=True)
        + _at(PAD, PAD + TITLE, content.body)
    )
    return Picture(width, height, body)


def _notes(notes: Sequence[str], width: int, size: int) -> Picture:
    """Sentences below one another, broken after commas."""
    lines = [line for note in notes for line in _lines(note, width * 10 // (size * 6), ", ")]
    body = "".join(_text(0, size + index * (size + 5), line, size, SOFT) for index, line in enumerate(lines))
    return Picture(min(width, max(_text_width(line, size) for line in lines)), len(lines) * (size + 5), body)


def _table(table: Table) -> Picture:
    """Distances, the farther the darker."""
    texts = [*table.heads, *(str(value) for _, values in table.rows for value in values)]
    column = max(_text_width(text, 11) for text in texts) + 12
    first = max(_text_width(head, 11) for head, _ in table.rows) + 12
    body = _text(0, 12, table.title, 13, bold=True)
    for index, head in enumerate(table.heads):
        body += _text(first + index * column + column // 2, 34, head, 11, SOFT, anchor="middle")
    ranks = sorted({value for _, values in table.rows for value in values})
    for row, (head, values) in enumerate(table.rows):
        top = 40 + row * 20
        body += _text(first - 12, top + 14, head, 11, SOFT, anchor="end")
        for index, value in enumerate(values):
            shade = f"{ranks.index(value) / max(len(ranks) - 1, 1):.2f}"
            left = first + index * column
            body += (
                f'<rect x="{left}" y="{top}" width="{column - 1}" height="19" fill="#8fd0f5" fill-opacity="{shade}"/>\n'
            )
            body += _text(left + column // 2, top + 14, str(value), 11, anchor="middle")
    width = max(first + len(table.heads) * column, _text_width(table.title, 13))
    return Picture(width, 40 + len(table.rows) * 20, body)


def _group(group: Group, digits: int) -> Picture:
    """The cores of one cache on a ground of their own, if it has a title; else bare. Clusters get a frame each."""
    clusters = group.by_cluster()
    drawn = [[_core(core, digits) for core in cores] for cores in clusters]
    pictures = drawn[0] if len(drawn) == 1 else [_cluster(cores) for cores in drawn]
    grid = _grid(pictures, _even_columns(pictures), CORE_GAP)
    if not group.title:
        return grid
    width, height = max(grid.width, _text_width(group.title, 11)) + 16, grid.height + 32
    body = _rectangle(0, 0, width, height, PANEL, LINE, 6) + _text(8, 16, group.title, 11, SOFT) + _at(8, 24, grid.body)
    return Picture(width, height, body)


def _cluster(cores: Sequence[Picture]) -> Picture:
    grid = _grid(cores, len(cores) if len(cores) <= 4 else _nearest(len(cores), len(cores) ** 0.5), 3)
    width, height = grid.width + 8, grid.height + 8
    return Picture(width, height, _rectangle(0, 0, width, height, INNER, LINE, 4) + _at(4, 4, grid.body))


def _core(core: Core, digits: int) -> Picture:
    """A cell for each sibling, side by side, in rows of at most four; a letter tells the pool without its colour."""
    cpus = sorted((cpu, pool) for pool, part in core.parts for cpu in part)
    columns = min(len(cpus), 4)
    plain = not any(letter(pool) for _, pool in cpus)
    cell, high = (max(24, 7 * digits + 8), PLAIN_HEIGHT) if plain else (CPU_WIDTH, CPU_HEIGHT)
    told = core.told or "; ".join(f"{label(pool)} {part}" for pool, part in core.parts)
    body = f"<g><title>{_escaped(f'core {core.siblings.first}: {told}')}</title>\n"
    for index, (cpu, pool) in enumerate(cpus):
        left, top = index % columns * cell, index // columns * high
        body += _rectangle(left, top, cell, high, *_fill(pool))
        if not plain:
            body += _text(left + cell // 2, top + 12, letter(pool), 9, bold=True, anchor="middle")
        body += _text(left + cell // 2, top + high - (7 if plain else 8), str(cpu), 11, anchor="middle")
    return Picture(columns * cell, -(-len(cpus) // columns) * high, body + "</g>\n")


def _fill(pool: str) -> tuple[str, str]:
    """Fill and border."""
    owner = ord(pool[0]) if ": " in pool else 0
    return FILLS.get(pool) or OTHERS[owner % len(OTHERS)]


def _legend(drawn: Map, width: int) -> Picture:
    body, top = "", 0
    numbers = max(186, *(_text_width(label(pool), 13) + 110 for pool, _ in drawn.legend), 0)
    for pool, cpus in drawn.legend:
        if mark := letter(pool):
            body += _rectangle(0, top, 28, 20, *_fill(pool))
            body += _text(14, top + 14, mark, 11, bold=True, anchor="middle")
        body += _text(40, top + 14, label(pool), 13, bold=True)
        body += _text(numbers, top + 14, f"{len(cpus)} CPU{'s' if len(cpus) > 1 else ''}", 13, anchor="end")
        for line in _lines(str(cpus), (width - numbers - 18) // 8, ","):
            body += _text(numbers + 18, top + 14, line, 13, SOFT)
            top += 19
        top += 9
    return Picture(width, top, body)


def _grid(pictures: Sequence[Picture], columns: int, gap: int) -> Picture:
    """Pictures in rows; columns as wide as their widest."""
    rows = [pictures[at : at + columns] for at in range(0, len(pictures), max(columns, 1))]
    widths = [
        max(row[column].width for row in rows if column < len(row)) for column in range(min(columns, len(pictures)))
    ]
    body, top = "", 0
    for row in rows:
        left = 0
        for picture, width in zip(row, widths, strict=False):
            body += _at(left, top, picture.body)
            left += width + gap
        top += max(picture.height for picture in row) + gap
    return Picture(sum(widths) + gap * max(len(widths) - 1, 0), max(top - gap, 0), body)


def _columns(pictures: Sequence[Picture]) -> int:
    """How many side by side make a block that is about one and a half times as wide as high."""
    if not pictures:
        return 1
    width = max(picture.width for picture in pictures) + BOX_GAP
    height = max(picture.height for picture in pictures) + BOX_GAP
    return _nearest(len(pictures), (1.5 * len(pictures) * height / width) ** 0.5)


def _even_columns(cores: Sequence[Picture]) -> int:
    """As many cores as a title is wide; of many cores a block that is about twice as wide as high."""
    width, height = cores[0].width + CORE_GAP, cores[0].height + CORE_GAP
    return _nearest(len(cores), max(320 / width, (2.0 * len(cores) * height / width) ** 0.5))


def _nearest(count: int, wanted: float) -> int:
    """The number of columns nearest to `wanted` that leaves the fewest gaps in the last row."""
    tried = range(min(count, max(1, round(wanted * 0.7))), min(count, round(wanted * 1.5) + 1) + 1)
    return min(tried, key=lambda columns: (-count % columns, abs(columns - wanted)), default=1)


def _lines(text: str, width: int, separator: str) -> list[str]:
    lines = [""]
    for item in text.replace(separator, f"{separator}\n").split("\n"):
        if len(lines[-1]) + len(item) > width and lines[-1]:
            lines.append("")
        lines[-1] += item
    return lines


def _rectangle(x: int, y: int, width: int, height: int, fill: str, edge: str, radius: int = 0) -> str:
    """A rectangle whose border, a pixel wide, lies inside of it."""
    corner = f' rx="{radius}"' * bool(radius)
    size = f'x="{x + 0.5}" y="{y + 0.5}" width="{width - 1}" height="{height - 1}"'
    return f'<rect {size}{corner} fill="{fill}" stroke="{edge}"/>\n'


def _text(x: int, y: int, text: str, size: int, fill: str = "", *, bold: bool = False, anchor: str = "") -> str:
    marks = f' fill="{fill}"' * bool(fill) + ' font-weight="bold"' * bold + f' text-anchor="{anchor}"' * bool(anchor)
    return f'<text x="{x}" y="{y}" font-size="{size}"{marks}>{_escaped(text)}</text>\n'


def _at(x: int, y: int, body: str) -> str:
    return f'<g transform="translate({x} {y})">\n{body}</g>\n' if x or y else body


def _text_width(text: str, size: int) -> int:
    """Enough room for `text` in a bold sans serif: there are no fonts to ask."""
    return int(len(text) * size * 0.66) + 1


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
