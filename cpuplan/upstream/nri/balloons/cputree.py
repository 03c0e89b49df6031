"""The tree in which balloons look for CPUs, and from which of them a balloon grows or shrinks.

Packages, dies, NUMA nodes, L2 caches, cores, threads: CPUs without an L2 cache are missing, and
there is no level for the L3 cache.

Upstream: containers/nri-plugins cmd/plugins/balloons/policy/cputree.go
  @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cpuplan.upstream.kubernetes.bits import members
from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.system import Cache, System

_L2 = 2


class TreeNode(NamedTuple):
    """A place with the CPUs of its children."""

    level: str
    name: str
    cpus: int
    children: tuple["TreeNode", ...]

    def walk(self) -> Iterator["TreeNode"]:
        """This node and everything below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def build(system: System) -> TreeNode:
    """The tree of a machine."""
    packages = []
    for package in system.packages.values():
        name = f"p{package.package}"
        dies = [_die(system, f"{name}d{die}", nodes) for die, nodes in package.die_nodes.items()]
        packages.append(_parent("package", name, dies))
    return _parent("system", "system", packages)


def _parent(level: str, name: str, children: list[TreeNode]) -> TreeNode:
    cpus = 0
    for child in children:
        cpus |= child.cpus
    return TreeNode(level, name, cpus, tuple(children))


def _die(system: System, name: str, nodes: tuple[int, ...]) -> TreeNode:
    return _parent("die", name, [_numa(system, f"{name}n{node}", node) for node in nodes])


def _numa(system: System, name: str, node: int) -> TreeNode:
    """All CPUs of the node are here, also those of other dies and packages."""
    caches: dict[Cache, None] = {}
    for cpu in members(system.nodes[node].cpus):
        if cpu in system.cpus:
            caches.update(dict.fromkeys(system.cpus[cpu].caches_of_level(_L2)))
    return _parent("numa", name, [_cache(system, name, cache) for cache in caches])


def _cache(system: System, node: str, cache: Cache) -> TreeNode:
    cores, seen = [], 0
    for cpu in members(cache.cpus):
        if seen >> cpu & 1:
            continue
        threads = system.cpus[cpu].threads
        seen |= threads
        name = f"{node}cpu{cpu}"
        leaves = [
            TreeNode("thread", f"{name}t{thread}", 1 << thread, ()) for thread in members(threads)
        ]
        cores.append(_parent("core", name, leaves))
    return _parent("l2cache", f"{node}${cache.id}", cores)


def split(tree: TreeNode) -> TreeNode:
    """The tree with each NUMA node split by the index of threads in their cores (SplitLevel)."""
    classes: dict[int, int] = {}
    indexes = _thread_indexes(tree)
    for cpu in members(tree.cpus):
        index = indexes[cpu]
        classes[index] = classes.get(index, 0) | 1 << cpu
    return _split(tree, classes)


def _thread_indexes(tree: TreeNode) -> dict[int, int]:
    indexes: dict[int, int] = {}
    for core in tree.walk():
        for index, thread in enumerate(core.children if core.level == "core" else ()):
            indexes.setdefault(members(thread.cpus)[0], index)
    return indexes


def _split(node: TreeNode, classes: dict[int, int]) -> TreeNode:
    if node.level != "numa":
        return node._replace(children=tuple(_split(child, classes) for child in node.children))
    children = []
    for index, cpus in classes.items():
        inside = [kept for child in node.children if (kept := _cut(child, cpus))]
        name = f"{node.name}class{index}"
        children.append(TreeNode("numa", name, node.cpus & cpus, tuple(inside)))
    return node._replace(children=tuple(children))


def _cut(node: TreeNode, cpus: int) -> TreeNode | None:
    """What is left of a node with only these CPUs; None if nothing is."""
    if not node.cpus & cpus:
        return None
    inside = [kept for child in node.children if (kept := _cut(child, cpus))]
    return TreeNode(node.level, node.name, node.cpus & cpus, tuple(inside))


Answer = tuple[int, int]


