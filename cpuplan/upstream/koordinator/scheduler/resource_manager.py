"""What a pod gets of a node: resources of NUMA nodes, then CPUs (resource_manager.go, Allocate)."""

from cpuplan.upstream.koordinator.annotations.pod import (
    FULL_PCPUS,
    SPREAD_BY_PCPUS,
    NumaNodeResource,
)
from cpuplan.upstream.koordinator.scheduler.cpus.cpu_accumulator import take_preferred_cpus
from cpuplan.upstream.koordinator.scheduler.cpus.ordering import Ordering
from cpuplan.upstream.koordinator.scheduler.cpus.topology import CPUTopology
from cpuplan.upstream.koordinator.scheduler.names import NOT_ENOUGH_CPUS
from cpuplan.upstream.koordinator.scheduler.node_allocation import NodeAllocation, PodAllocation
from cpuplan.upstream.koordinator.scheduler.numa_split import divide, trimmed, usable_cpus
from cpuplan.upstream.koordinator.scheduler.request import Request
from cpuplan.upstream.koordinator.scheduler.status import UNRESOLVABLE, UNSCHEDULABLE, StatusError
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.pods.pod import CPU
from cpuplan.upstream.kubelet.quantity import ZERO

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
    return divide(request, available, node.options.topology)


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
