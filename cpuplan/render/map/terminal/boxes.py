"""Boxes with borders around the lines inside of them: outer borders double, inner ones single."""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.base.cpuset import union
from cpuplan.base.text import joined
from cpuplan.render.map.boxes import Box
from cpuplan.render.map.terminal.lines import Line, Span, cut, length, widest, wrapped, wrapped_note

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
