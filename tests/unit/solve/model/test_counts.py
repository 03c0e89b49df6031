"""What is known of sets before anything is solved: room, least numbers, and sums."""

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.solve.constraints import Amount, OneOf, WholeCores
from cpuplan.solve.core_classes import Ways, core_classes
from cpuplan.solve.layout import Scope, slots_of
from cpuplan.solve.model.bounds import Bounds
from cpuplan.solve.model.counts import Counts, cpus_of
from tests.unit.solve.problems import machine

ALL = Scope("", CpuSet.parse("0-15"))
#: Cores 0,8 to 3,11 of eight; the others are of the other node.
NODE = Scope("", CpuSet.parse("0-3,8-11"))
OTHER = Scope("", ALL.cpus - NODE.cpus)


def counts(*sizes: Amount) -> Counts:
    """Two NUMA nodes of four cores of two threads; reserved has whole cores."""
    sets = ["reserved", "isolated", "bestEffort"]
    kinds = core_classes(machine(8, 2, numa_nodes=2), [NODE.cpus])
    ways = Ways(slots_of(sets), [OneOf(("reserved", "isolated")), WholeCores("reserved")])
    return Counts(kinds, [ways.of(kind) for kind in kinds], sizes)


def test_a_set_has_room_for_all_threads_of_all_cores() -> None:
    assert [counts().room("reserved", scope.cpus) for scope in (ALL, NODE)] == [16, 8]
    assert counts().room("shared", ALL.cpus) == 0


@pytest.mark.parametrize(
    ("size", "room"),
    [
        (Amount("reserved", ALL, "CPUs", 1, 3), 3),
        (Amount("reserved", ALL, "cores", 1, 3), 6),
        (Amount("reserved", NODE, "CPUs", 1, 3), 3),
        (Amount("reserved", OTHER, "CPUs", 1, 3), 8),
        (Amount("reserved", ALL, "CPUs", 1, 30), 8),
        (Amount("reserved", ALL, "CPUs", 0, -1), 0),
        (Amount("reserved", ALL, "caches", 0, 0), 8),
        (Amount("isolated", ALL, "CPUs", 0, 0), 8),
    ],
)
def test_a_size_of_a_whole_bounds_its_parts(size: Amount, room: int) -> None:
    assert counts(size).room("reserved", NODE.cpus) == room


@pytest.mark.parametrize(
    ("size", "least"),
    [
        (Amount("reserved", ALL, "CPUs", 3, 9), [3, 0]),
        (Amount("reserved", ALL, "cores", 3, 9), [6, 0]),
        (Amount("isolated", ALL, "cores", 3, 9), [0, 0]),
        (Amount("reserved", NODE, "CPUs", 3, 9), [3, 3]),
        (Amount("reserved", ALL, "caches", 3, 9), [0, 0]),
    ],
)
def test_a_size_of_a_part_is_one_of_the_whole(size: Amount, least: list[int]) -> None:
    known = counts(size)
    assert [known.least("reserved"), known.least("reserved", NODE.cpus)] == least
    assert known.least("reserved", ALL.cpus) == least[0]


def test_the_largest_of_several_sizes_counts() -> None:
    known = counts(Amount("isolated", ALL, "CPUs", 3, 9), Amount("isolated", ALL, "CPUs", 2, 5))
    assert (known.least("isolated"), known.room("isolated", ALL.cpus)) == (3, 5)


def test_a_core_that_a_set_shares_has_one_cpu_of_it_at_least() -> None:
    known = counts(Amount("isolated", ALL, "cores", 3, 3), Amount("bestEffort", ALL, "cores", 3, 3))
    assert (known.least("isolated"), known.least("bestEffort")) == (6, 3)
    assert known.room("bestEffort", ALL.cpus) == 6


def test_the_most_that_a_sum_can_be() -> None:
    known = counts()
    for name in ("reserved", "isolated"):
        assert known.most(cpus_of(name, NODE.cpus), NODE.cpus, name) == 8
        assert known.most(cpus_of(name, ALL.cpus), ALL.cpus, name) == 16
    assert known.most(lambda pattern, threads: 1, ALL.cpus, "reserved") == 8
    assert known.most(lambda pattern, threads: 1, ALL.cpus, "shared") == 0


@pytest.mark.parametrize(
    ("size", "fewest"),
    [
        (Amount("reserved", ALL, "CPUs", 8, 8), 1),
        (Amount("reserved", ALL, "CPUs", 9, 9), 2),
        (Amount("reserved", ALL, "cores", 4, 4), 1),
        (Amount("reserved", ALL, "cores", 5, 5), 2),
        (Amount("reserved", NODE, "CPUs", 8, 8), 1),
        (Amount("reserved", ALL, "caches", 2, 2), 0),
        (Amount("isolated", ALL, "CPUs", 16, 16), 0),
    ],
)
def test_the_fewest_parts_that_a_set_needs(size: Amount, fewest: int) -> None:
    assert Bounds(counts(size)).fewest("reserved", (NODE, OTHER)) == fewest


def test_what_is_outside_of_the_parts_needs_none_of_them() -> None:
    size = Amount("reserved", ALL, "CPUs", 9, 9)
    assert Bounds(counts(size)).fewest("reserved", (NODE,)) == 1
    assert Bounds(counts(size._replace(least=8))).fewest("reserved", (NODE,)) == 0


@pytest.mark.parametrize(
    ("least", "most", "is_possible"), [(0, 0, True), (2, 1, False), (1, 1, False)]
)
def test_a_range_of_a_sum_of_nothing(least: int, most: int, is_possible: bool) -> None:
    known = counts()
    known.between(known.sum([]), least, most)
    assert known.solve() is is_possible