@dataclass(slots=True)
class TreeAllocator:
    """Where a balloon looks for CPUs.

    `devices` has the CPUs near devices by name, and `paths` those near paths of /sys; `close_to`
    and `far_from` name devices, the most important first. `update` makes the devices follow the
    CPUs that the balloon has so far.
    """

    tree: TreeNode
    balancing: bool
    spread: bool
    close_to: list[str]
    far_from: list[str]
    devices: dict[str, list[int]]
    paths: Mapping[str, int]
    update: Callable[[int], None] | None = field(default=None)

    def resize(self, current: int, free: int, delta: int) -> Answer:
        """NriError if there are too few CPUs."""
        have = (free if delta > 0 else current).bit_count()
        if delta > 0 and have < delta:
            size = current.bit_count()
            raise NriError(
                f"not enough free CPUs ({have}) to resize current CPU set "
                f"from {size} to {size + delta} CPUs"
            )
        if delta < 0 and have < -delta:
            raise NriError(f"not enough current CPUs ({have}) to release {-delta} CPUs")
        if have == abs(delta):
            return (free, 0) if delta > 0 else (0, current)
        return self._following_devices(current, free, delta)

    def _following_devices(self, current: int, free: int, delta: int) -> Answer:
        """With loads that disturb the balloon itself, CPUs are added one at a time."""
        if self.update is None:
            return self._with_devices(current, free, delta)
        self.update(current)
        add, remove = self._with_devices(current, free, delta)
        if delta <= 0 or add.bit_count() < delta:
            return add, remove
        added = 0
        while True:
            lowest = add & -add
            added |= lowest
            if added.bit_count() >= delta:
                return added | add, remove
            current |= lowest
            free &= ~current
            self.update(current)
            add, remove = self._with_devices(current, free, 1)
            if not add:
                return added, remove

    def _hints(self, free: int) -> list[list[int]]:
        """For each device the CPUs that are near it, or not near one to be far from."""
        hints = [self._near(device) for device in self.close_to if self._near(device)]
        for device in self.far_from:
            hints += [[free & ~near] for near in self._near(device)]
        return hints

    def _near(self, device: str) -> list[int]:
        if device in self.devices:
            return self.devices[device]
        return [self.paths[device]] if device in self.paths else []

    def _with_devices(self, current: int, free: int, delta: int) -> Answer:
        """A hint counts only as long as enough CPUs are left."""
        hints = self._hints(free)
        if not hints:
            return self._one_at_a_time(current, free, delta)
        if delta < 0:
            return free, self._least_hinted(hints, current, free, delta)
        for near in hints:
            for cpus in near:
                if (free & cpus).bit_count() >= delta:
                    free &= cpus
        return self._one_at_a_time(current, free, delta)

    def _least_hinted(self, hints: list[list[int]], current: int, free: int, delta: int) -> int:
        """The CPUs with the least weight of hints go; among equals the tree decides."""
        weights = dict.fromkeys(members(current), 0)
        for priority, near in enumerate(hints):
            for cpus in near:
                for cpu in members(cpus & current):
                    weights[cpu] += 1 << (len(hints) - 1 - priority)
        border = sorted(weights.values())[-delta]
        sure = sum(1 << cpu for cpu, weight in weights.items() if weight < border)
        open_to = sum(1 << cpu for cpu, weight in weights.items() if weight == border)
        _, more = self._one_at_a_time(open_to, free, delta + sure.bit_count())
        for cpu in members(more):
            if sure.bit_count() >= -delta:
                break
            sure |= 1 << cpu
        return sure

    def _one_at_a_time(self, current: int, free: int, delta: int) -> Answer:
        """Single steps when spreading on cores, and when giving up CPUs."""
        if delta <= 0:
            return 0, self._removed(current, free, -delta)
        add, remove = self._most_local(current, free, delta)
        if not self.spread or add.bit_count() == delta:
            return add, remove
        added = 0
        for _ in range(delta):
            single, _ = self._most_local(current, free, 1)
            if single.bit_count() != 1:
                raise NriError("internal error: failed to find single CPU to allocate")
            added |= single
            current |= single
            free &= ~single
        return added, remove

    def _removed(self, current: int, free: int, count: int) -> int:
        removed = 0
        for _ in range(count):
            _, single = self._most_local(current, free, -1)
            if single.bit_count() != 1:
                raise NriError("internal error: failed to find single cpu to free")
            removed |= single
            current &= ~single
            free |= single
        return removed

    def _most_local(self, current: int, free: int, delta: int) -> Answer:
        """The CPUs of the best place in the tree."""
        places: list[_Place] = []
        _collect(self.tree, current, free, delta, (), (), places)
        if not places:
            raise NriError("not enough free CPUs")
        deepest = max(place.depth for place in places)
        candidates = [place for place in places if place.depth == deepest]
        best = min(candidates, key=lambda place: self._rank(place, delta))
        ranked = [p for p in candidates if self._rank(p, delta) == self._rank(best, delta)]
        names = sorted(place.name for place in ranked)
        name = names[0] if delta > 0 else names[-1]
        chosen = next(place for place in ranked if place.name == name)
        return chosen.free, chosen.current

    def _rank(self, place: "_Place", delta: int) -> tuple[list[int], list[int]]:
        """From the root down: most own CPUs when growing, fewest when shrinking.

        Then fewest free ones, and most when a growing balloon balances.
        """
        own = [-count if delta > 0 else count for count in place.own]
        balanced = self.balancing and delta > 0
        return own, [-count if balanced else count for count in place.room]


@dataclass(slots=True, frozen=True)
class _Place:
    """A node of the tree that can give what is wanted, with the counts of all nodes above it."""

    name: str
    current: int
    free: int
    own: tuple[int, ...]
    room: tuple[int, ...]

    @property
    def depth(self) -> int:
        return len(self.own)


def _collect(
    node: TreeNode,
    current: int,
    free: int,
    delta: int,
    own: tuple[int, ...],
    room: tuple[int, ...],
    places: list[_Place],
) -> None:
    current, free = node.cpus & current, node.cpus & free
    if (free if delta > 0 else current).bit_count() < abs(delta):
        return
    own, room = (*own, current.bit_count()), (*room, free.bit_count())
    places.append(_Place(node.name, current, free, own, room))
    for child in node.children:
        _collect(child, current, free, delta, own, room, places)
