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
    lowest: dict[tuple[int, ...], int] = {}
    groups: dict[tuple[tuple[int, ...], str, int, int, tuple[str, ...]], list[CpuSet]] = {}
    for siblings in sorted(topology.cores.values(), key=lambda siblings: siblings.first):
        cpu = topology[siblings.first]
        places = (cpu.socket, cpu.numa_node, cpu.die, cpu.uncore_cache)
        # Cores come in ascending order, so the first core in a place gives the place its rank.
        ranks = tuple(lowest.setdefault(places[: depth + 1], cpu.cpu) for depth in range(len(places)))
        if free := siblings - taken:
            holders = tuple(pool for pool in listed if siblings & listed[pool])
            groups.setdefault((ranks, cpu.core_type, len(siblings), len(free), holders), []).append(free)
    # Sorting is stable, so kinds of one place stay in the order of their lowest cores.
    return [
        Kind(tuple(groups[key]), key[3], key[4], topology[groups[key][0].first].numa_node)
        for key in sorted(groups, key=lambda key: key[0])
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
