"""A map as a self-contained SVG 1.1 picture: no fonts or scripts, dark on dark screens."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from typing import NamedTuple, TypeAlias
from xml.sax.saxutils import escape

from cpuplan.base.text import counted, printable_values
from cpuplan.render.map.boxes import Box, Core, Entry, Group, Map, Mark, Table

#: Fill and border of the pools: tints of Okabe and Ito's palette, which differ to every kind of
#: colour blindness (https://jfly.uni-koeln.de/color/). The dark text on them has a contrast of 7:1.
FILLS = {
    "reserved": ("#f6b96b", "#b36b00"),
    "shared": ("#f5e663", "#a89400"),
    "isolated": ("#8fd0f5", "#1f78a8"),
    "isolcpus": ("#e3b5d0", "#a3517d"),
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
OTHER = FILLS["isolcpus"]
#: Partitions of isolated are tints of its blue and near it, each with a pattern, which prints
#: without colour.
PARTITIONS = (
    ("#a9def8", "#1f78a8"),
    ("#a5ddd3", "#1d7f72"),
    ("#c3cdf7", "#4a5fb5"),
    ("#d6c9f2", "#7652a8"),
)
#: What a pattern's tile of 8 pixels has: strokes, on the fill of its partition.
PATTERNS = (
    "M-2 2L2 -2M0 8L8 0M6 10L10 6",
    "M2 2h1M6 6h1",
    "M0 4H8M4 0V8",
    "M-2 6L2 10M0 0L8 8M6 -2L10 2",
    "M0 4H8",
    "M4 0V8",
)
#: Containers with exclusive CPUs are dark, all else is light; on dark screens the reverse.
OWNERS = ("#8c2d04", "#5b2a86", "#00553d", "#7a1253", "#1b3f8b", "#4a4a3a")
OWNER_EDGE, OWNER_INK = "#000001", "#fefefe"
#: QoS sets: bars below the CPUs.
SETS = {"bestEffort": "#3c4a5a", "other": "#9aa5b1"}
INK, SOFT, LINE = "#1b2430", "#5a6675", "#c5ccd6"
GROUND, PANEL, INNER = "#ffffff", "#f5f7fa", "#ffffff"
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
    "#a9def8": "#1c6a94",
    "#a5ddd3": "#1b5f55",
    "#c3cdf7": "#3a4a8f",
    "#d6c9f2": "#584080",
    "#8c2d04": "#f4a582",
    "#5b2a86": "#cbb2e8",
    "#00553d": "#8fdcc0",
    "#7a1253": "#f2a6d0",
    "#1b3f8b": "#a9c1f5",
    "#4a4a3a": "#d8d8b8",
    OWNER_INK: "#0b0f14",
    "#3c4a5a": "#c9d3de",
    "#9aa5b1": "#6b7683",
}
DARK_LINE = "#3b4653"


def style() -> str:
    """The colours of dark screens: rules win over the attributes that they select."""
    rules = [f'[fill="{light}"]{{fill:{dark}}}' for light, dark in DARK.items()]
    rules += [f'[stroke="{LINE}"]{{stroke:{DARK_LINE}}}', "pattern path{stroke:#fff}"]
    return f"<style>@media(prefers-color-scheme:dark){{{''.join(rules)}}}</style>\n"


def fill_of(style: str) -> tuple[str, str]:
    """Fill and border of a mark's style."""
    kind = style.rstrip("0123456789")
    number = int(style.removeprefix(kind) or 0)
    if kind == "partition":
        return PARTITIONS[number % len(PARTITIONS)]
    if kind == "owner":
        return OWNERS[number % len(OWNERS)], OWNER_EDGE
    return FILLS.get(style, OTHER)


def ink_of(style: str) -> str:
    """The colour of letters and numbers on a mark; empty for that of all text."""
    return OWNER_INK if style.startswith("owner") else ""


def pattern_of(style: str) -> str:
    """What SVG fills a mark with over its colour; empty for nothing."""
    return f"url(#{style})" if style.startswith("partition") else ""


def pattern_definitions(styles: Iterable[str]) -> str:
    """The patterns of partitions that are in use."""
    definitions = ""
    for style in sorted(set(filter(pattern_of, styles))):
        path = PATTERNS[int(style.removeprefix("partition")) % len(PATTERNS)]
        _, edge = fill_of(style)
        tile = f'id="{style}" width="8" height="8" patternUnits="userSpaceOnUse"'
        stroke = f'stroke="{edge}" stroke-opacity="0.4" stroke-width="1.4" stroke-linecap="square"'
        definitions += f'<pattern {tile}><path d="{path}" {stroke}/></pattern>\n'
    return f"<defs>\n{definitions}</defs>\n" if definitions else ""


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


