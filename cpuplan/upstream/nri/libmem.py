"""Memory nodes of containers: offers, overcommitment, and zones that grow.

The balloons policy asks for nodes only (`assign`), the topology-aware one for amounts too.

Upstream: containers/nri-plugins pkg/resmgr/lib/memory/allocator.go pkg/resmgr/lib/memory/nodes.go
  pkg/resmgr/lib/memory/request.go pkg/resmgr/lib/memory/types.go pkg/resmgr/lib/memory/zones.go
  @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cmp_to_key
from typing import NamedTuple

from cpuplan.upstream.kubernetes.bits import bits_of, members, to_text
from cpuplan.upstream.kubernetes.strconv import quote
from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.system import DRAM, HBM, PMEM, Node, System

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

    def zone(self, nodes: Mask, types: Mask) -> Mask:
        """The wished nodes and the closest of missing types; of them those of the types.

        Nodes without memory get the closest with some: all memory counts as normal memory. 0 where
        there is none.
        """
        zone = nodes
        if missing := types & ~self.types_of(zone):
            zone |= self.closest(zone, missing)
        zone = zone & self.of_types(types) or zone
        normal = types & self.types or self.types & -self.types
        while not zone & self.with_memory:
            nearest = self.closest(zone, normal)
            if not nearest:
                return 0
            zone |= nearest
        return zone

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


BEST_EFFORT, BURSTABLE, GUARANTEED, PRESERVED = 0, 1 << 10, 1 << 14, (1 << 15) - 2
PRIORITIES = {"BestEffort": BEST_EFFORT, "Burstable": BURSTABLE, "Guaranteed": GUARANTEED}


@dataclass(slots=True)
class Request:
    """`amount` bytes for `owner` near the nodes of `affinity`; `zone` is what it has now.

    `born` counts requests: of equal ones the younger moves first.
    """

    owner: str
    amount: int
    affinity: Mask
    types: Mask
    priority: int
    born: int = 0
    zone: Mask = 0


def movable(requests: Iterable[Request], limit: int) -> list[Request]:
    """Those up to a priority, in the order in which they move: small and young ones first."""
    moving = (request for request in requests if request.priority <= limit)
    return sorted(moving, key=lambda request: (request.priority, request.amount, -request.born))


_UNITS = ((1 << 10, "k"), (1 << 20, "M"), (1 << 30, "G"), (1 << 40, "T"))
_EXTRA_TYPES = (0, type_mask(["DRAM"]), type_mask(["PMEM"]), type_mask(["HBM"]))


class Zones:
    """The zones in use. One that has lost its requests stays until the next `clean`."""

    def __init__(
        self, nodes: Nodes, known: Iterable[Mask] = (), requests: Iterable[Request] = ()
    ) -> None:
        self._nodes = nodes
        self._zones: dict[Mask, dict[str, Request]] = {zone: {} for zone in known}
        for request in requests:
            self._zones[request.zone][request.owner] = request
        #: Requests that were moved or added since `watch`: (zone before, zone now), 0 for none.
        self._moves: dict[str, tuple[Mask, Mask]] | None = None

    def known(self) -> tuple[Mask, ...]:
        """All zones, in the order in which they came."""
        return tuple(self._zones)

    def watch(self) -> None:
        self._moves = {}

    def moves(self) -> dict[str, tuple[Mask, Mask]]:
        """What has moved; ends the watch."""
        moves, self._moves = self._moves or {}, None
        return moves

    def assign(self, zone: Mask, request: Request) -> None:
        """Move a request to a zone; it may have none before."""
        before = request.zone
        if before:
            self._zones[before].pop(request.owner, None)
        self._zones.setdefault(zone, {})[request.owner] = request
        request.zone = zone
        if self._moves is not None:
            first, _ = self._moves.get(request.owner, (before, zone))
            self._moves[request.owner] = (first, zone)

    def remove(self, request: Request) -> None:
        self._zones.get(request.zone, {}).pop(request.owner, None)
        request.zone = 0

    def clean(self) -> None:
        self._zones = {zone: users for zone, users in self._zones.items() if users}

    def free(self, zone: Mask) -> int:
        """A request counts in every zone that has all its nodes."""
        used = 0
        for nodes, users in self._zones.items():
            if zone & nodes == nodes:
                used += sum(request.amount for request in users.values())
        return self._nodes.capacity(zone) - used

    def settle(self, nodes: Mask) -> None:
        """Move requests of overcommitted zones to larger ones; NriError if that does not help."""
        spill = self._overcommitted(nodes)
        while spill:
            moved = 0
            for limit in (BURSTABLE, GUARANTEED, PRESERVED):
                types = 0
                for extra in _EXTRA_TYPES:
                    if extra and not extra & self._nodes.types:
                        continue
                    types |= extra
                    for zone, amount in spill.items():
                        moved += self._shrink(zone, amount, limit, types)
                    spill = self._overcommitted(nodes)
                    if not spill:
                        return
            if not moved:
                raise _unresolved(spill)

    def _overcommitted(self, nodes: Mask) -> dict[Mask, int]:
        """How much is missing where, zones with many requests first."""
        spill = {}
        for zone in self._zones:
            if zone & nodes and (free := self.free(zone)) < 0:
                spill[zone] = -free
        return {zone: spill[zone] for zone in sorted(spill, key=cmp_to_key(self._compare))}

    def _compare(self, zone: Mask, rival: Mask) -> int:
        if difference := len(self._zones[rival]) - len(self._zones[zone]):
            return difference
        if zone & rival == zone:
            return -1
        if zone & rival == rival:
            return 1
        return rival.bit_count() - zone.bit_count() or rival - zone

    def _shrink(self, zone: Mask, amount: int, limit: int, extra: Mask) -> int:
        users = self._zones.get(zone)
        if not users:
            return 0
        more = self._nodes.closest(zone, self._nodes.types_of(zone) | extra)
        moved = 0
        for request in movable(users.values(), limit) if more else ():
            self.assign(zone | more, request)
            moved += request.amount
            if moved >= amount:
                break
        return moved


def _unresolved(spill: dict[Mask, int]) -> NriError:
    """The program names the zones in an order that is chance."""
    zones = ",".join(f"nodes{{{to_text(zone)}}}" for zone in spill)
    return NriError(
        "libmem: insufficient available memory: failed to resolve overcommit, "
        f"zones {zones} overcommit by {_size_text(sum(spill.values()))}"
    )


def _size_text(size: int) -> str:
    """Up to three digits after the point; of a fraction that rounds to none the point stays."""
    for unit, name in _UNITS:
        if unit <= size < unit << 10:
            whole, rest = divmod(size, unit)
            return f"{size / unit:.3f}".rstrip("0") + name if rest else f"{whole}{name}"
    return f"{size}"


class Moment(NamedTuple):
    """The requests with the zones that they have, and all zones, unused ones too."""

    requests: dict[str, Request]
    zones: tuple[Mask, ...]
    born: int


class Offer(NamedTuple):
    """The nodes that a request would get, and those of others that would change."""

    request: Request
    zone: Mask
    others: dict[str, Mask]


class Allocator:
    """Which nodes containers have; a request that was not refused counts until its release."""

    def __init__(self, system: System) -> None:
        self.nodes = Nodes(system)
        self._zones = Zones(self.nodes)
        self._requests: dict[str, Request] = {}
        self._born = 0

    def free(self, nodes: Mask) -> int:
        """The memory that nothing has asked for."""
        return self._zones.free(nodes & self.nodes.with_memory)

    def offer(self, owner: str, amount: int, affinity: Mask, types: Mask, priority: int) -> Offer:
        """What a request would get; NriError if nothing. Nothing has changed afterwards."""
        self._born += 1
        request = Request(owner, amount, affinity, types, priority, self._born)
        self._find_zone(request)
        zone, request.zone = request.zone, 0
        self._zones.watch()
        self._requests[owner] = request
        try:
            self._zones.assign(zone, request)
            self._zones.settle(zone)
        finally:
            moves = self._zones.moves()
            self._undo(moves)
            del self._requests[owner]
        now = {other: after for other, (_, after) in moves.items()}
        return Offer(request, now.pop(owner), now)

    def assign(self, owner: str, nodes: Mask, types: Mask) -> Mask:
        """The nodes for a wish without an amount; what an owner has already only widens."""
        request = self._requests.get(owner)
        if request is not None:
            return self._widen(request, nodes, types)
        request = Request(owner, 0, nodes, types, PRESERVED)
        try:
            self._find_zone(request)
        except NriError:
            return nodes
        zone, request.zone = request.zone, 0
        self._requests[owner] = request
        self._zones.assign(zone, request)
        return zone

    def _widen(self, request: Request, nodes: Mask, types: Mask) -> Mask:
        """A new node brings its closest neighbours with it."""
        known = self.nodes
        if (not nodes and not types) or (request.affinity, request.types) == (nodes, types):
            return request.zone
        if not nodes & ~request.zone and not types & ~known.types_of(request.zone):
            return request.zone
        wish = nodes
        if types:
            nodes &= known.of_types(types)
        else:
            types = known.types_of(nodes)
        nearest = known.closest(request.zone | nodes, types)
        if not nearest:
            return wish
        request.types |= known.types_of(nearest)
        self._zones.assign(request.zone | nodes | nearest, request)
        return request.zone

    def _undo(self, moves: dict[str, tuple[Mask, Mask]]) -> None:
        for owner, (before, _) in moves.items():
            request = self._requests[owner]
            self._zones.remove(request)
            if before:
                self._zones.assign(before, request)

    def commit(self, offer: Offer) -> None:
        """Take the last offers' nodes, and move others."""
        self._requests[offer.request.owner] = offer.request
        self._zones.assign(offer.zone, offer.request)
        for owner, zone in offer.others.items():
            self._zones.assign(zone, self._requests[owner])
        self._zones.clean()

    def release(self, owner: str) -> None:
        """Forget a request; nothing happens for an owner without one."""
        request = self._requests.pop(owner, None)
        if request is not None:
            self._zones.remove(request)
            self._zones.clean()

    def take(self) -> Moment:
        """This moment, for `restore`."""
        requests = {owner: replace(request) for owner, request in self._requests.items()}
        return Moment(requests, self._zones.known(), self._born)

    def restore(self, moment: Moment) -> None:
        """Go back to a moment; it can be restored again."""
        self._requests = {owner: replace(request) for owner, request in moment.requests.items()}
        self._zones = Zones(self.nodes, moment.zones, self._requests.values())
        self._born = moment.born

    def key(self) -> Hashable:
        """What further offers depend on: zones, amounts and priorities, whoever the owners are."""
        wishes = (
            (request.zone, request.amount, request.priority) for request in self._requests.values()
        )
        return tuple(sorted(wishes))

    def _find_zone(self, request: Request) -> None:
        if request.owner in self._requests:
            raise NriError("libmem: allocation already exists")
        if not request.affinity:
            raise NriError("libmem: invalid NodeMask: request without affinity")
        nodes = self.nodes
        request.types = request.types & nodes.types or nodes.types_of(request.affinity)
        request.zone = nodes.zone(request.affinity, request.types)
        if not request.zone:
            raise NriError("libmem: no normal memory")
