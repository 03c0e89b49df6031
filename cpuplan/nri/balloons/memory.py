"""Memory nodes of containers (pkg/resmgr/lib/memory), for containers without memory limits."""

from dataclasses import dataclass

from cpuplan.kubelet.bits import bits_of, members
from cpuplan.kubelet.go.text import quote
from cpuplan.nri.errors import NriError
from cpuplan.nri.sysfs.system import DRAM, HBM, PMEM, Node, System

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


@dataclass(slots=True)
class _Request:
    affinity: Mask
    types: Mask
    zone: Mask


class Memory:
    """The nodes of a machine, and which of them containers have."""

    def __init__(self, system: System) -> None:
        self._nodes = system.nodes
        self._with_memory = bits_of(node.node for node in system.nodes.values() if node.memory)
        self._requests: dict[str, _Request] = {}

    def near(self, cpus: int) -> Mask:
        """The nodes that have some of these CPUs."""
        return bits_of(node.node for node in self._nodes.values() if node.cpus & cpus)

    def requests(self) -> dict[str, tuple[int, int, int]]:
        """What containers have now, for `restore`."""
        requests = self._requests.items()
        return {owner: (one.affinity, one.types, one.zone) for owner, one in requests}

    def restore(self, requests: dict[str, tuple[int, int, int]]) -> None:
        self._requests = {owner: _Request(*given) for owner, given in requests.items()}

    def release(self, owner: str) -> None:
        self._requests.pop(owner, None)

    def assign(self, owner: str, nodes: Mask, types: Mask) -> Mask:
        """The nodes that a container gets for the wish; what it has already only widens."""
        request = self._requests.get(owner)
        if request is not None:
            return self._widened(request, nodes, types)
        if not nodes:
            return 0
        types = types & self._types(self._with_memory) or self._types(nodes)
        zone = self._initial(nodes, types)
        if not zone:
            return nodes
        self._requests[owner] = _Request(nodes, types, zone)
        return zone

    def _initial(self, nodes: Mask, types: Mask) -> Mask:
        """The wished nodes and the closest of missing types; of them those of the types.

        Nodes without memory get the closest with some: all memory counts as normal memory.
        """
        zone = nodes
        if missing := types & ~self._types(zone):
            zone |= self._closest(zone, missing)
        zone = zone & self._of_types(types) or zone
        there = self._types(self._with_memory)
        while not zone & self._with_memory:
            nearest = self._closest(zone, types & there or there & -there)
            if not nearest:
                return 0
            zone |= nearest
        return zone

    def _widened(self, request: _Request, nodes: Mask, types: Mask) -> Mask:
        """A new node brings its closest neighbours with it."""
        if (not nodes and not types) or (request.affinity, request.types) == (nodes, types):
            return request.zone
        if not nodes & ~request.zone and not types & ~self._types(request.zone):
            return request.zone
        wish = nodes
        if types:
            nodes &= self._of_types(types)
        else:
            types = self._types(nodes)
        nearest = self._closest(request.zone | nodes, types)
        if not nearest:
            return wish
        request.zone |= nodes | nearest
        request.types |= self._types(nearest)
        return request.zone

    def _closest(self, zone: Mask, types: Mask) -> Mask:
        """For each type the nodes at the smallest distance.

        Nodes that were closest before a nearer one turned up are kept.
        """
        closest = 0
        for index in range(len(TYPES)):
            if types >> index & 1:
                closest |= self._closest_of_type(zone, self._of_types(1 << index) & ~zone)
        return closest

    def _closest_of_type(self, zone: Mask, candidates: Mask) -> Mask:
        closest, shortest = 0, None
        for number in members(zone):
            for distance in sorted(set(self._nodes[number].distances))[1:]:
                there = candidates & _at(self._nodes[number], distance)
                if not there:
                    continue
                if shortest is None or distance <= shortest:
                    shortest = distance
                    closest |= there
                break
        return closest

    def _types(self, nodes: Mask) -> Mask:
        return bits_of(TYPES.index(self._nodes[node].memory_type) for node in members(nodes))

    def _of_types(self, types: Mask) -> Mask:
        nodes = (self._nodes[number] for number in members(self._with_memory))
        return bits_of(node.node for node in nodes if types >> TYPES.index(node.memory_type) & 1)


def _at(node: Node, distance: int) -> Mask:
    return bits_of(other for other, far in enumerate(node.distances) if far == distance)
