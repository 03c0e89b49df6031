"""The NUMA nodes from which a request for devices can be met (topology_hints.go).

Upstream: kubernetes/kubernetes pkg/kubelet/cm/devicemanager/topology_hints.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Iterable, Sequence

from cpuplan.upstream.kubelet.devicemanager.pod_devices import Pool
from cpuplan.upstream.kubelet.topologymanager.policy import TopologyHint


def has_topology_alignment(pool: Pool) -> bool:
    """Whether a device has NUMA nodes at all: then the others count as near none."""
    return bool(pool.nodes)


def numa_nodes_to_combine(
    pool: Pool, machine: Sequence[int], *, only_with_devices: bool
) -> tuple[int, ...]:
    """The NUMA nodes whose sets are looked at (deviceNUMANodes).

    All of the machine before #138244, and where no device is near one that the machine has.
    """
    if not only_with_devices:
        return tuple(machine)
    return tuple(node for node in pool.nodes if node in machine) or tuple(machine)


def generate_device_topology_hints(
    pool: Pool, nodes: tuple[int, ...], available: int, reusable: int, request: int
) -> list[TopologyHint]:
    """A hint for each set of `nodes` from which as many devices can come.

    Preferred are the sets of the least size that can hold a request of this size at all, whoever
    has the devices now.
    """
    sets = pool.near_sets(nodes)
    wide = (size for _, size, near in sets if near.bit_count() >= request)
    least = min(wide, default=len(nodes))
    if pool.lost & reusable:
        return []
    needed = [mask for mask, bits in pool.by_mask.items() if mask and bits & reusable]
    usable = available | reusable
    fitting = [of for of in sets if (of[2] & usable).bit_count() >= request]
    return [
        TopologyHint(mask, preferred=size == least)
        for mask, size, _ in fitting
        if _has_all(mask, needed)
    ]


def _has_all(mask: int, needed: Iterable[int]) -> bool:
    """Whether a mask has a NUMA node of each of the others."""
    return all(mask & other for other in needed)
