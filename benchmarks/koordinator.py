"""Koordinator's CPU accumulator: single choices, and pods that come one after the other."""

from collections.abc import Callable, Sequence

from cpuplan.upstream.koordinator.extension.numa_aware import (
    FULL_PCPUS,
    PCPU_LEVEL,
    SPREAD_BY_PCPUS,
)
from cpuplan.upstream.koordinator.nodenumaresource.cpu_accumulator import (
    Allocated,
    Ordering,
    Wish,
    take_cpus,
)
from cpuplan.upstream.koordinator.nodenumaresource.cpu_topology import CPUTopology
from cpuplan.upstream.koordinator.nodenumaresource.scoring import LEAST_ALLOCATED, MOST_ALLOCATED
from cpuplan.upstream.kubernetes.bits import parse_cpus

FULL, SPREAD = Wish(FULL_PCPUS), Wish(SPREAD_BY_PCPUS)
APART = Wish(SPREAD_BY_PCPUS, PCPU_LEVEL)
FULL_APART = Wish(FULL_PCPUS, PCPU_LEVEL)


def machine(cpus: int, sockets: int, numa_nodes: int) -> CPUTopology:
    """Two threads a core, all first threads numbered before the second ones."""
    cores = cpus // 2
    rows = []
    for cpu in range(cpus):
        core = cpu % cores
        rows.append((cpu, core, core * sockets // cores, core * numa_nodes // cores))
    return CPUTopology(rows)


SMALL, LARGE, HUGE = machine(16, 1, 1), machine(128, 2, 8), machine(256, 2, 8)


def choice(on: CPUTopology, count: int, reserved: str, wish: Wish) -> Callable[[], object]:
    """`count` CPUs of a machine without pods."""
    free = on.all & ~parse_cpus(reserved)
    return lambda: take_cpus(Ordering(on, LEAST_ALLOCATED), free, count, wish)


def sequence(
    on: CPUTopology, sizes: Sequence[int], reserved: str, wish: Wish, *, is_packed: bool
) -> Callable[[], object]:
    """Pods of these sizes, which all find CPUs."""
    kept = parse_cpus(reserved)
    strategy = MOST_ALLOCATED if is_packed else LEAST_ALLOCATED

    def call() -> object:
        allocated = Allocated()
        for count in sizes:
            free = on.all & ~allocated.taken(1) & ~kept
            taken = take_cpus(Ordering(on, strategy, allocated), free, count, wish)
            allocated = allocated.plus(taken, wish.exclusive_policy)
        return allocated

    return call
