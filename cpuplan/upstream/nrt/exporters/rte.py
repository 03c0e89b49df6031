"""resource-topology-exporter (pkg/resourcemonitor/resourcemonitor.go)."""

from collections.abc import Collection, Iterable

from cpuplan.upstream.kubelet.errors import NIL_DEREFERENCE, PanicError
from cpuplan.upstream.kubelet.pods.pod import CPU, is_memory
from cpuplan.upstream.nrt.errors import NIL_MAP
from cpuplan.upstream.nrt.exporters.podresources import (
    Amounts,
    Machine,
    Pod,
    Resources,
    Zone,
    find,
    place_of,
    zone,
)

Counts = dict[int, dict[str, int]]


def zones(
    machine: Machine, allocatable: Resources, pods: Iterable[Pod], excluded: Collection[str] = ()
) -> list[Zone]:
    """The zones of a node, without excluded resources.

    Every CPU of any container is taken, and memory on several NUMA nodes is taken from each of them
    whole. PanicError for numbers of NUMA nodes with gaps.
    """
    free = _count(machine, [allocatable])
    capacity = _capacity(machine, free)
    used = _count(machine, [container for pod in pods for container in pod.containers])
    made = []
    for number in range(len(machine.nodes)):
        # without anything that could be allocated, all CPUs are reserved
        resources = {
            name: _amounts(capacity[number].get(name, 0), amount, used.get(number, {}).get(name, 0))
            for name, amount in free.get(number, {CPU: 0}).items()
            if name not in excluded
        }
        made.append(zone(machine, number, resources))
    return made


def _amounts(capacity: int, allocatable: int, used: int) -> Amounts:
    return Amounts(max(capacity, allocatable), allocatable, max(allocatable - used, 0))


def _capacity(machine: Machine, free: Counts) -> Counts:
    """CPUs and memory as sysfs has them, devices as they can be allocated."""
    counts: Counts = {}
    for number in range(len(machine.nodes)):
        node = find(machine, number)
        if node is None:
            raise PanicError(NIL_DEREFERENCE)
        counts[number] = {**machine.memory.get(number, {}), CPU: len(node.cpus)}
    for number, amounts in free.items():
        for name, amount in amounts.items():
            if name == CPU or is_memory(name):
                continue
            if number not in counts:
                raise PanicError(NIL_MAP)
            counts[number][name] = amount
    return counts


def _count(machine: Machine, parts: Iterable[Resources]) -> Counts:
    """How much there is of each resource on each NUMA node."""
    counts: Counts = {}
    places = place_of(machine)
    for part in parts:
        for cpu in part.cpus:
            if cpu in places:
                _add(counts, places[cpu], CPU, 1)
        for device in part.devices:
            for number in device.numa_nodes:
                _add(counts, number, device.resource, len(device.ids))
        for block in part.memory:
            for number in block.numa_nodes if block.size else ():
                _add(counts, number, block.resource, block.size)
    return counts


def _add(counts: Counts, number: int, name: str, amount: int) -> None:
    node = counts.setdefault(number, {})
    node[name] = node.get(name, 0) + amount
