"""A node's pools drawn on its sockets, NUMA nodes, caches and cores, for a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.cpuset import CpuSet
from cpuplan.plan import NodePlan
from cpuplan.render.ansi import paint
from cpuplan.render.machine import Box, Core, Group, boxes, empty_nodes, headline, legend, letter
from cpuplan.render.svg import show_svg

__all__ = ["show", "show_svg"]

#: Rows of cores beyond which a map no longer fits a screen or two; then each cache is told in ranges of CPUs.
MOST_ROWS = 64
#: Nothing is drawn narrower than this.
LEAST_WIDTH = 48
#: Letters of a strip in one row, and between two blanks.
STRIP_ROW, STRIP_STEP = 64, 8


class Span(NamedTuple):
    """Text in a style of ansi.STYLES."""

    text: str
    style: str = ""


Line = list[Span]


def show(plan: NodePlan, node: str, *, colour: bool, width: int = 100) -> str:
    """The map of `node`: header, boxes, legend. `width` is the terminal's; letters say all that colours say."""
    width = max(width, LEAST_WIDTH)
    outer = boxes(plan)
    depth = 2 if any(box.boxes for box in outer) else 1
    leaves = [leaf for box in outer for leaf in (box.boxes or (box,))]
    contents, condensed = _contents(leaves, len(str(plan.topology.online.last)), width - 4 * depth)
    lines: list[Line] = [[Span(_cut(text, width), style)] for text, style in zip(headline(plan, node), ("bold", ""))]
    lines += [[], *_boxes(outer, contents, depth, width)]
    if nodes := empty_nodes(plan.topology):
        lines.append([Span(_cut(f"without CPUs: {'; '.join(nodes)}", width))])
    lines += [[], *_legend(plan, width, condensed)]
    return "".join("".join(paint(*span, colour) for span in line).rstrip() + "\n" for line in lines)


def _contents(leaves: Sequence[Box], digits: int, room: int) -> tuple[list[list[Line]], bool]:
    """The lines inside of each innermost box, at most `room` wide; and whether they had to be condensed."""
    if all(_cell_width(group, digits) <= room - _title_width(box) for box in leaves for group in box.groups):
        drawn = [list(_drawn(box, digits, room)) for box in leaves]
        if sum(map(len, drawn)) <= MOST_ROWS:
            return drawn, False
    return [list(_condensed(box, room)) for box in leaves], True


def _drawn(box: Box, digits: int, room: int) -> Iterator[Line]:
    """Every core as a cell. Caches of few cores stand side by side."""
    indent = _title_width(box)
    blocks = [_group_rows(group, digits, indent, room) for group in box.groups]
    widest = max(_length(line) for block in blocks for line in block)
    beside = (room + 3) // (widest + 3) if all(len(block) == 1 for block in blocks) else 1
    while len(blocks) % beside:  # full rows look better than full width
        beside -= 1
    for at in range(0, len(blocks), beside):
        if beside == 1:
            yield from blocks[at]
            continue
        row: Line = []
        for (line,) in blocks[at : at + beside]:
            row += [*([Span("   ")] if row else []), *line, Span(" " * (widest - _length(line)))]
        yield row


def _group_rows(group: Group, digits: int, indent: int, room: int) -> list[Line]:
    width = _cell_width(group, digits)
    fitting = max(1, (room - indent + 1) // (width + 1))
    count = len(group.cores)
    even = next((size for size in range(min(fitting, count), fitting // 2, -1) if count % size == 0), fitting)
    rows = []
    for at in range(0, count, even):
        row = [Span(("" if at else group.title).ljust(indent))]
        for core in group.cores[at : at + even]:
            row += [Span(f"{_cell(core, digits):<{width}}", core.parts[0][0] if len(core.parts) == 1 else ""), Span(" ")]
        rows.append(row[:-1])
    return rows


def _cell(core: Core, digits: int) -> str:
    """`R  0 56`; of a split core `R0 S56`; of four and more siblings their ranges, `I 8-15`."""
    if len(core.parts) > 1:
        return " ".join(f"{letter(pool)}{cpus}" for pool, cpus in core.parts)
    numbers = str(core.siblings) if len(core.siblings) > 2 else " ".join(f"{cpu:>{digits}}" for cpu in core.siblings)
    return f"{letter(core.parts[0][0])} {numbers}"
