"""Packed allocation. Rules and bugs: pkg/kubelet/cm/cpumanager/cpu_assignment.go."""

import pytest

from cpuplan.upstream.kubelet.cpumanager.cpu_assignment import take_by_topology_numa_packed as take
from cpuplan.upstream.kubelet.cpumanager.topology import CPUTopology
from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import KubeletError
from tests.machines.cputopologies import all_but, hybrid, regular, without

SMALL = regular(1, 1, 4)  # cores (0,4) (1,5) (2,6) (3,7)
DUAL = regular(2, 2, 6)  # node 0: 0-5,12-17; node 1: 6-11,18-23
SPLIT = regular(1, 2, 4)  # sub-NUMA clusters: one socket above two nodes
SNC = regular(2, 4, 4)  # two nodes in each socket; node 0: 0-3,16-19
QUAD = regular(4, 2, 4, threads=1)  # two sockets in each node; node 0: 0-3
CACHES = regular(1, 1, 8, caches=4)  # caches of two cores: 0-1,8-9  2-3,10-11  4-5,12-13  6-7,14-15
FLAT = regular(1, 1, 8, threads=1, caches=2)
TWO = regular(2, 2, 4, caches=2)


@pytest.mark.parametrize(
    ("machine", "free", "count", "taken"),
    [
        pytest.param(SMALL, "0-7", 0, "", id="nothing"),
        pytest.param(SMALL, "0-7", 8, "0-7", id="everything"),
        pytest.param(SMALL, "1-7", 1, "4", id="one thread from the core in use"),
        pytest.param(SMALL, "1,3,5-7", 1, "6", id="single threads are cheaper than whole cores"),
        pytest.param(SMALL, "1-7", 2, "1,5", id="a whole core before two halves"),
        pytest.param(SMALL, "1-7", 3, "1,4-5", id="a core, then the half that is left"),
        pytest.param(DUAL, "0-23", 12, "0-5,12-17", id="a whole node"),
        pytest.param(DUAL, "1-23", 2, "1,13", id="the fuller node first"),
        pytest.param(DUAL, "1-23", 12, "6-11,18-23", id="the free node, though it is less full"),
        pytest.param(DUAL, "1-23", 14, "1,6-11,13,18-23", id="a whole node, then best fit"),
        pytest.param(SPLIT, "0-15", 8, "0-3,8-11", id="sockets first: a node of the socket"),
        pytest.param(SPLIT, "1-15", 8, "4-7,12-15", id="the free node of a socket in use"),
        pytest.param(SNC, "1-31", 16, "8-15,24-31", id="a free socket before free nodes of two"),
        pytest.param(QUAD, "1-15", 4, "4-7", id="a free node before free sockets of two"),
    ],
)
def test_best_fit(machine: CPUTopology, free: str, count: int, taken: str) -> None:
    assert to_text(take(machine, parse_cpus(free), count)) == taken


def test_spread_takes_cpus_in_order_and_no_whole_cores() -> None:
    assert to_text(take(SMALL, SMALL.all, 3, spread=True)) == "0-2"


@pytest.mark.parametrize(
    ("free", "count", "taken"),
    [
        pytest.param("0-15", 4, "0-1,8-9", id="a whole cache"),
        pytest.param("0-15", 6, "0-2,8-10", id="a whole cache and a core of the next"),
        pytest.param("1-15", 2, "2,10", id="not the fullest: its lowest core is half used"),
        pytest.param("1-15", 4, "2-3,10-11", id="a free cache"),
        pytest.param("0-15", 3, "0-1,8", id="odd: the highest CPU of the last core is left"),
        pytest.param("0,2-15", 3, "0,8-9", id="just what is left in the fullest cache"),
    ],
)
def test_uncore_caches(free: str, count: int, taken: str) -> None:
    assert to_text(take(CACHES, parse_cpus(free), count, align_by_uncore_cache=True)) == taken


@pytest.mark.parametrize(
    ("machine", "free", "count", "odd", "taken"),
    [
        pytest.param(
            CACHES, "1-7,10-15", 7, True, "2-5,10-12", id="a cache, and three of the next"
        ),
        pytest.param(CACHES, "0-1,6,10,12,15", 1, True, "10", id="one: the half core of a cache"),
        pytest.param(FLAT, "1-3,5,7", 1, True, "5", id="cores of one thread: the fuller cache"),
        pytest.param(TWO, "1-3,6,9,12-13,15", 1, True, "1", id="one: the lowest of a whole core"),
        pytest.param(TWO, "2-5,8,11-12", 1, False, "5", id="whole cores only: none is missing"),
    ],
)
def test_rest_in_an_uncore_cache(
    machine: CPUTopology, free: str, count: int, odd: bool, taken: str
) -> None:
    assigned = take(
        machine, parse_cpus(free), count, align_by_uncore_cache=True, odd_uncore_remainders=odd
    )
    assert to_text(assigned) == taken


def test_a_half_used_lowest_core_defeats_the_cache() -> None:
    """The lowest free cores must hold just what is missing: two hold three CPUs, not four."""
    machine = regular(1, 1, 6, caches=2)  # caches: 0-2,6-8 and 3-5,9-11
    free = all_but(machine, 0, 3, 4, 9, 10)
    assert to_text(take(machine, free, 4, align_by_uncore_cache=True)) == to_text(
        take(machine, free, 4)
    )


@pytest.mark.parametrize(
    ("free", "count", "available"), [("0,2,4,6", 5, 4), ("", 1, 0), ("100", 1, 1)]
)
def test_too_few(free: str, count: int, available: int) -> None:
    with pytest.raises(KubeletError) as caught:
        take(SMALL, parse_cpus(free), count)
    wanted = (
        f"not enough cpus available to satisfy request: requested={count}, available={available}"
    )
    assert str(caught.value) == wanted


def test_bug_an_average_socket_is_taken_whole_though_part_of_it_is_not_free() -> None:
    """isSocketFree compares with NumCPUs/NumSockets: a socket in use looks free."""
    machine = without(regular(2, 2, 4), 4, 12)  # node 1 has 6 of 8 CPUs, sockets 7 on average
    free = all_but(machine, 0, 5)
    taken = take(machine, free, 8)
    assert to_text(taken & ~free) == "0", "CPU 0 is somebody else's"


def test_bug_on_hybrid_machines_a_half_used_core_is_taken_whole() -> None:
    """isCoreFree compares with NumCPUs/NumCores, 1 on such machines: CPU 0 is taken twice."""
    machine = hybrid(performance=1, efficient=3)
    taken = take(machine, all_but(machine, 0), 2)
    assert to_text(taken) == "0-1"


def test_elements_below_several_parents_are_listed_again() -> None:
    """A socket above two NUMA nodes, counted as many times as there are nodes."""
    rows = [(0, 0, 0, 0, 0), (1, 1, 0, 1, 0), (2, 2, 1, 1, 0), (3, 3, 1, 1, 0)]
    machine = CPUTopology(rows, cpus=4, cores=4, sockets=2, numa_nodes=2, uncore_caches=1)
    assert to_text(take(machine, parse_cpus("0-1"), 2)) == "0-1"
