"""Topology hints of the CPU manager (policy_static.go, generateCPUTopologyHints)."""

from cpuplan.upstream.kubelet.bits import masks_over
from cpuplan.upstream.kubelet.cpu.topology import CPUTopology
from cpuplan.upstream.kubelet.topology.hints import TopologyHint


def generate_cpu_topology_hints(
    topology: CPUTopology,
    available: int,
    reusable: int,
    request: int,
    *,
    align_by_socket: bool = False,
) -> list[TopologyHint]:
    """The NUMA masks that can give `request` CPUs.

    Reusable CPUs that are free count twice.

    Preferred are masks as narrow as the narrowest that has so many CPUs at all, reserved ones
    included.
    """
    # CPUs that the topology does not know count as those of node 0 (a map's zero value in Go)
    stray = ~topology.all
    sizes, free, needed = {}, {}, 0
    for node, cpus in topology.numa_nodes.items():
        sizes[node] = cpus.bit_count()
        own = cpus | stray if node == 0 else cpus
        free[node] = (own & available).bit_count()
        if own & reusable:
            needed |= 1 << node
    if stray & reusable and 0 not in sizes:
        return []
    missing = request - reusable.bit_count()
    smallest = _smallest_size(sorted(sizes.values(), reverse=True), request)
    hints = []
    for mask, nodes in masks_over(tuple(topology.numa_nodes)):
        if needed & ~mask or sum(map(free.__getitem__, nodes)) < missing:
            continue
        preferred = len(nodes) == smallest or (
            align_by_socket and is_socket_aligned(topology, mask, smallest)
        )
        hints.append(TopologyHint(mask, preferred))
    return hints


def _smallest_size(sizes: list[int], request: int) -> int:
    """How many NUMA nodes, largest first, hold `request` CPUs; all nodes if none suffice."""
    total = 0
    for count, cpus in enumerate(sizes, 1):
        total += cpus
        if total >= request:
            return count
    return len(sizes)


def is_socket_aligned(topology: CPUTopology, mask: int, smallest: int) -> bool:
    """Whether a mask spans the fewest sockets that `smallest` NUMA nodes need.

    Rule of align-by-socket, KEP-3327.
    """
    if not topology.num_sockets:
        return False
    nodes_per_socket = topology.num_numa_nodes // topology.num_sockets
    if not nodes_per_socket:
        return False
    return len(topology.sockets_of(mask)) == -(-smallest // nodes_per_socket)
