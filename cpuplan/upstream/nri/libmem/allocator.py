"""Offers of memory, and taking one."""

from collections.abc import Hashable
from dataclasses import replace
from typing import NamedTuple

from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.libmem.nodes import Mask, Nodes
from cpuplan.upstream.nri.libmem.requests import Request
from cpuplan.upstream.nri.libmem.zones import Zones
from cpuplan.upstream.nri.sysfs.system import System


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

    def capacity(self, nodes: Mask) -> int:
        return self.nodes.capacity(nodes)

    def types_of(self, nodes: Mask) -> Mask:
        return self.nodes.types_of(nodes)

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
        """The wished nodes and the closest of missing types; of them those of the types."""
        if request.owner in self._requests:
            raise NriError("libmem: allocation already exists")
        if not request.affinity:
            raise NriError("libmem: invalid NodeMask: request without affinity")
        nodes = self.nodes
        request.types = request.types & nodes.types or nodes.types_of(request.affinity)
        zone = request.affinity
        if missing := request.types & ~nodes.types_of(zone):
            zone |= nodes.closest(zone, missing)
        request.zone = zone & nodes.of_types(request.types) or zone
        self._ensure_normal(request)

    def _ensure_normal(self, request: Request) -> None:
        """Nodes without memory get the closest with some: all memory counts as normal memory."""
        there = self.nodes.types
        types = request.types & there or there & -there
        while not request.zone & self.nodes.with_memory:
            nearest = self.nodes.closest(request.zone, types)
            if not nearest:
                raise NriError("libmem: no normal memory")
            request.zone |= nearest
            request.types |= types
