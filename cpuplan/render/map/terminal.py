"""A map as text: header, boxes with borders, cells of cores, what is below them, legend."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

from cpuplan.base.cpuset import union
from cpuplan.base.text import counted, joined, printable_values
from cpuplan.render.map.boxes import Box, Core, Group, Map, Table
from cpuplan.render.text import paint


class Span(NamedTuple):
    """Text in a style of ansi.STYLES."""

    text: str
    style: str = ""


Line: TypeAlias = list[Span]


def length(line: Line) -> int:
    """The characters of a line."""
    return sum(len(span.text) for span in line)


def widest(lines: list[Line]) -> int:
    """The length of the longest line; 0 if there is none."""
    return max(map(length, lines), default=0)


def cut(text: str, width: int) -> str:
    """`text`, or as much of it as fits, with an ellipsis."""
    return text if len(text) <= width else text[: width - 1] + "…"


def wrapped(head: Line, text: str, width: int, separator: str = ",") -> Iterator[Line]:
    """`text` after `head`, broken after separators and indented to its start if that is near."""
    used = length(head)
    indent = used if used <= width // 2 else 2
    line = list(head)
    for piece in _pieces(text, separator, max(width - indent, 1)):
        if used + len(piece.rstrip()) > width and used > indent:
            if used > width:  # by the blank after a separator
                line[-1] = Span(line[-1].text.rstrip())
            yield line
            line, used = [Span(" " * indent)], indent
        line.append(Span(piece))
        used += len(piece)
    yield line


def wrapped_note(note: str, width: int, style: str = "") -> Iterator[Line]:
    """`head: item, item`, broken between items."""
    head, _, items = note.partition(": ")
    return wrapped([Span(f"{head}: ", style)], items, width, ", ")


def _pieces(text: str, separator: str, most: int) -> Iterator[str]:
    """The text in pieces that end after separators; what is longer than a line, anywhere."""
    for item in text.replace(separator, f"{separator}\n").split("\n"):
        size = len(item.rstrip())
        if size <= most:
            yield item
        else:
            yield from (item[start : start + most] for start in range(0, size, most))


_SINGLE, _DOUBLE = tuple("┌─┐│└┘"), tuple("╔═╗║╚╝")
#: What a border and a blank on both sides need.
BORDERS = 4


def leaves(boxes: Sequence[Box]) -> list[Box]:
    """The innermost boxes."""
    return [leaf for box in boxes for leaf in box.boxes or (box,)]


def depth(boxes: Sequence[Box]) -> int:
    """How many borders stand around the cores."""
    return 2 if any(box.boxes for box in boxes) else 1


def bordered(boxes: Sequence[Box], contents: Sequence[list[Line]], width: int) -> Iterator[Line]:
    """All boxes with the contents of their leaves, as wide as the widest needs."""
    indent = BORDERS * (depth(boxes) - 1)
    every = [inner for box in boxes for inner in (box, *box.boxes)]
    needed = [
        *(widest(content) for content in contents),
        *(len(box.title) + 2 for box in every),
        *(_note_width(box) for box in every),
    ]
    inner = min(max(needed) + indent, width - BORDERS)
    content_of = iter(contents)
    for box in boxes:
        lines: list[Line] = []
        for leaf in box.boxes:
            room = inner - BORDERS
            lines += _boxed(leaf.title, [*next(content_of), *_notes(leaf, room)], room, _SINGLE)
        lines = [*(lines or next(content_of)), *_notes(box, inner)]
        yield from _boxed(box.title, lines, inner, _DOUBLE if indent else _SINGLE)


def listed(boxes: Sequence[Box], width: int) -> Iterator[Line]:
    """A cell for each outer box, with the CPUs of the boxes in it; as many beside as fit."""
    cells = [f"{box.title}: {' | '.join(map(_cpus, leaves([box])))}" for box in boxes]
    longest = max(map(len, cells))
    beside = max(1, (width + 3) // (longest + 3))
    for start in range(0, len(cells), beside):
        row = "   ".join(cell.ljust(longest) for cell in cells[start : start + beside])
        yield from wrapped([], row, width)
    inner = [part for box in boxes for part in box.boxes]
    kinds = {part.title.split(",")[0].rstrip("0123456789").strip() for part in inner}
    if kinds:
        yield [Span(f"| divides {joined([f'{kind}s' for kind in sorted(kinds)])}")]
    for box in boxes:
        for part in (*box.boxes, box):
            for note in part.notes:
                yield from wrapped([Span(f"{part.title}: ")], note, width, ", ")


def _cpus(box: Box) -> str:
    """`0-3`, or `0-2 offline 3`."""
    cores = [core for group in box.groups for core in group.cores]
    online = union(core.siblings for core in cores if core.parts[0][0].style != "off")
    offline = union(core.siblings for core in cores) - online
    text = online.kernel_list()
    return f"{text} offline {offline.kernel_list()}" if offline else text


def _note_width(box: Box) -> int:
    """What the longest item of a box's notes needs to stay on one line."""
    needed = 0
    for note in box.notes:
        head, _, items = note.partition(": ")
        needed = max(needed, len(head) + 3 + max(map(len, items.split(", "))))
    return needed


