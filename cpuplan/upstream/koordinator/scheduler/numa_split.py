"""How a pod's resources are divided among NUMA nodes (resource_manager.go).

From tryBestToDistributeEvenly and trimNUMANodeResources.
"""

from cpuplan.upstream.koordinator.annotations.pod import (
    FULL_PCPUS,
    SPREAD_BY_PCPUS,
    NumaNodeResource,
)
from cpuplan.upstream.koordinator.scheduler.amplification import of_milli
from cpuplan.upstream.koordinator.scheduler.cpus.topology import CPUTopology
from cpuplan.upstream.koordinator.scheduler.node_allocation import NodeAllocation
from cpuplan.upstream.koordinator.scheduler.request import Request
from cpuplan.upstream.koordinator.scheduler.status import UNSCHEDULABLE, StatusError
from cpuplan.upstream.kubelet import quantity
from cpuplan.upstream.kubelet.bits import members
from cpuplan.upstream.kubelet.pods.pod import CPU
from cpuplan.upstream.kubelet.quantity import ZERO, Quantity

Available = dict[int, dict[str, Quantity]]


def usable_cpus(topology: CPUTopology, cpus: int, policy: str) -> int:
    """Those that a required policy can use: of full cores all, to spread one of each core."""
    if policy == FULL_PCPUS:
        size = topology.cpus_per_core
        full = (there for core in topology.cores if (there := core.cpus & cpus).bit_count() == size)
        return sum(full)
    if policy == SPREAD_BY_PCPUS:
        return sum(there & -there for core in topology.cores if (there := core.cpus & cpus))
    return cpus


def trimmed(node: NodeAllocation, request: Request, available: Available) -> Available:
    """Of each NUMA node at most as many CPUs as a required policy can use.

    KubeletError when the node has no CPUs that the scheduler knows.
    """
    if not request.is_required:
        return available
    free, _ = node.available_cpus(request.preferred, request.preemptible)
    topology = node.options.topology
    if topology is None:
        return available
    result = dict(available)
    for name, resources in available.items():
        amount = resources.get(CPU, ZERO)
        there = free & topology.in_node.get(name, 0)
        usable = 1000 * usable_cpus(topology, there, request.wish.bind_policy).bit_count()
        if amount.nano and usable < amount.milli:
            result[name] = {**resources, CPU: of_milli(usable, amount.format)}
    return result


def divide(
    request: Request, available: Available, topology: CPUTopology | None
) -> tuple[NumaNodeResource, ...]:
    """Each resource over the NUMA nodes of the hint, as evenly as they have it.

    Resources that no NUMA node has are not asked for. StatusError where too little is left.
    """
    nodes = members(request.hint or 0)
    size = topology.cpus_per_core if topology else 0
    known = {name for resources in available.values() for name in resources}
    given: dict[int, dict[str, Quantity]] = {}
    missing = []
    for name, amount in request.needed.items():
        if name not in known:
            continue
        rest = amount
        for index, node in enumerate(_visited(nodes, name, available)):
            part = _part(request, name, rest, len(nodes) - index, size)
            part = min(available.get(node, {}).get(name, ZERO), part, key=lambda share: share.nano)
            if part.nano:
                given.setdefault(node, {})[name] = part
                rest = rest.minus(part)
        if rest.nano:
            missing.append(f"Insufficient NUMA {name}")
    if missing:
        raise StatusError(UNSCHEDULABLE, missing)
    return tuple(NumaNodeResource(node, given[node]) for node in sorted(given))


def _visited(nodes: list[int], name: str, available: Available) -> list[int]:
    """The order in which NUMA nodes give a resource.

    Meant: those with the least of it first. But while sorting, the amounts of NUMA nodes 0, 1, ...
    are compared instead of those at places 0, 1, ... of the list (bug of the scheduler). Up to 12
    nodes Go sorts by insertion; of more, no scheduler lives to see the hints.
    """
    amounts = [available.get(place, {}).get(name, ZERO).nano for place in range(len(nodes))]
    order = list(nodes)
    for end in range(1, len(order)):
        place = end
        while place > 0 and amounts[place] < amounts[place - 1]:
            order[place - 1], order[place] = order[place], order[place - 1]
            place -= 1
    return order


def _part(request: Request, name: str, rest: Quantity, nodes: int, size: int) -> Quantity:
    """What one of `nodes` NUMA nodes should give of the rest (splitQuantity)."""
    if name == CPU and not request.binds_cpus:
        return of_milli(rest.milli // nodes, rest.format)
    if name == CPU and request.is_of_cores:
        return quantity.of(rest.value // size // nodes * size, rest.format)
    return quantity.of(rest.value // nodes, rest.format)
