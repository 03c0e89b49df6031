"""The memory nodes of a machine by type and distance; sets of nodes and of types are bits."""

from cpuplan.upstream.kubelet.bits import bits_of, members
from cpuplan.upstream.kubelet.go.text import quote
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.sysfs.system import DRAM, HBM, PMEM, Node, System

TYPES = (DRAM, PMEM, HBM)
#: Nodes of a type, or the types of nodes, as bits.
Mask = int


def type_mask(names: list[str]) -> Mask:
    """The types of a list; NriError for an unknown one."""
    mask = 0
    for name in names:
        if name.upper() not in TYPES:
            raise NriError(f"libmem: invalid type: {quote(name)}")
        mask |= 1 << TYPES.index(name.upper())
    return mask


def check(system: System) -> None:
    """NriError for a node that is not the nearest to itself alone, as fake NUMA nodes may be."""
    for node in system.nodes.values():
        if _at(node, min(node.distances)) != 1 << node.node:
            raise NriError(
                f"libmem: failed to apply option: failed to create node #{node.node}: "
                f"libmem: invalid node: shortest distance not to self #{node.node}"
            )


class Nodes:
    """What the allocator asks about the machine's nodes."""

    def __init__(self, system: System) -> None:
        self._nodes = system.nodes
        self.all = bits_of(system.nodes)
        self.with_memory = bits_of(node.node for node in system.nodes.values() if node.memory)
        #: The types of which there is memory.
        self.types = self.types_of(self.with_memory)

    def near(self, cpus: int) -> Mask:
        """The nodes that have some of these CPUs."""
        return bits_of(node.node for node in self._nodes.values() if node.cpus & cpus)

    def types_of(self, nodes: Mask) -> Mask:
        known = members(nodes & self.all)
        return bits_of(TYPES.index(self._nodes[node].memory_type) for node in known)

    def of_types(self, types: Mask) -> Mask:
        """The nodes with memory of the types."""
        nodes = (self._nodes[number] for number in members(self.with_memory))
        return bits_of(node.node for node in nodes if types >> TYPES.index(node.memory_type) & 1)

    def capacity(self, nodes: Mask) -> int:
        return sum(self._nodes[node].memory for node in members(nodes & self.with_memory))

    def closest(self, zone: Mask, types: Mask) -> Mask:
        """For each type the nodes at the smallest distance.

        Nodes that were closest before a nearer one turned up are kept.
        """
        closest = 0
        for index in range(len(TYPES)):
            if types >> index & 1:
                closest |= self._closest_of_type(zone, self.of_types(1 << index) & ~zone)
        return closest

    def _closest_of_type(self, zone: Mask, candidates: Mask) -> Mask:
        closest, shortest = 0, None
        for number in members(zone & self.all):
            for distance in sorted(set(self._nodes[number].distances))[1:]:
                there = candidates & _at(self._nodes[number], distance)
                if not there:
                    continue
                if shortest is None or distance <= shortest:
                    shortest = distance
                    closest |= there
                break
        return closest


def _at(node: Node, distance: int) -> Mask:
    return bits_of(other for other, far in enumerate(node.distances) if far == distance)
