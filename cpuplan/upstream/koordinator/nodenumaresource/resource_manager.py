"""What a pod could get and gets of a node: resources of NUMA nodes, then CPUs.

Upstream: koordinator-sh/koordinator pkg/scheduler/plugins/nodenumaresource/resource_manager.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from typing import NamedTuple

from cpuplan.upstream.koordinator.extension.node import of_milli
from cpuplan.upstream.koordinator.extension.numa_aware import (
    FULL_PCPUS,
    RESTRICTED,
    SPREAD_BY_PCPUS,
    NumaNodeResource,
)
from cpuplan.upstream.koordinator.nodenumaresource.cpu_accumulator import (
    Ordering,
    Wish,
    take_preferred_cpus,
)
from cpuplan.upstream.koordinator.nodenumaresource.cpu_topology import CPUTopology
from cpuplan.upstream.koordinator.nodenumaresource.node_allocation import (
    NodeAllocation,
    PodAllocation,
    rest_of,
)
from cpuplan.upstream.koordinator.nodenumaresource.scoring import NOT_ENOUGH_CPUS, PluginArgs, score
from cpuplan.upstream.koordinator.nodenumaresource.topologymanager import Hint, ProviderHints
from cpuplan.upstream.koordinator.nodenumaresource.util import (
    UNRESOLVABLE,
    UNSCHEDULABLE,
    StatusError,
)
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.bits import masks_over, members
from cpuplan.upstream.kubernetes.errors import NIL_DEREFERENCE, KubeletError, PanicError
from cpuplan.upstream.kubernetes.pod import CPU, Resources, sum_of
from cpuplan.upstream.kubernetes.quantity import ZERO, Quantity


class Request(NamedTuple):
    """A pod's resources and CPUs, with what it may have of the node.

    `requests` count CPUs amplified where they are bound, `original` never does. `hint` is a mask
    of NUMA nodes, None for no preference. `preferred` and `preemptible` CPUs are given back first.
    """

    uid: str
    requests: Resources
    original: Resources
    cpus: int
    binds_cpus: bool
    wish: Wish
    is_required: bool
    strategy: str
    zones: tuple[NumaNodeResource, ...]
    ratio: float = 0
    hint: int | None = None
    preferred: int = 0
    preemptible: int = 0

    @property
    def needed(self) -> Resources:
        """What is taken of NUMA nodes: bound CPUs as they are."""
        return self.original if self.binds_cpus else self.requests

    @property
    def is_of_cores(self) -> bool:
        """Whether CPUs are given as whole cores or not at all."""
        return self.binds_cpus and self.is_required and self.wish.bind_policy == FULL_PCPUS


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


def divide_by_numa_node(
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


_NO_NUMA_RESOURCES = "insufficient resources on NUMA Node"


def allocate(node: NodeAllocation, request: Request) -> PodAllocation:
    """What the pod would get; nothing is noted. StatusError with the scheduler's reasons."""
    zones: tuple[NumaNodeResource, ...] = ()
    if request.hint is not None:
        zones = _of_numa_nodes(node, request)
    cpus = 0
    if request.binds_cpus:
        try:
            cpus = _cpus(node, request, zones)
        except KubeletError as error:
            raise StatusError(UNSCHEDULABLE, [str(error)]) from None
    return PodAllocation(request.uid, cpus, request.wish.exclusive_policy, zones)


def _of_numa_nodes(node: NodeAllocation, request: Request) -> tuple[NumaNodeResource, ...]:
    if not request.zones:
        raise StatusError(UNRESOLVABLE, [_NO_NUMA_RESOURCES])
    available, _ = node.numa_resources(request.zones, request.ratio)
    try:
        available = trimmed(node, request, available)
    except KubeletError as error:
        raise StatusError(UNRESOLVABLE, [str(error)]) from None
    return divide_by_numa_node(request, available, node.options.topology)


