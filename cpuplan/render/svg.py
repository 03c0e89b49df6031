"""The map of a node as a self-contained SVG 1.1 picture: light ground, dark text, no fonts or scripts from outside."""

from collections.abc import Sequence
from typing import NamedTuple

from cpuplan.plan import NodePlan
from cpuplan.render.machine import Box, Core, Group, boxes, empty_nodes, headline, legend, letter

#: Fill and border of the pools: tints of Okabe and Ito's palette, which every kind of colour blindness tells apart.
#: https://jfly.uni-koeln.de/color/ The text on them is dark, contrast above 7:1.
FILLS = {
    "reserved": ("#f6b96b", "#b36b00"),
    "shared": ("#f5e663", "#a89400"),
    "isolated": ("#8fd0f5", "#1f78a8"),
    "offlined": ("#c9ccd1", "#7b828c"),
    "offline": ("#eef0f2", "#a3a9b1"),
}
OTHER = ("#e3b5d0", "#a3517d")
INK, SOFT, LINE, GROUND, PANEL, INNER = "#1b2430", "#5a6675", "#c5ccd6", "#ffffff", "#f5f7fa", "#ffffff"

#: One CPU, in pixels; between cores; around the content of a box; height of a title; between boxes.
CPU_WIDTH, CPU_HEIGHT, CORE_GAP, PAD, TITLE, BOX_GAP = 34, 36, 6, 14, 24, 14
MARGIN = 28
#: Sockets stand side by side up to this width, else one above the other.
WIDEST = 1500


class Picture(NamedTuple):
    """A drawing from its own (0, 0), and its size in pixels."""

    width: int
    height: int
    body: str


def show_svg(plan: NodePlan, node: str) -> str:
    """The picture of `node`: header, sockets with what is in them, legend."""
    head = _header(plan, node)
    outer = [_box(box, depth=0) for box in boxes(plan)]
    beside = sum(picture.width + BOX_GAP for picture in outer) - BOX_GAP <= WIDEST
    machine = _grid(outer, len(outer) if beside else 1, BOX_GAP)
    below = _legend(plan, max(machine.width, head.width, 560))
    parts = _grid([head, machine, below], 1, 22)
    width, height = parts.width + 2 * MARGIN, parts.height + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img"\nfont-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif" fill="{INK}">\n'
        f"<title>{_escaped(f'CPU pools of {node}')}</title>\n"
        f'<rect width="{width}" height="{height}" fill="{GROUND}"/>\n'
        f"{_at(MARGIN, MARGIN, parts.body)}</svg>\n"
    )


def _header(plan: NodePlan, node: str) -> Picture:
    lines = headline(plan)
    body = _text(0, 20, node, 22, bold=True)
    for index, line in enumerate(lines):
        body += _text(0, 44 + 20 * index, line, 13, SOFT)
    return Picture(max(_text_width(line, 13) for line in lines), 34 + 20 * len(lines), body)


def _box(box: Box, depth: int) -> Picture:
    inner = [_box(part, depth + 1) for part in box.boxes] or [_group(group) for group in box.groups]
    content = _grid(inner, _columns(inner), BOX_GAP)
    width = max(content.width, _text_width(box.title, 13)) + 2 * PAD
    height = content.height + TITLE + 2 * PAD
    ground = INNER if depth or not box.boxes else PANEL
    body = (
        _rectangle(0, 0, width, height, ground, LINE, 8)
        + _text(PAD, PAD + 10, box.title, 13, bold=True)
        + _at(PAD, PAD + TITLE, content.body)
    )
    return Picture(width, height, body)


def _group(group: Group) -> Picture:
    """The cores of one cache on a ground of their own, if it has a title; else bare."""
    cores = [_core(core) for core in group.cores]
    grid = _grid(cores, _even_columns(cores), CORE_GAP)
    if not group.title:
        return grid
    width, height = max(grid.width, _text_width(group.title, 11)) + 16, grid.height + 32
    body = _rectangle(0, 0, width, height, PANEL, LINE, 6) + _text(8, 16, group.title, 11, SOFT) + _at(8, 24, grid.body)
    return Picture(width, height, body)


def _core(core: Core) -> Picture:
    """A cell for each sibling, side by side, in rows of at most four; a letter tells the pool without its colour."""
    cpus = sorted((cpu, pool) for pool, part in core.parts for cpu in part)
    columns = min(len(cpus), 4)
    told = "; ".join(f"{pool or 'no pool'} {part}" for pool, part in core.parts)
    body = f"<g><title>{_escaped(f'core {core.siblings.first}: {told}')}</title>\n"
    for index, (cpu, pool) in enumerate(cpus):
        left, top = index % columns * CPU_WIDTH, index // columns * CPU_HEIGHT
        body += _rectangle(left, top, CPU_WIDTH, CPU_HEIGHT, *FILLS.get(pool, OTHER))
        body += _text(left + CPU_WIDTH // 2, top + 12, letter(pool), 9, bold=True, anchor="middle")
        body += _text(left + CPU_WIDTH // 2, top + CPU_HEIGHT - 8, str(cpu), 11, anchor="middle")
    width, height = columns * CPU_WIDTH, -(-len(cpus) // columns) * CPU_HEIGHT
    return Picture(width, height, body + "</g>\n")


def _legend(plan: NodePlan, width: int) -> Picture:
    body, top = "", 0
    for pool, cpus in legend(plan):
        body += _rectangle(0, top, 28, 20, *FILLS.get(pool, OTHER))
        body += _text(14, top + 14, letter(pool), 11, bold=True, anchor="middle")
        body += _text(40, top + 14, pool or "no pool", 13, bold=True)
        body += _text(186, top + 14, f"{len(cpus)} CPU{'s' if len(cpus) > 1 else ''}", 13, anchor="end")
        for line in _lines(str(cpus), (width - 204) // 8):
            body += _text(204, top + 14, line, 13, SOFT)
            top += 19
        top += 9
    if nodes := empty_nodes(plan.topology):
        body += _text(0, top + 14, f"NUMA nodes without CPUs: {', '.join(nodes)}", 13, SOFT)
        top += 24
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
    tried = range(max(1, round(wanted * 0.7)), min(count, round(wanted * 1.5) + 1) + 1)
    return min(tried, key=lambda columns: (-count % columns, abs(columns - wanted)), default=1)


def _lines(text: str, width: int) -> list[str]:
    lines = [""]
    for item in text.replace(",", ",\n").split("\n"):
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
