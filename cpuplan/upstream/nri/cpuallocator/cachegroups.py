"""Taking CPUs by the caches that they share (takeCacheGroups)."""

from collections import Counter
from functools import cmp_to_key
from typing import NamedTuple

from cpuplan.upstream.nri.cpuallocator.cores import split
from cpuplan.upstream.nri.cpuallocator.groups import CacheGroup
from cpuplan.upstream.nri.cpuallocator.request import Request

#: A group with its free CPUs.
Offer = tuple[CacheGroup, int]


class _Room(NamedTuple):
    """How many free CPUs packages and dies have in a kind of groups."""

    packages: Counter[int]
    dies: Counter[tuple[int, int]]

    def on_die(self, group: CacheGroup) -> int:
        return self.dies[group.package, group.die]

    def on_package(self, group: CacheGroup) -> int:
        return self.packages[group.package]


def take_cache_groups(request: Request) -> None:
    """Idle groups whole, the last one split; then used groups of the same package.

    All or nothing: a request that this step does not meet is left as it was.
    """
    groups = request.topology.cache_groups
    if len(groups) <= 1 or request.count < 2:
        return
    part = request.count % groups[0].cpus.bit_count()
    idle, used = _offers(request)
    room, used_room = _room(idle), _room(used)
    idle = _sort_idle(idle, room, used_room, request.count - part, part)
    used = _sort_used(used, room, used_room, idle, request.count, part)
    if not idle and not used:
        return
    package = (idle or used)[0][0].package
    if room.packages[package] + used_room.packages[package] < request.count:
        return
    trial = Request(request.topology, request.wish, request.free, request.count)
    _take_idle(trial, idle)
    if trial.count > 0:
        _take_used(trial, used, package)
    if not trial.count:
        request.take(trial.taken)


def _offers(request: Request) -> tuple[list[Offer], list[Offer]]:
    """(idle groups, used groups with a free CPU) of the kinds that the request accepts."""
    offline = request.topology.system.offline
    idle: list[Offer] = []
    used: list[Offer] = []
    for group in request.topology.cache_groups:
        cpus = group.cpus & ~offline
        free = cpus & request.free
        if request.accepts(group.kind) and free:
            (idle if free == cpus else used).append((group, free))
    return idle, used


def _room(offers: list[Offer]) -> _Room:
    room = _Room(Counter(), Counter())
    for group, free in offers:
        room.packages[group.package] += free.bit_count()
        room.dies[group.package, group.die] += free.bit_count()
    return room


def _sort_idle(offers: list[Offer], idle: _Room, used: _Room, full: int, part: int) -> list[Offer]:
    """Tighter dies and packages first that hold `full` in idle and `part` in used groups."""

    def compare(left: Offer, right: Offer) -> int:
        group, rival = left[0], right[0]
        for on_place in (_Room.on_die, _Room.on_package):
            mine = on_place(idle, group), on_place(used, group)
            theirs = on_place(idle, rival), on_place(used, rival)
            verdict = _fit(mine, theirs, full, part)
            if verdict is not None:
                return verdict or _order(group, rival)
        return group.id - rival.id

    return sorted(offers, key=cmp_to_key(compare))


def _fit(mine: tuple[int, int], theirs: tuple[int, int], full: int, part: int) -> int | None:
    """Which place is better; 0 if both hold the request in the same way, None if it is open."""
    if mine[0] >= full and theirs[0] >= full:
        if mine[1] >= part and theirs[1] >= part:
            return mine[0] - theirs[0] or mine[1] - theirs[1]
        if mine[1] >= part or theirs[1] >= part:
            return -1 if mine[1] >= part else 1
        return None
    if mine[0] >= full and mine[1] >= part:
        return -1
    if theirs[0] >= full and theirs[1] >= part:
        return 1
    return None


def _sort_used(
    offers: list[Offer], idle: _Room, used: _Room, chosen: list[Offer], count: int, part: int
) -> list[Offer]:
    """Beside idle groups the plugin compares package ids with counts of CPUs."""
    beside = chosen[0][0] if chosen and count > part else None
    package = idle.on_package(beside) if beside else 0
    die = idle.on_die(beside) if beside else 0

    def beside_idle(left: Offer, right: Offer) -> int:
        group, rival = left[0], right[0]
        for mine, theirs in (
            (group.package == package, rival.package == package),
            (group.die == die, rival.die == die),
        ):
            if mine != theirs:
                return -1 if mine else 1
            if not mine:
                return 0
        return right[1].bit_count() - left[1].bit_count() or group.id - rival.id

    def alone(left: Offer, right: Offer) -> int:
        mine, theirs = used.on_die(left[0]), used.on_die(right[0])
        if mine >= count and theirs >= count:
            more = right[1].bit_count() - left[1].bit_count()
            return mine - theirs or more or _order(left[0], right[0])
        return (theirs >= count) - (mine >= count)

    return sorted(offers, key=cmp_to_key(beside_idle if beside else alone))


def _order(group: CacheGroup, rival: CacheGroup) -> int:
    mine, theirs = (group.package, group.die, group.id), (rival.package, rival.die, rival.id)
    return (mine > theirs) - (mine < theirs)


def _take_idle(request: Request, offers: list[Offer]) -> None:
    for _, free in offers:
        if request.count <= 0:
            return
        whole = request.count >= free.bit_count()
        request.take(free if whole else _part(request, free))


def _take_used(request: Request, offers: list[Offer], package: int) -> None:
    """A group of exactly the rest, else groups in order with the last one split.

    Groups behind the first one of another package are ignored.
    """
    inside: list[int] = []
    for group, free in offers:
        if group.package != package:
            break
        inside.append(free)
    exact = [free for free in inside if free.bit_count() == request.count]
    if exact:
        request.take(exact[0])
        return
    if sum(free.bit_count() for free in inside) < request.count:
        return
    for free in inside:
        whole = request.count >= free.bit_count()
        request.take(free if whole else _part(request, free))
        if not request.count:
            return


def _part(request: Request, free: int) -> int:
    return split(request.topology, request.wish, free, request.count)
