"""Cores that are the same to every rule, and the canonical choice of CPUs among them."""

from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.cpuset import EMPTY, CpuSet, union
from cpuplan.intent import POOLS
from cpuplan.topology import Topology

#: The name under which CPUs are counted that are in no pool; last in every order.
LEFT_OVER = ""
ORDER = (*POOLS, LEFT_OVER)


class Kind(NamedTuple):
    """Cores of one socket, NUMA node, die, cache and core type with as many free threads and the same listed ones."""

    cores: tuple[CpuSet, ...]  # the free CPUs of each core, ascending
    threads: int  # how many free CPUs each has
    holders: tuple[str, ...]  # the pools that hold the cores' other CPUs by their lists
    numa_node: int

    @property
    def cpus(self) -> CpuSet:
        """All free CPUs."""
        return union(self.cores)


def kinds_of(topology: Topology, listed: Mapping[str, CpuSet]) -> list[Kind]:
    """All cores with free CPUs by kind. Lowest kind first: sockets, NUMA nodes, dies and caches by their lowest CPU.

    The kernel sees to it that siblings share all of these (arch/x86/kernel/smpboot.c, topology_sane).
    """
    taken = union(listed.values())
    lowest: dict[tuple[object, ...], int] = {}
    groups: dict[tuple[object, ...], list[CpuSet]] = {}
    for core, siblings in topology.cores.items():
        first = topology[core]
        places = (first.socket, first.numa_node, first.die, first.uncore_cache)
        # Cores come in ascending order, so the first that names a place gives the place's rank.
        order = tuple(lowest.setdefault(places[: depth + 1], core) for depth in range(len(places)))
        if free := siblings - taken:
            holders = tuple(pool for pool in listed if siblings & listed[pool])
            key = (order, first.core_type, len(siblings), len(free), holders)
            rank = lowest.setdefault(key, core)
            groups.setdefault((order, rank, holders, first.numa_node), []).append(free)
    return [
        Kind(tuple(cores), len(cores[0]), holders, numa_node)  # type: ignore[arg-type]
        for (_, _, holders, numa_node), cores in sorted(groups.items(), key=lambda item: item[0][:2])  # type: ignore[index]
    ]


def place(kind: Kind, taken: Mapping[str, int]) -> dict[str, CpuSet]:
    """Choose CPUs of a kind for pools that take `taken` CPUs of it (all together); as few cores are split as can be.

    Lowest first: the full cores of reserved, then the cores that are split, then the full cores of the others.
    """
    full = {pool: 0 if kind.holders else taken.get(pool, 0) // kind.threads for pool in ORDER}
    cores = list(kind.cores)
    found = dict.fromkeys(ORDER, EMPTY)
    split = len(cores) - sum(full.values())
    for pool in ORDER:
        found[pool] = union(cores[: full[pool]])
        cores = cores[full[pool] :]
        if pool == ORDER[0]:
            threads = [cpu for siblings in cores[:split] for cpu in siblings]
            cores = cores[split:]
    for pool in ORDER:
        part = taken.get(pool, 0) - full[pool] * kind.threads
        found[pool] |= CpuSet(threads[:part])
        threads = threads[part:]
    return found
