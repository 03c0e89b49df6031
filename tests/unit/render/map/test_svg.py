"""The picture of a machine: its boxes are in each other or beside each other, and all in it."""

import re
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple
from xml.dom.minidom import Element, parseString

import pytest

from cpuplan.render.map.svg import draw_svg
from tests.unit.render.map.test_hardware import SPECS, drawn

SMALL = [name for name in SPECS if name != "altix"]
_MOVED = re.compile(r"translate\(([-0-9.]+) ([-0-9.]+)\)")
#: A line is drawn half outside.
_LINE = 0.5


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def has(self, other: "Box") -> bool:
        return (
            self.left - _LINE <= other.left
            and self.top - _LINE <= other.top
            and other.right <= self.right + _LINE
            and other.bottom <= self.bottom + _LINE
        )

    def is_beside(self, other: "Box") -> bool:
        return (
            self.right <= other.left + _LINE
            or other.right <= self.left + _LINE
            or self.bottom <= other.top + _LINE
            or other.bottom <= self.top + _LINE
        )


def number(element: Element, name: str) -> float:
    return float(element.getAttribute(name) or 0)


def placed(element: Element, x: float = 0, y: float = 0) -> Iterator[tuple[str, Box]]:
    """Rectangles, and texts as the point where they begin, moved as the groups around them."""
    if match := _MOVED.fullmatch(element.getAttribute("transform")):
        x, y = x + float(match[1]), y + float(match[2])
    if element.tagName in ("rect", "text"):
        left, top = x + number(element, "x"), y + number(element, "y")
        right, bottom = left + number(element, "width"), top + number(element, "height")
        yield element.tagName, Box(left, top, right, bottom)
    for child in element.childNodes:
        if isinstance(child, Element) and element.tagName != "defs":
            yield from placed(child, x, y)


@pytest.mark.parametrize("name", SMALL)
def test_boxes_lie_in_each_other_or_beside_each_other(name: str) -> None:
    document = parseString(draw_svg(drawn(SPECS[name])))  # noqa: S318 - our own
    [picture] = document.getElementsByTagName("svg")
    parts = list(placed(picture))
    whole = Box(0, 0, number(picture, "width"), number(picture, "height"))
    assert [part for part in parts if not whole.has(part[1])] == []
    boxes = [box for kind, box in parts if kind == "rect"]
    crossing = [
        (first, second)
        for first, second in combinations(boxes, 2)
        if not (first.has(second) or second.has(first) or first.is_beside(second))
    ]
    assert crossing == []