def _notes(box: Box, room: int) -> Iterator[Line]:
    for note in box.notes:
        yield from wrapped_note(note, room, "dim")


def _boxed(title: str, lines: Iterable[Line], inner: int, border: Sequence[str]) -> Iterator[Line]:
    left, across, right, side, low_left, low_right = border
    title = cut(title, inner - 1)
    rest = across * (inner - len(title) - 1)
    yield [Span(f"{left}{across} "), Span(title, "bold"), Span(f" {rest}{right}")]
    for line in lines:
        yield [Span(f"{side} "), *line, Span(f"{' ' * (inner - length(line))} {side}")]
    yield [Span(low_left + across * (inner + 2) + low_right)]


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


#: More lines of boxes without pools become a line for each outer box.
MOST_LINES = 120
#: Nothing is drawn narrower than this.
LEAST_WIDTH = 48


def draw_text(drawn: Map, *, colour: bool, width: int = 100) -> str:
    """The text of a map, at most `width` wide; letters say all that colours say."""
    text = ""
    for line in _lines(printable_values(drawn), max(width, LEAST_WIDTH)):
        text += "".join(paint(span.text, span.style, colour) for span in line).rstrip() + "\n"
    return text


def _lines(drawn: Map, width: int) -> Iterator[Line]:
    yield [Span(drawn.title, "bold")]
    for line in drawn.lines:
        yield from wrapped([], line, width, ", ")
    inner = leaves(drawn.boxes)
    room = width - BORDERS * depth(drawn.boxes)
    cells, condensed = contents(inner, drawn.last_cpu, room, condensed=drawn.condensed)
    body = list(bordered(drawn.boxes, cells, width))
    if condensed and len(body) > MOST_LINES and all(box.groups[0].plain for box in inner):
        body = list(listed(drawn.boxes, width))
    yield []
    yield from body
    for box in drawn.memory:
        yield from _memory(box, width)
    for note in drawn.notes:
        yield from wrapped_note(note, width)
    if drawn.table:
        yield []
        yield from _table(drawn.table)
    if drawn.legend:
        yield []
        yield from _legend(drawn, width)
    if condensed and drawn.legend and drawn.splits_cores:
        yield [Span(" /  core whose threads are in different pools")]


def _memory(box: Box, width: int) -> Iterator[Line]:
    head = f"{box.title}: " if box.notes else box.title
    return wrapped([Span(head)], ", ".join(box.notes), width, ", ")


def _table(table: Table) -> Iterator[Line]:
    """Distances in columns."""
    texts = [*table.heads, *(str(value) for _, values in table.rows for value in values)]
    column = max(map(len, texts)) + 1
    first = max(len(head) for head, _ in table.rows)
    yield [Span(table.title, "bold")]
    yield [Span(" " * first), *(Span(head.rjust(column), "dim") for head in table.heads)]
    for head, values in table.rows:
        cells = [Span(str(value).rjust(column)) for value in values]
        yield [Span(head.rjust(first), "dim"), *cells]


def _legend(drawn: Map, width: int) -> Iterator[Line]:
    """A line for each mark, below the heading of its section if there are several."""
    names = min(max(len(entry.mark.name) for entry in drawn.legend), width // 3)
    digits = max(len(str(len(entry.cpus))) for entry in drawn.legend)
    letters = max(len(entry.mark.letter) for entry in drawn.legend)
    has_sections = len({entry.section for entry in drawn.legend}) > 1
    current = ""
    for mark, cpus, section in drawn.legend:
        if has_sections and section != current:
            yield [Span(section, "bold")]
            current = section
        count = f"{len(cpus):>{digits}} CPU{' ' if len(cpus) == 1 else 's'}"
        name = cut(mark.name, names).ljust(names)
        letter = Span(f" {mark.letter.ljust(letters)} ", mark.style)
        yield from wrapped([letter, Span(f" {name}  {count}  ")], str(cpus), width)
