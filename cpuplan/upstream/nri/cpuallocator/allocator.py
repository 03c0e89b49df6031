"""Choosing CPUs: whole packages, clusters, cache groups and cores first, then threads."""

from cpuplan.upstream.kubelet.bits import to_text
from cpuplan.upstream.nri.cpuallocator import priorities
from cpuplan.upstream.nri.cpuallocator.cachegroups import take_cache_groups
from cpuplan.upstream.nri.cpuallocator.clusters import take_idle_clusters
from cpuplan.upstream.nri.cpuallocator.cores import (
    take_idle_cores,
    take_idle_packages,
    take_idle_threads,
)
from cpuplan.upstream.nri.cpuallocator.groups import cache_groups, clusters
from cpuplan.upstream.nri.cpuallocator.request import Request, Topology
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.sysfs.system import System


def topology_of(system: System) -> Topology:
    """What the allocator keeps of a machine."""
    groups = cache_groups(system)
    return Topology(system, priorities.discover(system), clusters(system), groups)


def allocate(topology: Topology, free: int, count: int, wish: int) -> tuple[int, int]:
    """(CPUs taken, CPUs left); NriError if there are fewer than `count`."""
    if free.bit_count() < count:
        raise NriError(f"cpuset {to_text(free)} does not have {count} CPUs")
    if free.bit_count() == count:
        return free, 0
    request = Request(topology, wish, free, count)
    take_idle_packages(request)
    if topology.is_hybrid and request.count > 0:
        take_idle_clusters(request)
    for step in (take_cache_groups, take_idle_cores, take_idle_threads):
        if request.count > 0:
            step(request)
    return request.taken if not request.count else 0, request.free


def release(topology: Topology, cpus: int, count: int, wish: int) -> tuple[int, int]:
    """(CPUs kept, CPUs released): those to keep are allocated, the rest goes."""
    return allocate(topology, cpus, cpus.bit_count() - count, wish)
