"""Zones: sets of nodes with the requests in them, and what to do when one has too many."""

from collections.abc import Iterable
from functools import cmp_to_key

from cpuplan.upstream.kubelet.bits import to_text
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.libmem.nodes import Mask, Nodes, type_mask
from cpuplan.upstream.nri.libmem.requests import BURSTABLE, GUARANTEED, PRESERVED, Request, movable

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
