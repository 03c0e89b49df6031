"""The lines inside of a box: a cell for each core, or ranges of CPUs where there are too many."""

from collections.abc import Iterator, Sequence
from itertools import chain

from cpuplan.base.text import counted
from cpuplan.render.map.boxes import Box, Core, Group
from cpuplan.render.map.terminal.lines import Line, Span, length, widest, wrapped

#: More rows of cores do not fit a screen or two; each cache is shown in ranges of CPUs then.
MOST_ROWS = 64
#: What separates two cells, and two clusters of cells; and two groups that stand side by side.
BETWEEN, CLUSTERS, GAP = "│", "║", "   "
#: Letters of a strip between two blanks.
STRIP_STEP = 8


def contents(
    boxes: Sequence[Box], last_cpu: int, room: int, *, condensed: bool
) -> tuple[list[list[Line]], bool]:
    """The lines inside of each box, at most `room` wide, and whether they are condensed."""
    digits = len(str(last_cpu))
    groups = [group for box in boxes for group in box.groups]
    longest = max((len(group.title) for group in groups), default=0)
    indent = longest + 2 if longest else 0
    if not condensed and all(_cell_width(group, digits) <= room - indent for group in groups):
        drawn = [list(_drawn(box, digits, indent, room)) for box in boxes]
        if sum(map(len, drawn)) <= MOST_ROWS:
            return drawn, False
    return [list(_condensed_box(box, indent, room)) for box in boxes], True


def _drawn(box: Box, digits: int, indent: int, room: int) -> Iterator[Line]:
    """Every core as a cell. Caches of few cores stand side by side."""
    blocks = [_group_rows(group, digits, indent, room) for group in box.groups]
    lines = [line for block in blocks for line in block]
    if len(lines) > len(blocks):
        yield from lines
        return
    width = widest(lines)
    beside = (room + len(GAP)) // (width + len(GAP))
    while len(lines) % beside:  # full rows look better than full width
        beside -= 1
    if beside == 1:
        yield from lines
        return
    for start in range(0, len(lines), beside):
        row: Line = []
        for line in lines[start : start + beside]:
            gap = [Span(GAP)] if row else []
            row += [*gap, *line, Span(" " * (width - length(line)))]
        yield row


def _group_rows(group: Group, digits: int, indent: int, room: int) -> list[Line]:
    width = _cell_width(group, digits)
    size = _row_size(group, max(1, (room - indent + len(BETWEEN)) // (width + len(BETWEEN))))
    rows = []
    for start in range(0, len(group.cores), size):
        row = [Span(("" if start else group.title).ljust(indent))]
        cores = group.cores[start : start + size]
        for core, after in zip(cores, [*cores[1:], cores[-1]], strict=True):
            cell = _cell(core, digits)
            between = BETWEEN if core.cluster == after.cluster else CLUSTERS
            row += [*cell, Span(" " * (width - length(cell)), cell[-1].style), Span(between)]
        rows.append(row[:-1])
    return rows


def _row_size(group: Group, fitting: int) -> int:
    """How many cells stand in a row: rows of equal length if that wastes less than half."""
    count = len(group.cores)
    evenly = [
        size for size in range(fitting // 2 + 1, min(fitting, count) + 1) if count % size == 0
    ]
    size = evenly[-1] if evenly else fitting
    clusters = group.by_cluster()
    cluster = len(clusters[0])
    if len(clusters) > 1 and cluster <= fitting and {*map(len, clusters)} == {cluster}:
        return max(size // cluster, 1) * cluster  # a cluster stays on one line
    return size


def _cell(core: Core, digits: int) -> Line:
    """`R  0 56`; of a split core `R0 S56`; of three and more siblings their ranges, `I 8-15`."""
    if len(core.parts) > 1:
        spans = []
        for mark, cpus in core.parts:
            spans += [Span(f"{mark.letter}{cpus}", mark.style), Span(" ")]
        return spans[:-1]
    if len(core.siblings) > 2:
        numbers = str(core.siblings)
    else:
        numbers = " ".join(f"{cpu:>{digits}}" for cpu in core.siblings)
    ((mark, _),) = core.parts
    return [Span(f"{mark.letter} {numbers}" if mark.letter else numbers, mark.style)]


def _cell_width(group: Group, digits: int) -> int:
    return max(length(_cell(core, digits)) for core in group.cores)


def _condensed_box(box: Box, indent: int, room: int) -> Iterator[Line]:
    for group in box.groups:
        if group.plain:
            yield from _threads(group, indent, room)
        else:
            yield from _strip_and_ranges(group, indent, room)


def _threads(group: Group, indent: int, room: int) -> Iterator[Line]:
    """Cores without pools: how many, and their CPUs by thread."""
    cores = counted(len(group.cores), "core")
    head = [Span(group.title.ljust(indent)), Span(f"{cores}  ")]
    return wrapped(head, group.by_thread(), room, " + ")


def _strip_and_ranges(group: Group, indent: int, room: int) -> Iterator[Line]:
    """On the left a letter for each core, on the right the CPUs of each pool."""
    strip = _strip(group.cores, (room - indent) // 2)
    left = indent + widest(strip) + 1
    ranges: list[Line] = []
    for mark, cpus in group.by_mark().items():
        ranges += wrapped([Span(mark.letter, mark.style), Span(" ")], str(cpus), room - left)
    for index in range(max(len(strip), len(ranges))):
        line = [Span(("" if index else group.title).ljust(indent))]
        line += strip[index] if index < len(strip) else []
        line.append(Span(" " * (left - length(line))))
        line += ranges[index] if index < len(ranges) else []
        yield line


def _strip(cores: Sequence[Core], room: int) -> list[Line]:
    """A letter for each core, with a blank after every eighth and at the end."""
    letters = [_strip_letter(core) for core in cores]
    starts = range(0, len(letters), STRIP_STEP)
    steps = [[*letters[start : start + STRIP_STEP], Span(" ")] for start in starts]
    beside = max(1, room // (STRIP_STEP + 1))
    rows = [steps[start : start + beside] for start in range(0, len(steps), beside)]
    return [list(chain.from_iterable(row)) for row in rows]


def _strip_letter(core: Core) -> Span:
    mark = core.parts[0][0]
    if len(core.parts) > 1:
        return Span("/".ljust(len(mark.letter)), "bold")
    return Span(mark.letter, mark.style)
