"""What the kubelet's pod-resources API and sysfs tell exporters of a node and its pods."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.nrt.names import NODE, zone_name

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


def find(machine: Machine, number: int) -> NumaNode | None:
    """The NUMA node of a number. Exporters take the place in their list for it."""
    return next((node for node in machine.nodes if node.number == number), None)


def zone(machine: Machine, number: int, resources: Mapping[str, Amounts]) -> Zone:
    """A zone as the API has it, its resources by name."""
    node = find(machine, number)
    costs = [
        {"name": zone_name(other), "value": distance}
        for other, distance in enumerate(node.distances if node else ())
    ]
    amounts = [{"name": name, **resources[name].fields()} for name in sorted(resources)]
    return {"name": zone_name(number), "type": NODE, "costs": costs, "resources": amounts}
