"""Groups of CPUs: who has other neighbours, and who has another number."""

from collections.abc import Mapping

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.machine.identity import by_label, displaced, renumbered


def test_the_cpus_of_each_label() -> None:
    labels = {0: "a", 1: "b", 2: "a", 70: "b"}
    assert by_label(labels) == {"a": CpuSet.parse("0,2"), "b": CpuSet.parse("1,70")}


@pytest.mark.parametrize(
    ("wanted", "seen", "expected"),
    [
        ({0: 0, 1: 0, 2: 1, 3: 1}, {0: 0, 1: 0, 2: 1, 3: 1}, ""),
        # the names of the groups do not matter, only who is together
        ({0: 0, 1: 0, 2: 1, 3: 1}, {0: 7, 1: 7, 2: 3, 3: 3}, ""),
        # a CPU that changed its group leaves neighbours and gets others
        ({0: 0, 1: 0, 2: 1, 3: 1}, {0: 0, 1: 0, 2: 0, 3: 1}, "0-3"),
        ({0: 0, 1: 0, 2: 1, 3: 1, 4: 2}, {0: 0, 1: 1, 2: 2, 3: 2, 4: 3}, "0-1"),
        # CPUs that only one side has are judged elsewhere, and are no neighbours here
        ({0: 0, 1: 0, 2: 1}, {0: 0, 1: 0}, ""),
        ({0: 0, 1: 0}, {0: 0, 1: 0, 2: 0, 3: 1}, ""),
        ({0: 0, 1: 0, 8: 0}, {0: 5, 1: 5, 9: 5}, ""),
        ({0: 0, 1: 0, 8: 0}, {0: 5, 1: 6, 9: 5}, "0-1"),
    ],
)
def test_other_neighbours(
    wanted: Mapping[int, int], seen: Mapping[int, int], expected: str
) -> None:
    assert displaced(wanted, seen) == CpuSet.parse(expected)


@pytest.mark.parametrize(
    ("wanted", "seen", "expected"),
    [
        ({0: 0, 1: 1, 2: 2}, {0: 0, 1: 1, 2: 2}, ""),
        ({0: 0, 1: 1, 2: 2}, {0: 0, 1: 1, 2: 5}, "2"),
        # where half or more differ, the inventory has numbers of its own
        ({0: 0, 1: 1}, {0: 0, 1: 5}, ""),
        ({0: 0, 1: 1, 2: 2}, {0: 0, 1: 4, 2: 8}, ""),
        # those that only one side has are neither right nor wrong
        ({0: 0, 1: 1, 2: 2}, {0: 0, 1: 5}, ""),
        ({0: 0, 1: 1, 2: 2}, {1: 1, 0: 0, 2: 3, 9: 9}, "2"),
    ],
)
def test_other_numbers(wanted: Mapping[int, int], seen: Mapping[int, int], expected: str) -> None:
    assert renumbered(wanted, seen) == CpuSet.parse(expected)
