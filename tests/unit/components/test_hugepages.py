"""What huge pages leave of NUMA nodes, where the kernel chooses the node of some."""

from typing import Any

import pytest

from cpuplan.components import hugepages
from tests.machines.plans import GIB, plan, regular

ON_1 = {"size": "1G", "count": 9, "numaNode": 1}


@pytest.mark.parametrize(
    ("pages", "at_best", "at_worst"),
    [
        ([{"size": "1G", "count": 4}], [62, 62], [62, 62]),
        ([{"size": "1G", "count": 5}], [62, 62], [61, 61]),
        ([{"size": "1G", "count": 5}, ON_1], [62, 55], [61, 55]),
    ],
)
def test_room(pages: list[dict[str, Any]], at_best: list[int], at_worst: list[int]) -> None:
    node = plan(regular(sockets=2, cores=4), spec={"hugePages": {"pages": pages}})
    for is_worst, expected in ((False, at_best), (True, at_worst)):
        rooms = hugepages.room(node, at_worst=is_worst)
        assert [size and size // GIB for size in rooms.values()] == expected
