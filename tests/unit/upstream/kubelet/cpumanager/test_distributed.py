"""Distribution over NUMA nodes: cpu_assignment.go, takeByTopologyNUMADistributed (KEP-2902)."""

import pytest

from cpuplan.upstream.kubelet.cpumanager.cpu_assignment import (
    Balance,
    best_combination,
    iterate_combinations,
    range_numa_nodes_needed,
)
from cpuplan.upstream.kubelet.cpumanager.cpu_assignment import (
    take_by_topology_numa_distributed as take,
)
from cpuplan.upstream.kubelet.cpumanager.topology import CPUTopology
from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import HangError, KubeletError
from tests.machines.cputopologies import all_but, regular

DUAL = regular(2, 2, 6)
QUAD = regular(2, 4, 4)  # node n: cores 4n to 4n+3, second threads 16 higher


@pytest.mark.parametrize(
    ("machine", "free", "count", "group", "taken"),
    [
        pytest.param(DUAL, "0-23", 0, 1, "", id="nothing"),
        pytest.param(DUAL, "0-23", 4, 1, "0,12,1,13", id="fits into one node"),
        pytest.param(DUAL, "0-23", 14, 1, "0-3,6-9,12-14,18-20", id="half of them each"),
        pytest.param(
            DUAL, "0-23", 14, 2, "0-3,6-8,12-15,18-20", id="half of them each, in whole cores"
        ),
        pytest.param(DUAL, "0-23", 15, 2, "0-5,12-17,6,18,7", id="not in groups: packed"),
        pytest.param(DUAL, "1-23", 22, 2, "1-11,13-23", id="the groups of both nodes"),
        pytest.param(QUAD, "0-31", 16, 1, "0-7,16-23", id="two of four nodes"),
    ],
)
def test_even_shares(machine: CPUTopology, free: str, count: int, group: int, taken: str) -> None:
    assert take(machine, parse_cpus(free), count, group) == parse_cpus(taken)


def test_too_few() -> None:
    with pytest.raises(KubeletError, match="requested=25, available=24"):
        take(DUAL, DUAL.all, 25, 1)


def test_how_many_nodes_are_tried() -> None:
    assert range_numa_nodes_needed(QUAD, 4, 20, 2) == (3, 4)
    assert range_numa_nodes_needed(QUAD, 4, 2, 2) == (1, 1)


def test_balance_is_the_standard_deviation_in_thousandths() -> None:
    assert Balance([4, 4, 4, 4], 4).score(9 + 9 + 9 + 9) == 0
    assert Balance([4, 4, 4, 4], 4).score(16 + 16 + 16 + 0) == 1732
    assert Balance([3, 3, 3], 2).score(4 + 4 + 9) == 471  # the mean is rounded to 2.333 first


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_short_combinations_are_their_own(size: int) -> None:
    kept = [tuple(combination) for combination in iterate_combinations(list(range(6)), size)]
    later = list(iterate_combinations(list(range(6)), size))
    assert [tuple(combination) for combination in later] == kept


@pytest.mark.parametrize(
    ("size", "first", "at_the_end"),
    [
        (4, [0, 1, 2, 3], [0, 1, 2, 7]),
        (6, [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 7]),
        (7, list(range(7)), [0, 1, 2, 3, 4, 6, 7]),
    ],
)
def test_bug_141237_longer_combinations_are_overwritten_by_later_ones(
    size: int, first: list[int], at_the_end: list[int]
) -> None:
    """Slices of 4, 6, 7 and 8 elements share the array of those with their first 3 or 5."""
    combinations = iterate_combinations(list(range(8)), size)
    kept = next(combinations)
    assert kept == first
    list(combinations)
    assert kept == at_the_end


def test_bug_141237_a_node_is_used_that_was_not_chosen() -> None:
    """The best four of five nodes come first; the fifth replaces the fourth before use."""
    choice = best_combination([8, 8, 8, 8, 4], count=16, group=1, size=4)
    assert choice is not None
    assert choice.combination == [0, 1, 2, 4]


def test_bug_full_pcpus_only_never_ends_with_odd_free_counts() -> None:
    """CPUs suffice in sum, but not in whole cores: both loops go on for ever."""
    machine = regular(4, 8, 4)
    free = parse_cpus("0-4,6-7,9-11,15,24-25,27-28,30,32-35,37-44,46-47,56-63")
    with pytest.raises(HangError):
        take(machine, free, 28, 2)


def test_free_halves_of_cores_do_not_count_as_groups() -> None:
    assert to_text(take(DUAL, all_but(DUAL, 0, 6), 20, 2)) == "1-5,7-11,13-17,19-23"


@pytest.mark.parametrize(
    ("hinted", "taken"),
    [
        pytest.param(0, "0,16,1,17", id="as few nodes as suffice"),
        pytest.param(1, "0,16,1,17", id="the same"),
        pytest.param(2, "0,16,4,20", id="as many as the hint has"),
        pytest.param(4, "0,4,8,12", id="all of them"),
        pytest.param(5, "0,16,1,17", id="more than there are: the hint does not count"),
    ],
)
def test_a_hint_has_a_floor(hinted: int, taken: str) -> None:
    """kubernetes#139456: devices on several nodes keep CPUs on as many."""
    assert take(QUAD, parse_cpus("0-31"), 4, 1, hinted=hinted) == parse_cpus(taken)
