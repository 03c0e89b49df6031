"""Topology hints of the CPU manager (policy_static.go, generateCPUTopologyHints)."""

from itertools import combinations
from typing import NamedTuple

from cpuplan.simulate.cputopology import CPUTopology


class TopologyHint(NamedTuple):
    """A mask of NUMA nodes, None for any, and whether a provider can do no better."""

    affinity: int | None
    preferred: bool


#: For each resource: None for no preference, an empty list for none that fits.
ProviderHints = dict[str, list[TopologyHint] | None]

NO_AFFINITY = TopologyHint(None, preferred=False)


def generate_cpu_topology_hints(
    topology: CPUTopology, available: int, reusable: int, request: int, *, align_by_socket: bool = False
) -> list[TopologyHint]:
    """The masks over NUMA nodes with CPUs that can give `request` CPUs, counting reusable ones that are free twice.

    Preferred are masks as narrow as the narrowest that has so many CPUs at all, reserved ones included.
    """
    nodes = list(topology.numa_nodes)
    stray = ~topology.all  # CPUs that the topology does not know count as those of node 0 (a map's zero value in Go)
    sizes, free, needed = {}, {}, 0
    for node, cpus in topology.numa_nodes.items():
        sizes[node] = cpus.bit_count()
        own = cpus | stray if node == 0 else cpus
        free[1 << node] = (own & available).bit_count()
        if own & reusable:
            needed |= 1 << node
    unknown_node = stray & reusable and 0 not in sizes
    missing = request - reusable.bit_count()
    smallest = _smallest_size(sorted(sizes.values(), reverse=True), request)
    masks: list[int] = []
    for count in range(1, len(nodes) + 1):
        for chosen in combinations(free.items(), count):
            mask = sum([node for node, _ in chosen])
            if not needed & ~mask and not unknown_node and sum([cpus for _, cpus in chosen]) >= missing:
                masks.append(mask)
    return [
        TopologyHint(
            mask, mask.bit_count() == smallest or (align_by_socket and is_socket_aligned(topology, mask, smallest))
        )
        for mask in masks
    ]


def _smallest_size(sizes: list[int], request: int) -> int:
    """How many NUMA nodes, the largest first, have `request` CPUs; all when they do not have so many."""
    total = 0
    for count, cpus in enumerate(sizes, 1):
        total += cpus
        if total >= request:
            return count
    return len(sizes)


def is_socket_aligned(topology: CPUTopology, mask: int, smallest: int) -> bool:
    """Whether a mask spans no more sockets than `smallest` NUMA nodes need (align-by-socket, KEP-3327)."""
    if not topology.num_sockets:
        return False
    nodes_per_socket = topology.num_numa_nodes // topology.num_sockets
    if not nodes_per_socket:
        return False
    return len(topology.sockets_of(mask)) == -(-smallest // nodes_per_socket)
