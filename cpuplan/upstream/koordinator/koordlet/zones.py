"""The zones of a NodeResourceTopology as koordlet fills and overwrites them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cpuplan.upstream.koordinator.keys import ENABLE_NUMA_RESERVATION
from cpuplan.upstream.koordinator.koordlet.node import Machine, Node
from cpuplan.upstream.koordinator.scheduler.amplification import of_milli
from cpuplan.upstream.kubelet import quantity
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.machine import hugepage_name
from cpuplan.upstream.kubelet.pods.pod import CPU, MEMORY, Resources
from cpuplan.upstream.kubelet.quantity import BINARY

_SIZES_KIB = (2048, 1048576)


class Zone(NamedTuple):
    """A NUMA node; what is available is always what is allocatable."""

    name: str
    capacity: Resources
    allocatable: Resources


def compute_zones(machine: Machine, node: Node, *, huge_pages: bool) -> list[Zone]:
    """calTopologyZoneList; `huge_pages` is the gate HugePageReport.

    Zones are numbered from 0, whatever ids the NUMA nodes have. KubeletError with koordlet's text.
    """
    count = len(machine.memory)
    if count != len({cpu.node for cpu in machine.cpus}):
        raise KubeletError("NUMA node number not matched")
    kept = _kept_per_zone(node, count)
    memory = {known.id: known for known in machine.memory}
    zones = []
    for index in range(count):
        pages = _huge_pages(dict(memory[index].hugepages) if index in memory else {}, huge_pages)
        bytes_left = memory[index].memory if index in memory else 0
        bytes_left -= sum(amount.value for amount in pages.values())
        cpus = sum(1 for cpu in machine.cpus if cpu.node == index)
        capacity = {
            CPU: quantity.of(cpus),
            MEMORY: quantity.of(bytes_left, BINARY),
            **pages,
        }
        zones.append(Zone(zone_name(index), capacity, _without(capacity, kept)))
    return sorted(zones)


def zone_name(node: int) -> str:
    return f"node-{node}"


def _huge_pages(counts: Mapping[int, int], is_reported: bool) -> Resources:
    return {
        hugepage_name(size): quantity.of(
            size * 1024 * counts.get(size, 0) if is_reported else 0, BINARY
        )
        for size in _SIZES_KIB
    }


def _kept_per_zone(node: Node, count: int) -> Resources:
    """With the label, an equal part of what the kubelet keeps back, rounded up to thousandths."""
    if node.labels.get(ENABLE_NUMA_RESERVATION) != "true":
        return {}
    kept = {}
    for name in (CPU, MEMORY):
        if name in node.capacity and name in node.allocatable:
            whole = node.capacity[name].minus(node.allocatable[name])
            if whole.nano > 0:
                kept[name] = of_milli(-(-whole.milli // count), whole.format)
    return kept


def _without(capacity: Resources, kept: Resources) -> Resources:
    allocatable = dict(capacity)
    for name, amount in kept.items():
        left = capacity[name].minus(amount)
        allocatable[name] = left._replace(nano=max(left.nano, 0))
    return allocatable


def merge_zones(old: Mapping[str, Resources], computed: Sequence[Zone]) -> list[Zone]:
    """What an update writes over `old` (allocatable by zone): MergeZoneList.

    Zones that koordlet does not know are dropped, resources of others are kept, and capacity
    becomes what is allocatable. Costs, parents and attributes of zones are lost.
    """
    merged = []
    for zone in computed:
        resources = {**old.get(zone.name, {}), **zone.allocatable}
        merged.append(Zone(zone.name, resources, resources))
    return merged
