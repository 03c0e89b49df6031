"""Which CPUs the allocator of the NRI policies takes (pkg/cpuallocator)."""

import pytest

from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.cpuallocator import (
    HIGH,
    LOW,
    NONE,
    Topology,
    allocate,
    release,
    topology_of,
)
from cpuplan.upstream.nri.system import discover
from tests.machines.nrifiles import regular

DUAL = topology_of(discover(regular(2, 4)))  # 0-3,8-11 and 4-7,12-15
CACHES = topology_of(discover(regular(1, 8, caches=2)))  # 0-3,8-11 and 4-7,12-15
_fast = tuple(
    cpu._replace(base_khz=2_700_000 if cpu.cpu % 4 < 2 else 2_100_000) for cpu in regular(2, 4).cpus
)
SPEEDS = topology_of(discover(regular(2, 4)._replace(cpus=_fast)))  # fast: 0-1,4-5,8-9,12-13


@pytest.mark.parametrize(
    ("machine", "free", "count", "wish", "taken"),
    [
        pytest.param(DUAL, "0-15", 8, NONE, "0-3,8-11", id="an idle package"),
        pytest.param(DUAL, "1-15", 8, NONE, "4-7,12-15", id="the package that is idle"),
        pytest.param(DUAL, "0-15", 4, NONE, "0-1,8-9", id="whole cores"),
        pytest.param(DUAL, "1-15", 1, NONE, "8", id="the half of a used core"),
        pytest.param(CACHES, "1-15", 4, NONE, "4-5,12-13", id="from the idle cache"),
        pytest.param(CACHES, "0,2-15", 10, NONE, "0,4-8,12-15", id="a cache, then the used one"),
        pytest.param(SPEEDS, "0-15", 4, HIGH, "0-1,8-9", id="fast CPUs"),
        pytest.param(SPEEDS, "0-15", 4, LOW, "2-3,10-11", id="slow CPUs"),
    ],
)
def test_taking(machine: Topology, free: str, count: int, wish: int, taken: str) -> None:
    assert to_text(allocate(machine, parse_cpus(free), count, wish)[0]) == taken


def test_too_few() -> None:
    with pytest.raises(NriError, match="cpuset 3 does not have 2 CPUs"):
        allocate(DUAL, parse_cpus("3"), 2, NONE)


def test_release_keeps_what_would_be_allocated() -> None:
    kept, released = release(DUAL, parse_cpus("0-3,8"), 3, NONE)
    assert (to_text(kept), to_text(released)) == ("0,8", "1-3")


def test_bug_beside_idle_groups_used_ones_keep_their_order() -> None:
    """Package ids are compared with counts of CPUs, so the fuller group is not preferred."""
    machine = topology_of(discover(regular(1, 12, caches=3)))  # 0-3,12-15 4-7,16-19 8-11,20-23
    taken, _ = allocate(machine, parse_cpus("3,15,5-7,17-18,8-11,20-23"), 11, NONE)
    assert to_text(taken) == "3,7-11,15,20-23"
