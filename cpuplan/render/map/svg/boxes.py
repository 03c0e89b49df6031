"""Sockets, NUMA nodes and what is in them, as boxes in boxes."""

from collections.abc import Sequence

from cpuplan.render.map.boxes import Box
from cpuplan.render.map.svg.colours import INNER, LINE, PANEL, SOFT
from cpuplan.render.map.svg.cores import group_picture
from cpuplan.render.map.svg.form import Form, Way
from cpuplan.render.map.svg.shapes import (
    BOX_GAP,
    Picture,
    at,
    block_columns,
    grid,
    rectangle,
    row_columns,
    text,
    text_width,
    wrapped,
)

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