#: The way to a part of a picture: numbers of boxes and groups from the outside in.
Way: TypeAlias = tuple[int, ...]


class Form(NamedTuple):
    """What all cores of a picture have in common.

    `columns` has the columns of each part, by the way to it. They are chosen once, for cores with
    the letters of pools and nothing below them (`is_layout`), so that a plan is arranged as its
    bare machine is.
    """

    digits: int
    over: tuple[Entry, ...]  # sets that are drawn below the cores
    most: Mapping[int, int]  # cores of the largest group, by threads
    columns: dict[Way, int]
    is_layout: bool

    def columns_of(
        self, way: Way, pictures: Sequence[Picture], choose: Callable[[Sequence[Picture]], int]
    ) -> int:
        """The columns of the part at `way`, chosen while the picture is laid out."""
        if self.is_layout:
            self.columns[way] = choose(pictures)
        return self.columns[way]


def form_of(drawn: Map) -> Form:
    """The form to lay a map out with."""
    most = _largest_groups(drawn.boxes)
    return Form(len(str(drawn.last_cpu)), drawn.over, most, {}, is_layout=True)


def _largest_groups(boxes: Sequence[Box]) -> dict[int, int]:
    """The cores of the largest group, by threads: groups alike have as many columns."""
    most: dict[int, int] = {}
    todo = list(boxes)
    for box in todo:
        todo += box.boxes
        for group in box.groups:
            threads, clusters = len(group.cores[0].siblings), len(group.by_cluster())
            count = clusters if clusters > 1 else len(group.cores)
            most[threads] = max(most.get(threads, 0), count)
    return most


#: One CPU in pixels, with and without the letter of a pool; between cores.
CPU_WIDTH, CPU_HEIGHT, PLAIN_HEIGHT, CORE_GAP = 34, 36, 22, 6
#: The height of the bars below a CPU, with what is around them.
BAR = 9


class _CellSize(NamedTuple):
    """The size of one CPU, in pixels, and whether it has room for the letter of a pool."""

    width: int
    height: int
    has_letters: bool


def group_picture(group: Group, form: Form, way: Way) -> Picture:
    """The cores of a cache on a ground of their own if it has a title; clusters in a frame each."""
    clusters = [_cores(cluster, form) for cluster in group.by_cluster()]
    pictures = clusters[0] if len(clusters) == 1 else list(map(_cluster, clusters))
    most = form.most[len(group.cores[0].siblings)]
    columns = form.columns_of(way, pictures, lambda cores: _in_columns(cores, most))
    cores = grid(pictures, min(columns, len(pictures)), CORE_GAP)
    if not group.title:
        return cores
    width, height = max(cores.width, text_width(group.title, 11)) + 16, cores.height + 32
    ground = rectangle(0, 0, width, height, PANEL, LINE, 6)
    title = text(8, 16, group.title, 11, SOFT)
    return Picture(width, height, ground + title + at(8, 24, cores.body))


def marked(left: int, top: int, width: int, height: int, mark: Mark) -> str:
    """A rectangle in the colour and pattern of a mark."""
    body = rectangle(left, top, width, height, *fill_of(mark.style))
    if pattern := pattern_of(mark.style):
        place = f'x="{left + 1}" y="{top + 1}" width="{width - 2}" height="{height - 2}"'
        body += f'<rect {place} fill="{pattern}"/>\n'
    return body


def bar(left: int, top: int, width: int, mark: Mark) -> str:
    """A set over the pools: solid below the left half of a CPU, hollow below its right one."""
    colour = SETS.get(mark.name, INK)
    fill = colour if mark.name == "bestEffort" else GROUND
    place = f'x="{left + 1.5}" y="{top + 1.5}" width="{width - 3}" height="{BAR - 4}"'
    return f'<rect {place} fill="{fill}" stroke="{colour}"/>\n'


def _in_columns(cores: Sequence[Picture], most: int) -> int:
    """As many as a title is wide; of many cores a block about twice as wide as high."""
    width, height = cores[0].width + CORE_GAP, cores[0].height + CORE_GAP
    return even_columns(most, max(320 / width, (2.0 * most * height / width) ** 0.5))


def _cluster(cores: Sequence[Picture]) -> Picture:
    count = len(cores)
    inner = grid(cores, count if count <= 4 else even_columns(count, count**0.5), 3)
    width, height = inner.width + 8, inner.height + 8
    frame = rectangle(0, 0, width, height, INNER, LINE, 4)
    return Picture(width, height, frame + at(4, 4, inner.body))


def _cores(cluster: Iterable[Core], form: Form) -> list[Picture]:
    return [_core(core, form) for core in cluster]


