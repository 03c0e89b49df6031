"""Which CPUs a pod gets. Rules: pkg/scheduler/plugins/nodenumaresource/cpu_accumulator.go."""

import pytest

from cpuplan.upstream.koordinator.nodenumaresource.cpu_accumulator import (
    Allocated,
    Ordering,
    Wish,
    take_cpus,
    take_preferred_cpus,
)
from cpuplan.upstream.koordinator.nodenumaresource.cpu_topology import CPUTopology
from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import KubeletError
from tests.machines.koordinator import machine

DUAL = machine(2, 1, 4)  # node 0: 0-7, node 1: 8-15
QUAD = machine(4, 1, 6)  # socket 0: 0-11
FLAT = machine(2, 1, 4, threads=1)  # node 0: 0-3
FULL, SPREAD = Wish("FullPCPUs"), Wish("SpreadByPCPUs")
MOST, LEAST = "MostAllocated", "LeastAllocated"


def _take(
    on: CPUTopology,
    free: str,
    count: int,
    wish: Wish = FULL,
    strategy: str = LEAST,
    allocated: Allocated = Allocated(),  # noqa: B008 (a value)
) -> str:
    return to_text(take_cpus(Ordering(on, strategy, allocated), parse_cpus(free), count, wish))


@pytest.mark.parametrize(
    ("strategy", "free", "count", "taken"),
    [
        pytest.param(LEAST, "0-15", 0, "", id="nothing"),
        pytest.param(LEAST, "0-15", 16, "0-15", id="everything"),
        pytest.param(LEAST, "2-15", 2, "8-9", id="the emptier node"),
        pytest.param(MOST, "2-15", 2, "2-3", id="the fuller node"),
        pytest.param("DistributeEvenly", "2-15", 2, "8-9", id="another strategy: the emptier"),
        pytest.param(LEAST, "0-15", 3, "0-2", id="odd: the last core is cut"),
        pytest.param(MOST, "1-15", 8, "8-15", id="only the free node has as many"),
        pytest.param(LEAST, "1-15", 10, "2-3,8-15", id="a free socket, then a core of the other"),
        pytest.param(LEAST, "1,3,5-15", 2, "8-9", id="a full core before two halves"),
        pytest.param(MOST, "1,3,5,8,10", 3, "1,8,10", id="no full core: the fuller socket first"),
        pytest.param(LEAST, "1,3,4-5", 3, "1,4-5", id="a full core, then a half near it"),
    ],
)
def test_full_cores(strategy: str, free: str, count: int, taken: str) -> None:
    assert _take(DUAL, free, count, FULL, strategy) == taken


@pytest.mark.parametrize(
    ("strategy", "free", "count", "taken"),
    [
        pytest.param(LEAST, "0-15", 4, "0,2,4,6", id="a CPU of each core"),
        pytest.param(LEAST, "0-15", 6, "0-4,6", id="then siblings"),
        pytest.param(MOST, "0-6,8-15", 2, "0,2", id="the fuller node"),
        pytest.param(LEAST, "1-15", 10, "1-2,4,6,8-12,14", id="all cores of both sockets first"),
    ],
)
def test_spread(strategy: str, free: str, count: int, taken: str) -> None:
    assert _take(DUAL, free, count, SPREAD, strategy) == taken


def test_without_smt_both_policies_take_cores() -> None:
    """As the 2022 proposal has it for Arm: only FullPCPUs makes sense there."""
    assert _take(FLAT, "1-7", 5, SPREAD) == _take(FLAT, "1-7", 5, FULL) == "1,4-7"


def test_an_odd_number_over_three_sockets_is_not_rounded_up() -> None:
    """Release 1.8.0 gives 16 CPUs: 0-13 and the core 24-25 of the next socket."""
    assert _take(QUAD, "0-47", 15) == "0-14"
    assert _take(QUAD, "0-11,14-23,28-35,38-47", 17) == "0-11,28-32"


@pytest.mark.parametrize(
    ("bind", "policy", "count", "taken"),
    [
        pytest.param("SpreadByPCPUs", "PCPULevel", 2, "4,6", id="other cores than its like"),
        pytest.param("SpreadByPCPUs", "NUMANodeLevel", 2, "1,3", id="no like: nothing to avoid"),
        pytest.param("SpreadByPCPUs", "PCPULevel", 13, "1,4-15", id="if it must, also those"),
        pytest.param("FullPCPUs", "PCPULevel", 2, "4-5", id="full cores are free of others"),
    ],
)
def test_pcpu_level(bind: str, policy: str, count: int, taken: str) -> None:
    others = Allocated().plus(parse_cpus("0,2"), "PCPULevel")
    wish = Wish(bind, policy)
    assert _take(DUAL, "1,3-15", count, wish, MOST, others) == taken


@pytest.mark.parametrize(
    ("bind", "policy", "count", "taken"),
    [
        pytest.param("SpreadByPCPUs", "NUMANodeLevel", 2, "8,10", id="another node than its like"),
        pytest.param("FullPCPUs", "NUMANodeLevel", 2, "8-9", id="also for full cores"),
        pytest.param("FullPCPUs", "PCPULevel", 2, "4-5", id="no like: the fuller node"),
        pytest.param("SpreadByPCPUs", "NUMANodeLevel", 12, "1,3-4,6,8-15", id="if it must, both"),
    ],
)
def test_numa_node_level(bind: str, policy: str, count: int, taken: str) -> None:
    others = Allocated().plus(parse_cpus("0,2"), "NUMANodeLevel")
    assert _take(DUAL, "1,3-15", count, Wish(bind, policy), MOST, others) == taken


def test_shared_cpus_are_taken_after_free_ones() -> None:
    """Only an extension of the scheduler lets pods share CPUs (maxRefCount)."""
    others = Allocated().plus(parse_cpus("0-3"), "").plus(parse_cpus("0-1"), "")
    ordering = Ordering(DUAL, MOST, others, is_shared=True)
    assert to_text(take_cpus(ordering, parse_cpus("0-7"), 5, FULL)) == "2,4-7"
    assert to_text(take_cpus(ordering, parse_cpus("0-7"), 3, SPREAD)) == "2,4,6"


def test_preferred_cpus_first() -> None:
    ordering = Ordering(DUAL, LEAST)
    free, preferred = parse_cpus("2-15"), parse_cpus("0-3")
    assert to_text(take_preferred_cpus(ordering, free, preferred, 4, FULL)) == "2-3,8-9"
    assert to_text(take_preferred_cpus(ordering, free, preferred, 1, FULL)) == "2"


def test_too_many() -> None:
    with pytest.raises(KubeletError, match=r"^not enough cpus available to satisfy request\Z"):
        _take(DUAL, "0-3", 5)


def test_released_cpus() -> None:
    """A pod's exclusive policy goes with its last CPU; who came later counts on shared ones."""
    first, second = parse_cpus("0-3"), parse_cpus("2-5")
    both = Allocated().plus(first, "PCPULevel").plus(second, "NUMANodeLevel")
    assert (to_text(both.pcpu_level), to_text(both.numa_node_level)) == ("0-1", "2-5")
    assert to_text(both.taken(2)) == "2-3"
    left = both.minus(first)
    assert (to_text(left.cpus), to_text(left.numa_node_level)) == ("2-5", "2-5")
    assert left.minus(second) == Allocated()
