"""Cores in pictures: a cell for each sibling, in clusters and groups."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cpuplan.render.map.boxes import Core, Entry, Group
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
    pattern_of,
)
from cpuplan.render.map.svg.form import Form, Way
from cpuplan.render.map.svg.shapes import (
    Picture,
    at,
    escaped,
    even_columns,
    grid,
    rectangle,
    text,
    text_width,
)

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
    columns = form.columns_of(way, pictures, lambda cores: _columns(cores, most))
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


def _columns(cores: Sequence[Picture], most: int) -> int:
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