def _core(core: Core, form: Form) -> Picture:
    """A cell for each sibling, side by side, in rows of at most four."""
    cpus = sorted((cpu, mark) for mark, part in core.parts for cpu in part)
    size = _cell_size(form, any(mark.letter for _, mark in cpus))
    has_bars = bool(form.over) and not form.is_layout
    step = size.height + BAR * has_bars
    columns, rows = min(len(cpus), 4), -(-len(cpus) // 4)
    body = f"<g><title>{escaped(_hint(core))}</title>\n"
    for index, (cpu, mark) in enumerate(cpus):
        left, top = index % columns * size.width, index // columns * step
        body += _cell(left, top, size, cpu, mark)
        if has_bars:
            body += _bars(left, top + size.height, size.width, cpu, form.over)
    return Picture(columns * size.width, rows * step, body + "</g>\n")


def _cell_size(form: Form, has_letters: bool) -> _CellSize:
    if form.is_layout or has_letters:
        return _CellSize(CPU_WIDTH, CPU_HEIGHT, has_letters=True)
    return _CellSize(max(24, 7 * form.digits + 8), PLAIN_HEIGHT, has_letters=False)


def _cell(left: int, top: int, size: _CellSize, cpu: int, mark: Mark) -> str:
    """A CPU; a letter says its pool without its colour."""
    middle, ink = left + size.width // 2, ink_of(mark.style)
    body = marked(left, top, size.width, size.height, mark)
    base = top + size.height - 7
    if size.has_letters:
        body += text(middle, top + 12, mark.letter.strip(), 9, ink, bold=True, anchor="middle")
        base -= 1
    return body + text(middle, base, str(cpu), 11, ink, anchor="middle")


def _bars(left: int, top: int, width: int, cpu: int, sets: Sequence[Entry]) -> str:
    """A bar for each set that the CPU is in."""
    body = ""
    for number, entry in enumerate(sets):
        if cpu in entry.cpus:
            body += bar(left + number * width // len(sets), top, width // len(sets), entry.mark)
    return body


def _hint(core: Core) -> str:
    """What a picture shows when the core is pointed at."""
    owners = [f"{mark.name} {part}" for mark, part in core.parts if mark.letter]
    hints = [*owners, core.hint] if core.hint else owners
    return f"core {core.siblings.first}: {'; '.join(hints)}"


#: Pixels around the content of a box; the height of its title.
PAD, TITLE = 14, 24


def machine_picture(boxes: Sequence[Box], form: Form) -> Picture:
    """All boxes."""
    pictures = _equal_boxes(boxes, form, ())
    return grid(pictures, form.columns_of((), pictures, row_columns), BOX_GAP)


def box_picture(box: Box, form: Form, way: Way, least: int = 0) -> Picture:
    """A box with a title, its content at least `least` wide."""
    inner = _equal_boxes(box.boxes, form, way)
    if not inner:
        groups = enumerate(box.groups)
        inner = [group_picture(group, form, (*way, index)) for index, group in groups]
    columns = form.columns_of((*way, -1), inner, block_columns) if inner else 0
    content = grid(inner, columns, BOX_GAP)
    wide = max(content.width, text_width(box.title, 13), least)
    if box.notes:
        notes = notes_picture(box.notes, max(wide, 240), 11)
        content = grid([content, notes] if inner else [notes], 1, PAD)
    width = max(content.width, wide) + 2 * PAD
    height = content.height + TITLE + 2 * PAD
    is_panel = bool(box.boxes) and len(way) <= 1
    frame = rectangle(0, 0, width, height, PANEL if is_panel else INNER, LINE, 8)
    title = text(PAD, PAD + 10, box.title, 13, bold=True)
    return Picture(width, height, frame + title + at(PAD, PAD + TITLE, content.body))


def notes_picture(notes: Sequence[str], width: int, size: int) -> Picture:
    """Sentences below one another, broken after commas."""
    lines: list[str] = []
    for note in notes:
        lines += wrapped(note, width * 10 // (size * 6), ", ")
    step = size + 5
    body = "".join(
        text(0, size + index * step, line, size, SOFT) for index, line in enumerate(lines)
    )
    longest = max(text_width(line, size) for line in lines)
    return Picture(min(width, longest), len(lines) * step, body)


def _equal_boxes(boxes: Sequence[Box], form: Form, way: Way) -> list[Picture]:
    """Boxes that stand together are equally wide, whatever their titles are."""
    pictures = [box_picture(box, form, (*way, index)) for index, box in enumerate(boxes)]
    widest = max((picture.width for picture in pictures), default=0)
    for index, box in enumerate(boxes):
        if pictures[index].width < widest:
            pictures[index] = box_picture(box, form, (*way, index), widest - 2 * PAD)
    return pictures


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
