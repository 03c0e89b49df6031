"""Cores in sockets, NUMA nodes and caches, for a terminal: a node's pools, or what hardware there
is.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from cpuplan.cpuset import union
from cpuplan.printable import printable_values
from cpuplan.render.ansi import paint
from cpuplan.render.map.boxes import Box, Core, Group, Map, Table
from cpuplan.text import counted, joined

#: Rows of cores beyond which a map no longer fits a screen or two; then each cache is told in
#: ranges of CPUs.
MOST_ROWS = 64
#: Lines of boxes beyond which machines without pools get a line for each outer box.
MOST_LINES = 120
#: Nothing is drawn narrower than this.
LEAST_WIDTH = 48
#: What separates two cells, and two clusters of cells.
BETWEEN, CLUSTERS = "│", "║"
#: Letters of a strip between two blanks.
STRIP_STEP = 8


class Span(NamedTuple):
    """Text in a style of ansi.STYLES."""

    text: str
    style: str = ""


Line: TypeAlias = list[Span]


def draw_text(drawn: Map, *, colour: bool, width: int = 100) -> str:
    """The text of a map, at most `width` wide."""
    drawn = printable_values(drawn)
    width = max(width, LEAST_WIDTH)
    depth = 2 if any(box.boxes for box in drawn.boxes) else 1
    leaves = [leaf for box in drawn.boxes for leaf in (box.boxes or (box,))]
    digits = len(str(drawn.last_cpu))
    contents, condensed = _contents(leaves, digits, width - 4 * depth, condensed=drawn.condensed)
    lines: list[Line] = [[Span(drawn.title, "bold")]]
    for text in drawn.lines:
        lines += _wrapped([], text, width, ", ")
    body = list(_boxes(drawn.boxes, contents, depth, width))
    if condensed and len(body) > MOST_LINES and all(box.groups[0].plain for box in leaves):
        body = list(_listed(drawn.boxes, width))
    lines += [[], *body]
    for box in drawn.memory:
        lines += _wrapped(
            [Span(f"{box.title}: " if box.notes else box.title)], ", ".join(box.notes), width, ", "
        )
    for text in drawn.notes:
        head, _, rest = text.partition(": ")
        lines += _wrapped([Span(f"{head}: ")], rest, width, ", ")
    if drawn.table:
        lines += [[], *_table(drawn.table, width)]
    if drawn.legend:
        lines += [[], *_legend(drawn, width, condensed)]
    return "".join("".join(paint(*span, colour) for span in line).rstrip() + "\n" for line in lines)


def _contents(
    leaves: Sequence[Box], digits: int, room: int, *, condensed: bool
) -> tuple[list[list[Line]], bool]:
    """The lines inside of each innermost box, at most `room` wide; and whether they had to be
    condensed.
    """
    groups = [group for box in leaves for group in box.groups]
    longest = max((len(group.title) for group in groups), default=0)
    indent = longest + 2 if longest else 0
    if not condensed and all(_cell_width(group, digits) <= room - indent for group in groups):
        drawn = [list(_drawn(box, digits, indent, room)) for box in leaves]
        if sum(map(len, drawn)) <= MOST_ROWS:
            return drawn, False
    return [
        [line for group in box.groups for line in _condensed(group, indent, room)] for box in leaves
    ], True


def _drawn(box: Box, digits: int, indent: int, room: int) -> Iterator[Line]:
    """Every core as a cell. Caches of few cores stand side by side."""
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
    clusters = group.by_cluster()
    fitting = max(1, (room - indent + len(BETWEEN)) // (width + len(BETWEEN)))
    count = len(group.cores)
    even = next(
        (size for size in range(min(fitting, count), fitting // 2, -1) if count % size == 0),
        fitting,
    )
    size = len(clusters[0])
    if len(clusters) > 1 and size <= fitting and all(len(cluster) == size for cluster in clusters):
        even = max(even // size, 1) * size  # a cluster stays on one line
    rows = []
    for at in range(0, count, even):
        row = [Span(("" if at else group.title).ljust(indent))]
        cores = group.cores[at : at + even]
        for core, after in zip(cores, [*cores[1:], cores[-1]], strict=True):
            cell = _cell(core, digits)
            between = BETWEEN if core.cluster == after.cluster else CLUSTERS
            row += [*cell, Span(" " * (width - _length(cell)), cell[-1].style), Span(between)]
        rows.append(row[:-1])
    return rows


def _cell(core: Core, digits: int) -> Line:
    """`R  0 56`; of a split core `R0 S56`; of three and more siblings their ranges, `I 8-15`."""
    if len(core.parts) > 1:
        spans = [Span(f"{mark.letter}{cpus}", mark.style) for mark, cpus in core.parts]
        return [
            span for pair in zip(spans, [Span(" ")] * len(spans), strict=True) for span in pair
        ][:-1]
    numbers = (
        str(core.siblings)
        if len(core.siblings) > 2
        else " ".join(f"{cpu:>{digits}}" for cpu in core.siblings)
    )
    mark = core.parts[0][0]
    return [Span(f"{mark.letter} {numbers}" if mark.letter else numbers, mark.style)]


def _cell_width(group: Group, digits: int) -> int:
    return max(_length(_cell(core, digits)) for core in group.cores)


def _condensed(group: Group, indent: int, room: int) -> Iterator[Line]:
    """On the left a letter for each core, on the right the CPUs of each pool; without pools,
    threads.
    """
    if group.plain:
        head: Line = [
            Span(group.title.ljust(indent)),
            Span(f"{counted(len(group.cores), 'core')}  "),
        ]
        yield from _wrapped(head, group.by_thread(), room, " + ")
        return
    letters = [_strip_letter(core) for core in group.cores]
    steps = [
        [*letters[at : at + STRIP_STEP], Span(" ")] for at in range(0, len(letters), STRIP_STEP)
    ]
    beside = max(1, (room - indent) // 2 // (STRIP_STEP + 1))
    strip = [
        [span for step in steps[at : at + beside] for span in step]
        for at in range(0, len(steps), beside)
    ]
    left = indent + max(map(_length, strip)) + 1
    ranges = [
        line
        for mark, cpus in group.by_mark().items()
        for line in _wrapped([Span(mark.letter, mark.style), Span(" ")], str(cpus), room - left)
    ]
    for index in range(max(len(strip), len(ranges))):
        row = [
            Span(("" if index else group.title).ljust(indent)),
            *(strip[index] if index < len(strip) else ()),
        ]
        yield [
            *row,
            Span(" " * (left - _length(row))),
            *(ranges[index] if index < len(ranges) else ()),
        ]


def _strip_letter(core: Core) -> Span:
    mark = core.parts[0][0]
    return (
        Span(mark.letter, mark.style)
        if len(core.parts) == 1
        else Span("/".ljust(len(mark.letter)), "bold")
    )


def _boxes(
    outer: Sequence[Box], contents: Sequence[list[Line]], depth: int, width: int
) -> Iterator[Line]:
    """All boxes, as wide as the widest needs: outer borders double, inner ones single."""
    leaves = iter(contents)
    titles = max(
        (len(inner.title) + 4 * (depth - 1) for box in outer for inner in (box, *box.boxes)),
        default=0,
    )
    needed = max((_length(line) for content in contents for line in content), default=0) + 4 * (
        depth - 1
    )
    noted = max(
        (_note_width(inner) + 4 * (depth - 1) for box in outer for inner in (box, *box.boxes)),
        default=0,
    )
    inner_width = min(max(needed, titles + 2, noted), width - 4)
    for box in outer:
        lines: list[Line] = []
        for leaf in box.boxes:
            lines += _boxed(
                leaf.title,
                [*next(leaves), *_notes(leaf, inner_width - 4)],
                inner_width - 4,
                "┌─┐│└┘",
            )
        lines = [*(lines or next(leaves)), *_notes(box, inner_width)]
        yield from _boxed(box.title, lines, inner_width, "╔═╗║╚╝" if depth == 2 else "┌─┐│└┘")


def _note_width(box: Box) -> int:
    """What the longest item of a box's notes needs to stay on one line."""
    widest = 0
    for note in box.notes:
        head, _, rest = note.partition(": ")
        widest = max(widest, len(head) + 3 + max(map(len, rest.split(", "))))
    return widest


