"""nfd-topology-updater of node-feature-discovery (pkg/resourcemonitor)."""

from collections.abc import Collection, Iterable, Iterator

from cpuplan.upstream.kubelet.errors import NIL_DEREFERENCE, PanicError
from cpuplan.upstream.kubelet.pods.pod import CPU, is_memory
from cpuplan.upstream.nrt.exporters.podresources import (
    Amounts,
    Machine,
    Memory,
    Pod,
    Resources,
    Zone,
    place_of,
    zone,
)

Known = dict[int, dict[str, Amounts]]


def zones(
    machine: Machine, allocatable: Resources, pods: Iterable[Pod], excluded: Collection[str] = ()
) -> list[Zone]:
    """The zones of a node, without excluded resources.

    CPUs count as taken by Guaranteed pods with a container of whole CPUs; memory on several NUMA
    nodes is taken from one after the other. PanicError for a taken resource that is excluded.
    """
    free = _free(machine, allocatable)
    known: Known = {}
    for number in range(len(machine.nodes)):
        reserved = _reserved(machine, number, allocatable)
        known[number] = {
            name: Amounts(_capacity(machine, number, name, amount, reserved), amount, amount)
            for name, amount in free.get(number, {}).items()
            if name not in excluded
        }
        if number not in free:  # nothing can be allocated: all CPUs are reserved
            known[number] = {CPU: Amounts(reserved, 0, 0)}
    places = _places(machine, allocatable)
    for container, has_cpus in _watched(pods):
        _take(known, places, container if has_cpus else container._replace(cpus=()))
    return [zone(machine, number, resources) for number, resources in known.items()]


def _free(machine: Machine, allocatable: Resources) -> dict[int, dict[str, int]]:
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


def _reserved(machine: Machine, number: int, allocatable: Resources) -> int:
    """How many CPUs of a NUMA node cannot be allocated."""
    return sum(
        cpu not in allocatable.cpus
        for node in machine.nodes
        if node.number == number
        for cpu in node.cpus
    )


def _capacity(machine: Machine, number: int, name: str, amount: int, reserved: int) -> int:
    if name == CPU:
        return amount + reserved
    return machine.memory.get(number, {}).get(name, amount) if is_memory(name) else amount


def _places(machine: Machine, allocatable: Resources) -> dict[tuple[str, str], int]:
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


def _take(known: Known, places: dict[tuple[str, str], int], container: Resources) -> None:
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