def _cpus(node: NodeAllocation, request: Request, zones: tuple[NumaNodeResource, ...]) -> int:
    """CPUs of the NUMA nodes that were chosen, or of any (allocateCPUSet)."""
    free, allocated = node.available_cpus(request.preferred, request.preemptible)
    topology, wish = node.options.topology, request.wish
    if topology is None:
        raise KubeletError(NOT_ENOUGH_CPUS)
    if request.is_required:
        free = usable_cpus(topology, free, wish.bind_policy)
    if free.bit_count() < request.cpus:
        raise KubeletError(NOT_ENOUGH_CPUS)
    is_shared = node.options.max_ref_count > 1
    ordering = Ordering(topology, request.strategy, allocated, is_shared)
    if zones:
        result = 0
        for zone in zones:
            there = free & topology.in_node.get(zone.node, 0)
            count = min(there.bit_count(), zone.resources.get(CPU, ZERO).milli // 1000)
            # The same part of a NUMA node belongs to many masks.
            key = there, count, wish, request.strategy, request.preferred, request.preemptible
            taken = node.memo.get(key)
            if taken is None:
                taken = take_preferred_cpus(ordering, there, request.preferred, count, wish)
                node.memo[key] = taken
            result |= taken
        if result.bit_count() != request.cpus:
            raise KubeletError(NOT_ENOUGH_CPUS)
    else:
        result = take_preferred_cpus(ordering, free, request.preferred, request.cpus, wish)
    if request.is_required and not _is_as_required(topology, result, wish.bind_policy):
        policy = wish.bind_policy
        raise KubeletError(f"insufficient CPUs to satisfy required cpu bind policy {policy}")
    return result


def _is_as_required(topology: CPUTopology, cpus: int, policy: str) -> bool:
    cores = sum(1 for core in topology.cores if core.cpus & cpus)
    if policy == FULL_PCPUS:
        return cores * topology.cpus_per_core == cpus.bit_count()
    return policy != SPREAD_BY_PCPUS or cores == cpus.bit_count()


#: A mask has 64 bits; one that cannot be made is a nil pointer.
_MOST_NODES = 64


def topology_hints(
    node: NodeAllocation, request: Request, policy: str, args: PluginArgs
) -> ProviderHints:
    """For each resource the masks of NUMA nodes from which all could be allocated.

    Those of the fewest NUMA nodes are preferred, under Restricted all. KubeletError when the node
    has no CPUs that the scheduler knows; PanicError for NUMA nodes from 64 on.
    """
    available = trimmed(node, request, node.numa_resources(request.zones, request.ratio)[0])
    nodes = tuple(zone.node for zone in request.zones)
    if not all(0 <= number < _MOST_NODES for number in nodes):
        raise PanicError(NIL_DEREFERENCE)
    hints: dict[str, list[Hint]] = {}
    for mask, node_ids in masks_over(nodes):
        total = sum_of(_first_zones(request, node_ids))
        for name in request.requests:
            if name in total:
                hints.setdefault(name, [])
        try:
            allocate(node, request._replace(hint=mask))
        except StatusError:
            continue
        left = sum_of(available[node_id] for node_id in node_ids)
        used = rest_of(total, left)
        hint = Hint(
            mask, score=score(args.scoring, args.numa_scoring.type, used, total, request.requests)
        )
        for name, of_resource in hints.items():
            if all(_has(available, node_id, name) for node_id in node_ids):
                of_resource.append(hint)
    return {name: _preferred(of_resource, policy) for name, of_resource in hints.items()}


def _has(available: Available, node: int, name: str) -> bool:
    return available[node].get(name, ZERO).nano != 0


def _first_zones(request: Request, nodes: tuple[int, ...]) -> list[Resources]:
    by_node = {zone.node: zone.resources for zone in reversed(request.zones)}
    return [by_node[node] for node in nodes]


def _preferred(hints: list[Hint], policy: str) -> list[Hint]:
    fewest = min(map(_size, hints), default=0)
    return [
        hint._replace(is_preferred=policy == RESTRICTED or _size(hint) == fewest) for hint in hints
    ]


def _size(hint: Hint) -> int:
    return (hint.affinity or 0).bit_count()
