"""The devices that the driver publishes.

Attributes of PCIe roots are left out: no inventory tells which root a CPU is near to.

Upstream: kubernetes-sigs/dra-driver-cpu pkg/device/builder.go
  @ de98098690f25e59d781c1659b5c3e0b0a210c2a
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from cpuplan.upstream.dra import api
from cpuplan.upstream.dra.cpuinfo import NONE, CpuInfo, Topology
from cpuplan.upstream.dra.driverconfig import Config
from cpuplan.upstream.kubernetes.bits import bits_of, members

#: An attribute: a number, a text or a truth value. None is one of several numbers, by chance.
Attribute = int | str | bool | None


class Device(NamedTuple):
    """A device and the CPUs behind it. `capacity` is that of grouped devices."""

    name: str
    attributes: dict[str, Attribute]
    cpus: int
    capacity: int | None = None
    #: Of nodeAllocatableResources, where the configuration asks for it.
    is_mapped: bool = False

    def fields(self) -> dict[str, Any]:
        """As a ResourceSlice has it."""
        attributes = {name: _typed(value) for name, value in sorted(self.attributes.items())}
        slice_entry: dict[str, Any] = {"name": self.name, "attributes": attributes}
        if self.capacity is not None:
            slice_entry["capacity"] = {api.CAPACITY: {"value": str(self.capacity)}}
            slice_entry["allowMultipleAllocations"] = True
        if self.is_mapped:
            slice_entry["nodeAllocatableResources"] = {"cpu": {"mapping": self._mapping()}}
        return slice_entry

    def _mapping(self) -> dict[str, str]:
        if self.capacity is None:
            return {"deviceMultiplier": "1"}
        return {"capacityKey": api.CAPACITY, "capacityMultiplier": "1"}


def _typed(value: Attribute) -> dict[str, Attribute]:
    if isinstance(value, bool):
        return {"bool": value}
    return {"string" if isinstance(value, str) else "int": value}


def build(topology: Topology, config: Config) -> list[Device]:
    """All devices, in the order in which schedulers look at them."""
    mapped = config.publish_node_allocatable_resource_mapping
    find = _individual if config.cpu_device_mode == api.INDIVIDUAL else _grouped
    return [device._replace(is_mapped=mapped) for device in find(topology, config)]


def slices(devices: list[Device], config: Config) -> list[list[Device]]:
    """The devices of each ResourceSlice."""
    size = api.WITH_LISTS if config.expose_pcie_roots else api.DEVICES_PER_SLICE
    return [devices[start : start + size] for start in range(0, len(devices), size)]


def shared_pool(topology: Topology, config: Config) -> int:
    """The CPUs that can be claimed, and those of all others until then."""
    return topology.all & ~config.reserved


def _grouped(topology: Topology, config: Config) -> Iterator[Device]:
    """A device for each group that has CPUs; that of the machine is there without any.

    The machine's device has all online CPUs, also those that no claim can get.
    """
    smt = topology.smt_enabled
    match config.group_by:
        case api.SOCKET:
            for socket, cpus in topology.packed.sockets.items():
                if free := cpus & ~config.reserved:
                    name = f"{api.SOCKET_DEVICE}{socket:03d}"
                    yield _group(name, free, {api.SOCKET_ID: socket}, smt)
        case api.NUMA_NODE:
            for node, cpus in topology.packed.numa_nodes.items():
                if free := cpus & ~config.reserved:
                    name = f"{api.NUMA_DEVICE}{node:03d}"
                    socket_id = {api.SOCKET_ID: _socket(topology, free)}
                    yield _group(name, free, {**_node(node), **socket_id}, smt)
        case api.MACHINE:
            yield _group(api.MACHINE_DEVICE, topology.online & ~config.reserved, {}, smt)


def _group(name: str, cpus: int, attributes: dict[str, Attribute], smt: bool) -> Device:
    size = cpus.bit_count()
    attributes |= {api.NUM_CPUS: size, api.SMT_ENABLED: smt}
    return Device(name, attributes, cpus, size)


def _socket(topology: Topology, cpus: int) -> int | None:
    """The socket of a node; of one that spans sockets it is that of any CPU."""
    sockets = {topology.cpus[cpu].socket for cpu in members(cpus)}
    return sockets.pop() if len(sockets) == 1 else None


def _node(node: int) -> dict[str, Attribute]:
    keys = (api.STANDARD_NUMA_NODE, api.NET_NUMA_NODE, api.NUMA_NODE_ID)
    return dict.fromkeys(keys, node)


def _individual(topology: Topology, config: Config) -> Iterator[Device]:
    """Siblings stand beside each other; names are numbers in this order, not those of CPUs."""
    for index, cpu in enumerate(_in_order(topology, config.reserved)):
        attributes: dict[str, Attribute] = {
            **_node(cpu.numa_node),
            api.SOCKET_ID: cpu.socket,
            api.SMT_ENABLED: topology.smt_enabled,
            api.CACHE_L3_ID: cpu.cache_l3,
            api.CORE_TYPE: cpu.core_type,
            api.CORE_ID: cpu.core,
            api.CPU_ID: cpu.cpu,
        }
        yield Device(f"{api.CPU_DEVICE}{index:03d}", attributes, bits_of([cpu.cpu]))


def _in_order(topology: Topology, reserved: int) -> Iterator[CpuInfo]:
    done = reserved
    for cpu in members(topology.all & ~reserved):
        for thread in (cpu, topology.cpus[cpu].sibling):
            if thread != NONE and not done >> thread & 1:
                done |= 1 << thread
                yield topology.cpus[thread]
