"""Machines as Koordinator's scheduler knows them."""

from cpuplan.upstream.koordinator.nodenumaresource.cpu_topology import CPUTopology


def machine(sockets: int, nodes: int, cores: int, threads: int = 2) -> CPUTopology:
    """`nodes` NUMA nodes per socket, `cores` cores each; siblings have adjacent numbers."""
    rows = []
    for cpu in range(sockets * nodes * cores * threads):
        core = cpu // threads
        node = core // cores
        rows.append((cpu, core, node // nodes, node))
    return CPUTopology(rows)
