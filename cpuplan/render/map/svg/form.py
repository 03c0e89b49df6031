"""What all parts of a picture share: the width of numbers, and the columns of each part."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from cpuplan.render.map.boxes import Box, Entry, Map
from cpuplan.render.map.svg.shapes import Picture

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