def _notes(box: Box, room: int) -> Iterator[Line]:
    for note in box.notes:
        head, _, rest = note.partition(": ")
        yield from _wrapped([Span(f"{head}: ", "dim")], rest, room, ", ")


def _listed(outer: Sequence[Box], width: int) -> Iterator[Line]:
    """Each outer box in a cell: its title, and the CPUs of the boxes in it. As many side by side as
    there is room.
    """
    cells = [f"{box.title}: {' | '.join(map(_cpus_of, box.boxes or (box,)))}" for box in outer]
    widest = max(map(len, cells))
    beside = max(1, (width + 3) // (widest + 3))
    for at in range(0, len(cells), beside):
        yield from _wrapped(
            [], "   ".join(cell.ljust(widest) for cell in cells[at : at + beside]), width
        )
    inner = {
        part.title.split(",")[0].rstrip("0123456789").strip() for box in outer for part in box.boxes
    }
    if inner:
        yield [Span(f"| divides {joined([f'{name}s' for name in sorted(inner)])}")]
    for box in outer:
        for part in (*box.boxes, box):
            for note in part.notes:
                yield from _wrapped([Span(f"{part.title}: ")], note, width, ", ")


def _cpus_of(box: Box) -> str:
    """`0-3`, or `0-2 offline 3`."""
    cores = [core for group in box.groups for core in group.cores]
    online = union(core.siblings for core in cores if core.parts[0][0].style != "off")
    offline = union(core.siblings for core in cores) - online
    return (
        f"{online.kernel_list()} offline {offline.kernel_list()}"
        if offline
        else online.kernel_list()
    )


def _table(table: Table, width: int) -> Iterator[Line]:
    """Distances in columns; each row on as many lines as it needs."""
    column = (
        max(
            len(str(text))
            for row in (table.heads, *(values for _, values in table.rows))
            for text in row
        )
        + 1
    )
    first = max(len(head) for head, _ in table.rows)
    yield [Span(table.title, "bold")]
    yield [Span(" " * first), *(Span(head.rjust(column), "dim") for head in table.heads)]
    for head, values in table.rows:
        yield [
            Span(head.rjust(first), "dim"),
            *(Span(str(value).rjust(column)) for value in values),
        ]


def _boxed(title: str, lines: Iterable[Line], inner: int, border: str) -> Iterator[Line]:
    left, across, right, side, low_left, low_right = list(border)
    title = _cut(title, inner - 1)
    yield [
        Span(f"{left}{across} "),
        Span(title, "bold"),
        Span(f" {across * (inner - len(title) - 1)}{right}"),
    ]
    for line in lines:
        yield [Span(f"{side} "), *line, Span(f"{' ' * (inner - _length(line))} {side}")]
    yield [Span(low_left + across * (inner + 2) + low_right)]


def _legend(drawn: Map, width: int, condensed: bool) -> Iterator[Line]:
    """A line for each mark, below the heading of its section where there are several."""
    names = min(max(len(entry.mark.name) for entry in drawn.legend), width // 3)
    digits = max(len(str(len(entry.cpus))) for entry in drawn.legend)
    letters = max(len(entry.mark.letter) for entry in drawn.legend)
    sections = len({entry.section for entry in drawn.legend}) > 1
    section = ""
    for mark, cpus, of in drawn.legend:
        if sections and of != section:
            yield [Span(of, "bold")]
            section = of
        count = f"{len(cpus):>{digits}} CPU{' ' if len(cpus) == 1 else 's'}"
        name = _cut(mark.name, names).ljust(names)
        head = [Span(f" {mark.letter.ljust(letters)} ", mark.style), Span(f" {name}  {count}  ")]
        yield from _wrapped(head, str(cpus), width)
    if condensed and drawn.splits_cores:
        yield [Span(" /  core whose threads are in different pools")]


def _wrapped(head: Line, text: str, width: int, separator: str = ",") -> Iterator[Line]:
    """`text` after `head`, broken after separators, further lines below its start or, if that is
    far, indented.
    """
    used = _length(head)
    indent = used if used <= width // 2 else 2
    line = list(head)
    room = max(width - indent, 1)
    for item in text.replace(separator, f"{separator}\n").split("\n"):
        # what is longer than a line is broken anywhere
        for at in range(0, len(item.rstrip()) or 1, room):
            part = item if len(item.rstrip()) <= room else item[at : at + room]
            if used + len(part.rstrip()) > width and used > indent:
                yield line
                line, used = [Span(" " * indent)], indent
            line.append(Span(part))
            used += len(part)
    yield line


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _length(line: Line) -> int:
    return sum(len(span.text) for span in line)
