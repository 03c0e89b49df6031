"""Machines as the CPU manager sees them."""

from cpuplan.upstream.kubelet.cpumanager.topology import CPUTopology
from cpuplan.upstream.kubernetes.bits import bits_of


def regular(
    sockets: int, numa_nodes: int, cores: int, threads: int = 2, caches: int = 0
) -> CPUTopology:
    """Equal NUMA nodes with `cores` cores each; first threads are numbered before second ones.

    Without `caches`, a socket is one uncore cache, as cadvisor has it.
    """
    total = numa_nodes * cores
    rows = [
        (
            thread * total + core,
            core,
            core * sockets // total,
            core // cores,
            core * (caches or sockets) // total,
        )
        for thread in range(threads)
        for core in range(total)
    ]
    return CPUTopology(
        rows,
        cpus=len(rows),
        cores=total,
        sockets=sockets,
        numa_nodes=numa_nodes,
        uncore_caches=caches or sockets,
    )


def without(topology: CPUTopology, *offline: int) -> CPUTopology:
    """The same machine with some CPUs offline: they are not counted, their cores are."""
    rows = [row for row in topology.rows if row.cpu not in offline]
    return CPUTopology(
        rows,
        cpus=len(rows),
        cores=len({row.core for row in rows}),
        sockets=topology.num_sockets,
        numa_nodes=topology.num_numa_nodes,
        uncore_caches=topology.num_uncore_caches,
    )


def hybrid(performance: int, efficient: int) -> CPUTopology:
    """One socket: cores with two threads each, then cores with one."""
    rows = [(cpu, cpu // 2, 0, 0, 0) for cpu in range(2 * performance)]
    rows += [(2 * performance + core, performance + core, 0, 0, 0) for core in range(efficient)]
    return CPUTopology(
        rows,
        cpus=len(rows),
        cores=performance + efficient,
        sockets=1,
        numa_nodes=1,
        uncore_caches=1,
    )


def all_but(topology: CPUTopology, *taken: int) -> int:
    """The CPUs of a machine, less some."""
    return topology.all & ~bits_of(taken)
