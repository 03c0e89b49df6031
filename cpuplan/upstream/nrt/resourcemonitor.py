"""The zones that resource-topology-exporter and nfd-topology-updater publish of a node.

Both ask the kubelet's pod-resources API and sysfs, and each reads the answer in its own way.

Upstream: k8stopologyawareschedwg/resource-topology-exporter pkg/resourcemonitor/resourcemonitor.go
  @ ef567ef3f9fb8059ea474ef91fbff37674c44a68
Upstream: kubernetes-sigs/node-feature-discovery pkg/resourcemonitor/noderesourcesaggregator.go
  pkg/resourcemonitor/podresourcesscanner.go @ 76e6cc8cc0d54b8bce037098b72611ffdf66ef5a
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.kubernetes.errors import NIL_DEREFERENCE, PanicError
from cpuplan.upstream.kubernetes.pod import CPU, is_memory
from cpuplan.upstream.nrt.api import NIL_MAP, NODE, zone_name

Zone = dict[str, Any]


class NumaNode(NamedTuple):
    """A NUMA node of sysfs: its online CPUs, and its distances to all nodes in their order."""

    number: int
    cpus: tuple[int, ...]
    distances: tuple[int, ...]


class Devices(NamedTuple):
    """Devices of one resource; on no NUMA node where the plugin tells of none."""

    resource: str
    ids: tuple[str, ...]
    numa_nodes: tuple[int, ...] = ()


class Memory(NamedTuple):
    """Bytes of `memory` or huge pages, which may be anywhere on several NUMA nodes."""

    resource: str
    size: int
    numa_nodes: tuple[int, ...]


class Resources(NamedTuple):
    """What can be allocated, or is allocated to a container."""

    cpus: tuple[int, ...] = ()
    devices: tuple[Devices, ...] = ()
    memory: tuple[Memory, ...] = ()


class Pod(NamedTuple):
    """A pod: whether it is Guaranteed, and has a container of a whole number of CPUs."""

    namespace: str
    name: str
    is_guaranteed: bool
    has_whole_cpus: bool
    containers: tuple[Resources, ...] = ()


class Machine(NamedTuple):
    """NUMA nodes, and the bytes of memory and huge pages that each has."""

    nodes: tuple[NumaNode, ...]
    memory: Mapping[int, Mapping[str, int]]


class Amounts(NamedTuple):
    """A resource of a zone."""

    capacity: int
    allocatable: int
    available: int

    def fields(self) -> dict[str, str]:
        """As the API has them: whole numbers as text."""
        return {name: str(value) for name, value in self._asdict().items()}


def place_of(machine: Machine) -> dict[int, int]:
    """The NUMA node of each CPU."""
    return {cpu: node.number for node in machine.nodes for cpu in node.cpus}


def find_node(machine: Machine, number: int) -> NumaNode | None:
    """The NUMA node of a number. Exporters take the place in their list for it."""
    return next((node for node in machine.nodes if node.number == number), None)


def zone(machine: Machine, number: int, resources: Mapping[str, Amounts]) -> Zone:
    """A zone as the API has it, its resources by name."""
    node = find_node(machine, number)
    costs = [
        {"name": zone_name(other), "value": distance}
        for other, distance in enumerate(node.distances if node else ())
    ]
    amounts = [{"name": name, **resources[name].fields()} for name in sorted(resources)]
    return {"name": zone_name(number), "type": NODE, "costs": costs, "resources": amounts}


Known = dict[int, dict[str, Amounts]]


def nfd_zones(
    machine: Machine, allocatable: Resources, pods: Iterable[Pod], excluded: Collection[str] = ()
) -> list[Zone]:
    """The zones of a node, without excluded resources.

    CPUs count as taken by Guaranteed pods with a container of whole CPUs; memory on several NUMA
    nodes is taken from one after the other. PanicError for a taken resource that is excluded.
    """
    free = _nfd_allocatable(machine, allocatable)
    known: Known = {}
    for number in range(len(machine.nodes)):
        reserved = _nfd_reserved(machine, number, allocatable)
        known[number] = {
            name: Amounts(_nfd_capacity(machine, number, name, amount, reserved), amount, amount)
            for name, amount in free.get(number, {}).items()
            if name not in excluded
        }
        if number not in free:  # nothing can be allocated: all CPUs are reserved
            known[number] = {CPU: Amounts(reserved, 0, 0)}
    places = _nfd_places(machine, allocatable)
    for container, has_cpus in _watched(pods):
        _nfd_take(known, places, container if has_cpus else container._replace(cpus=()))
    return [zone(machine, number, resources) for number, resources in known.items()]


def _nfd_allocatable(machine: Machine, allocatable: Resources) -> dict[int, dict[str, int]]:
    """How much of each resource can be allocated on each NUMA node, reserved CPUs left out."""
    counts: dict[int, dict[str, int]] = {}
    places = place_of(machine)
    items = [(places[cpu], CPU, 1) for cpu in allocatable.cpus if cpu in places]
    for device in allocatable.devices:
        items += [(number, device.resource, len(device.ids)) for number in device.numa_nodes]
    for block in allocatable.memory:
        items += [(number, block.resource, block.size) for number in block.numa_nodes]
    for number, name, amount in items:
        node = counts.setdefault(number, {})
        node[name] = node.get(name, 0) + amount
    return counts


def _nfd_reserved(machine: Machine, number: int, allocatable: Resources) -> int:
    """How many CPUs of a NUMA node cannot be allocated."""
    return sum(
        cpu not in allocatable.cpus
        for node in machine.nodes
        if node.number == number
        for cpu in node.cpus
    )


def _nfd_capacity(machine: Machine, number: int, name: str, amount: int, reserved: int) -> int:
    if name == CPU:
        return amount + reserved
    return machine.memory.get(number, {}).get(name, amount) if is_memory(name) else amount


def _nfd_places(machine: Machine, allocatable: Resources) -> dict[tuple[str, str], int]:
    """The NUMA node of each CPU and device; the last one of a device with several."""
    nodes = place_of(machine)
    places = {(CPU, str(cpu)): nodes[cpu] for cpu in allocatable.cpus if cpu in nodes}
    for device in allocatable.devices:
        for number in device.numa_nodes:
            places |= {(device.resource, device_id): number for device_id in device.ids}
    return places


def _watched(pods: Iterable[Pod]) -> Iterator[tuple[Resources, bool]]:
    """Containers of Guaranteed pods and of pods with devices, and whether their CPUs count."""
    for pod in pods:
        if pod.is_guaranteed or any(container.devices for container in pod.containers):
            for container in pod.containers:
                yield container, pod.is_guaranteed and pod.has_whole_cpus


def _nfd_take(known: Known, places: dict[tuple[str, str], int], container: Resources) -> None:
    ids = [(CPU, str(cpu)) for cpu in container.cpus]
    for device in container.devices:
        ids += [(device.resource, device_id) for device_id in device.ids]
    for key in ids:
        number = places.get(key)
        if number is None or number not in known:
            continue
        if key[0] not in known[number]:
            raise PanicError(NIL_DEREFERENCE)
        _leave(known, number, key[0], 1)
    for block in container.memory:
        _take_memory(known, block)


def _take_memory(known: Known, block: Memory) -> None:
    """As the memory manager fills NUMA nodes: in their order, each to its end."""
    wanted = block.size
    for number in block.numa_nodes:
        if number not in known:
            continue
        if block.resource not in known[number]:
            return
        taken = min(wanted, known[number][block.resource].available)
        _leave(known, number, block.resource, taken)
        wanted -= taken


def _leave(known: Known, number: int, name: str, taken: int) -> None:
    amounts = known[number][name]
    known[number][name] = amounts._replace(available=amounts.available - taken)


Counts = dict[int, dict[str, int]]


def rte_zones(
    machine: Machine, allocatable: Resources, pods: Iterable[Pod], excluded: Collection[str] = ()
) -> list[Zone]:
    """The zones of a node, without excluded resources.

    Every CPU of any container is taken, and memory on several NUMA nodes is taken from each of them
    whole. PanicError for numbers of NUMA nodes with gaps.
    """
    free = _rte_counts(machine, [allocatable])
    capacity = _rte_capacity(machine, free)
    used = _rte_counts(machine, [container for pod in pods for container in pod.containers])
    made = []
    for number in range(len(machine.nodes)):
        # without anything that could be allocated, all CPUs are reserved
        resources = {
            name: _rte_amounts(
                capacity[number].get(name, 0), amount, used.get(number, {}).get(name, 0)
            )
            for name, amount in free.get(number, {CPU: 0}).items()
            if name not in excluded
        }
        made.append(zone(machine, number, resources))
    return made


def _rte_amounts(capacity: int, allocatable: int, used: int) -> Amounts:
    return Amounts(max(capacity, allocatable), allocatable, max(allocatable - used, 0))


def _rte_capacity(machine: Machine, free: Counts) -> Counts:
    """CPUs and memory as sysfs has them, devices as they can be allocated."""
    counts: Counts = {}
    for number in range(len(machine.nodes)):
        node = find_node(machine, number)
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


def _rte_counts(machine: Machine, parts: Iterable[Resources]) -> Counts:
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
