"""Memory nodes of containers (pkg/resmgr/lib/memory), for containers without memory limits."""

from dataclasses import dataclass

from cpuplan.upstream.nri.libmem.nodes import Mask, Nodes
from cpuplan.upstream.nri.sysfs.system import System


@dataclass(slots=True)
class _Request:
    affinity: Mask
    types: Mask
    zone: Mask


class Memory:
    """The nodes of a machine, and which of them containers have."""

    def __init__(self, system: System) -> None:
        self._nodes = Nodes(system)
        self._requests: dict[str, _Request] = {}

    def near(self, cpus: int) -> Mask:
        """The nodes that have some of these CPUs."""
        return self._nodes.near(cpus)

    def requests(self) -> dict[str, tuple[int, int, int]]:
        """What containers have now, for `restore`."""
        requests = self._requests.items()
        return {
            owner: (request.affinity, request.types, request.zone) for owner, request in requests
        }

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
        types = types & self._nodes.types or self._nodes.types_of(nodes)
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
        if missing := types & ~self._nodes.types_of(zone):
            zone |= self._nodes.closest(zone, missing)
        zone = zone & self._nodes.of_types(types) or zone
        there = self._nodes.types
        while not zone & self._nodes.with_memory:
            nearest = self._nodes.closest(zone, types & there or there & -there)
            if not nearest:
                return 0
            zone |= nearest
        return zone

    def _widened(self, request: _Request, nodes: Mask, types: Mask) -> Mask:
        """A new node brings its closest neighbours with it."""
        if (not nodes and not types) or (request.affinity, request.types) == (nodes, types):
            return request.zone
        if not nodes & ~request.zone and not types & ~self._nodes.types_of(request.zone):
            return request.zone
        wish = nodes
        if types:
            nodes &= self._nodes.of_types(types)
        else:
            types = self._nodes.types_of(nodes)
        nearest = self._nodes.closest(request.zone | nodes, types)
        if not nearest:
            return wish
        request.zone |= nodes | nearest
        request.types |= self._nodes.types_of(nearest)
        return request.zone
