"""The CPU allocator of both policies: whole packages, clusters, cache groups, cores, threads.

Classes of CPUs by speed decide between equals. Speed Select, where it is active, has a say before
these rules; it is not known here.

Upstream: containers/nri-plugins pkg/cpuallocator/allocator.go
  @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cmp_to_key
from typing import NamedTuple

from cpuplan.upstream.kubernetes.bits import members, to_text
from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.system import E_CORE, EPP_UNKNOWN, P_CORE, Cpu, System


class Cluster(NamedTuple):
    """A cluster of cores; its kind is that of its lowest CPU."""

    package: int
    die: int
    cluster: int
    cpus: int
    kind: str


class CacheGroup(NamedTuple):
    """CPUs behind one cache; package, die and node are those of its lowest CPU."""

    id: int
    package: int
    die: int
    node: int
    cpus: int
    kind: str


def clusters(system: System) -> tuple[Cluster, ...]:
    """The clusters of packages that have more than one (discoverCPUClusters)."""
    everywhere: list[Cluster] = []
    for package in system.packages.values():
        inside = [
            Cluster(package.package, die, cluster, cpus, system.cpus[members(cpus)[0]].kind)
            for die, cluster, cpus in package.clusters
        ]
        if len(inside) > 1:
            everywhere += inside
    return tuple(everywhere)


def cache_groups(system: System) -> tuple[CacheGroup, ...]:
    """The groups of packages that have more than one; none if any group crosses borders.

    One that spans packages or nodes switches all off; one that spans dies only changes the order
    (discoverCacheGroups).
    """
    level = _grouping_level(system)
    groups: list[CacheGroup] = []
    for package in system.packages.values() if level else ():
        inside = _groups_in_package(system, package.cpus, level)
        if len(inside) > 1:
            groups += inside
    groups.sort(key=_by_die)
    crossing = _first_crossing(system, groups)
    if crossing == "die":
        groups.sort(key=_by_node)
    elif crossing:
        return ()
    return tuple(group._replace(id=index) for index, group in enumerate(groups))


def _by_die(group: CacheGroup) -> tuple[int, int, int, int]:
    return (group.package, group.die, group.node, members(group.cpus)[0])


def _by_node(group: CacheGroup) -> tuple[int, int, int]:
    return (group.package, group.node, members(group.cpus)[0])


def _first_crossing(system: System, groups: list[CacheGroup]) -> str:
    """The border that ends the plugin's look at the groups; "die" only if no other does.

    Of each group only CPUs up to the first on another die are looked at, in no certain order: here
    it is the ascending one.
    """
    crossing = ""
    for group in groups:
        for cpu in (system.cpus[number] for number in members(group.cpus)):
            if cpu.package != group.package:
                return "package"
            if cpu.die != group.die:
                crossing = "die"
                break
            if cpu.node != group.node:
                return "node"
    return crossing


def _grouping_level(system: System) -> int:
    """The cache level that groups CPUs; 0 if none does (pickCacheLevelForGrouping).

    The number of cache entries serves as the highest level: without an instruction cache the third
    level is not looked at.
    """
    useful = _is_group(system)
    for number in members(system.online):
        cpu = system.cpus[number]
        for level in range(len(cpu.caches) - 1, 0, -1):
            if useful(cpu, cpu.cache_cpus(level)):
                return level
    return 0


def _groups_in_package(system: System, cpus: int, level: int) -> list[CacheGroup]:
    useful = _is_group(system)
    groups: list[CacheGroup] = []
    assigned = 0
    for number in members(cpus & system.online):
        cpu = system.cpus[number]
        behind = cpu.cache_cpus(level) & system.online
        if assigned >> number & 1 or not useful(cpu, behind):
            continue
        groups.append(CacheGroup(0, cpu.package, cpu.die, cpu.node, behind, cpu.kind))
        assigned |= behind
    return groups


def _is_group(system: System) -> Callable[[Cpu, int], bool]:
    """Whether CPUs behind a CPU's cache are more than its core, and not its die or package."""

    def is_group(cpu: Cpu, behind: int) -> bool:
        package = system.packages[cpu.package]
        known = (cpu.threads, package.die_cpus.get(cpu.die, 0), package.cpus)
        return behind.bit_count() > 1 and behind not in [cpus & system.online for cpus in known]

    return is_group


HIGH, NORMAL, LOW, NONE = range(4)
PRIORITY_NAMES = ("high", "normal", "low", "none")


class Priorities(NamedTuple):
    """The CPUs of each class."""

    high: int
    normal: int
    low: int


def discover_priorities(system: System) -> Priorities:
    """The classes, decided for each package on its own (discoverCpufreqPriority)."""
    classes = [0, 0, 0]
    efficient = system.kinds.get(E_CORE, 0)
    others = system.online & ~efficient
    for package in system.packages.values():
        for priority, cpus in enumerate(_of_package(system, package.cpus)):
            only_low = priority == LOW or not others
            classes[priority] |= cpus if only_low else cpus & ~efficient
    return Priorities(*classes)


def _of_package(system: System, cpus: int) -> list[int]:
    """Faster than the slowest is high; a better energy preference than the worst outdoes that."""
    inside = [system.cpus[cpu] for cpu in members(cpus)]
    frequencies = sorted({cpu.base_khz for cpu in inside if cpu.base_khz})
    preferences = sorted({cpu.epp for cpu in inside if cpu.epp != EPP_UNKNOWN})
    classes = [0, 0, 0]
    for cpu in inside:
        priority = NORMAL
        if len(frequencies) > 1:
            priority = HIGH if cpu.base_khz > frequencies[0] else LOW
        if cpu.kind == E_CORE:
            priority = LOW
        elif len(preferences) > 1:
            priority = HIGH if cpu.epp < preferences[-1] else LOW
        classes[priority] |= 1 << cpu.cpu
    return classes


def compare_sets(priorities: Priorities, cpus: int, others: int, wish: int, count: int) -> int:
    """Positive if `cpus` suit the wish for a class better than `others`, 0 for no difference.

    A positive `count` is how many CPUs are wanted: then the tighter of two fitting sets is better.
    """
    if wish == NONE:
        return 0
    if count > 0 and wish in (HIGH, LOW):
        mine, theirs = _counts(priorities[wish], cpus, others)
        if wish == HIGH and not mine and not theirs:
            mine, theirs = _counts(priorities.normal, cpus, others)
        if mine >= count and theirs >= count:
            return theirs - mine
        if mine >= count or theirs >= count:
            return mine - theirs
    for priority in range(wish, NONE):
        mine, theirs = _counts(priorities[priority], cpus, others)
        if count > 0 and priority == wish and mine >= count and theirs >= count:
            return theirs - mine
        if mine != theirs:
            return mine - theirs
    for priority in range(wish):
        mine, theirs = _counts(priorities[priority], cpus, others)
        if mine != theirs:
            return theirs - mine
    return 0


def _counts(of_class: int, cpus: int, others: int) -> tuple[int, int]:
    return (cpus & of_class).bit_count(), (others & of_class).bit_count()


class Topology(NamedTuple):
    """What the allocator knows of a machine."""

    system: System
    priorities: Priorities
    clusters: tuple[Cluster, ...]
    cache_groups: tuple[CacheGroup, ...]

    @property
    def is_hybrid(self) -> bool:
        return len(self.system.kinds) > 1


@dataclass(slots=True)
class Request:
    """`count` more CPUs of class `wish` are wanted from `free`; `taken` are those so far."""

    topology: Topology
    wish: int
    free: int
    count: int
    taken: int = 0

    def take(self, cpus: int) -> None:
        self.taken |= cpus
        self.free &= ~cpus
        self.count -= cpus.bit_count()

    def prefers(self, cpus: int, others: int, count: int) -> int:
        """Positive if `cpus` suit the wish better than `others` (Priorities, compare)."""
        return compare_sets(self.topology.priorities, cpus, others, self.wish, count)

    def accepts(self, kind: str) -> bool:
        """Whether groups of this kind of core are taken: on hybrid machines E only for low."""
        if not self.topology.is_hybrid:
            return True
        return kind != (P_CORE if self.wish == LOW else E_CORE)


def take_idle_clusters(request: Request) -> None:
    """The best single fit if it is exact, else whole clusters as long as they fit.

    Nothing is taken when the first cluster is larger than the request.
    """
    if len(request.topology.clusters) <= 1:
        return
    offline = request.topology.system.offline
    idle: list[tuple[Cluster, int]] = []
    for cluster in request.topology.clusters:
        cpus = cluster.cpus & ~offline
        if request.accepts(cluster.kind) and cpus and not cpus & ~request.free:
            idle.append((cluster, cpus))
    for _, cpus in _sorted_clusters(idle, request.count):
        if request.count < cpus.bit_count():
            return
        request.take(cpus)
        if not request.count:
            return


def _sorted_clusters(idle: list[tuple[Cluster, int]], count: int) -> list[tuple[Cluster, int]]:
    """Tightest first: clusters that hold the request, then those of such dies, then packages."""
    on_package: Counter[int] = Counter()
    on_die: Counter[tuple[int, int]] = Counter()
    for cluster, cpus in idle:
        on_package[cluster.package] += cpus.bit_count()
        on_die[cluster.package, cluster.die] += cpus.bit_count()

    def sizes(entry: tuple[Cluster, int]) -> tuple[int, int, int]:
        cluster, cpus = entry
        die = on_die[cluster.package, cluster.die]
        return cpus.bit_count(), die, on_package[cluster.package]

    def compare(left: tuple[Cluster, int], right: tuple[Cluster, int]) -> int:
        for mine, theirs in zip(sizes(left), sizes(right), strict=True):
            if mine >= count and theirs >= count:
                return mine - theirs or _cluster_order(left[0], right[0])
            if mine >= count or theirs >= count:
                return -1 if mine >= count else 1
        return 0

    return sorted(idle, key=cmp_to_key(compare))


def _cluster_order(cluster: Cluster, rival: Cluster) -> int:
    mine = (cluster.package, cluster.die, cluster.cluster)
    theirs = (rival.package, rival.die, rival.cluster)
    return (mine > theirs) - (mine < theirs)


#: In a comparison: any number of CPUs.
_ANY = -1


def take_idle_packages(request: Request) -> None:
    """Packages all of whose CPUs of the wished class are free."""
    system = request.topology.system
    idle: dict[int, int] = {}
    for package in system.packages.values():
        cpus = package.cpus & ~system.offline
        if request.wish != NONE:
            cpus &= request.topology.priorities[request.wish]
        if not cpus & ~request.free:
            idle[package.package] = cpus
    _take_whole(request, idle, {number: system.packages[number].cpus for number in idle})


def _take_whole(request: Request, idle: Mapping[int, int], cpus: Mapping[int, int]) -> None:
    """Take what is idle of parts while all of it is asked for, the preferred ones first."""

    def compare(number: int, rival: int) -> int:
        return -request.prefers(cpus[number], cpus[rival], _ANY) or number - rival

    for number in sorted(idle, key=cmp_to_key(compare)):
        if request.count >= idle[number].bit_count():
            request.take(idle[number])
        if not request.count:
            break


def take_idle_cores(request: Request) -> None:
    """Cores all of whose threads are free."""
    system = request.topology.system
    idle: dict[int, int] = {}
    for cpu in system.cpus.values():
        threads = cpu.threads & ~system.offline
        if threads and not threads & ~request.free and members(threads)[0] == cpu.cpu:
            idle[cpu.cpu] = threads
    _take_whole(request, idle, {number: system.cpus[number].threads for number in idle})


def take_idle_threads(request: Request) -> None:
    """Single CPUs, in an order that is made once."""
    system = request.topology.system
    packages = {
        package.package: (
            -(package.cpus & request.taken).bit_count(),
            package.cpus & request.free,
        )
        for package in system.packages.values()
    }

    def compare(cpu: int, rival: int) -> int:
        mine, theirs = system.cpus[cpu], system.cpus[rival]
        (near, free), (their_near, their_free) = packages[mine.package], packages[theirs.package]
        if near != their_near:
            return near - their_near
        if better := request.prefers(free, their_free, request.count):
            return -better
        if mine.package != theirs.package:
            return mine.package - theirs.package
        if better := request.prefers(1 << cpu, 1 << rival, 0):
            return -better
        used = (mine.threads & request.free).bit_count()
        their_used = (theirs.threads & request.free).bit_count()
        return used - their_used or cpu - rival

    candidates = members(request.free & ~system.offline)
    for cpu in sorted(candidates, key=cmp_to_key(compare)):
        request.take(1 << cpu)
        if not request.count:
            break


def split(topology: Topology, wish: int, group: int, count: int) -> int:
    """`count` CPUs of a group: whole cores first; none if it has too few."""
    part = Request(topology, wish, group, count)
    take_idle_cores(part)
    if part.count > 0:
        take_idle_threads(part)
    return part.taken if not part.count else 0


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
                return verdict or _group_order(group, rival)
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
            return mine - theirs or more or _group_order(left[0], right[0])
        return (theirs >= count) - (mine >= count)

    return sorted(offers, key=cmp_to_key(beside_idle if beside else alone))


def _group_order(group: CacheGroup, rival: CacheGroup) -> int:
    mine, theirs = (group.package, group.die, group.id), (rival.package, rival.die, rival.id)
    return (mine > theirs) - (mine < theirs)


def _take_idle(request: Request, offers: list[Offer]) -> None:
    for _, free in offers:
        if request.count <= 0:
            return
        whole = request.count >= free.bit_count()
        request.take(free if whole else _part_of_group(request, free))


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
        request.take(free if whole else _part_of_group(request, free))
        if not request.count:
            return


def _part_of_group(request: Request, free: int) -> int:
    return split(request.topology, request.wish, free, request.count)


def topology_of(system: System) -> Topology:
    """What the allocator keeps of a machine."""
    groups = cache_groups(system)
    return Topology(system, discover_priorities(system), clusters(system), groups)


def allocate(topology: Topology, free: int, count: int, wish: int) -> tuple[int, int]:
    """(CPUs taken, CPUs left); NriError if there are fewer than `count`."""
    if free.bit_count() < count:
        raise NriError(f"cpuset {to_text(free)} does not have {count} CPUs")
    if free.bit_count() == count:
        return free, 0
    request = Request(topology, wish, free, count)
    take_idle_packages(request)
    if topology.is_hybrid and request.count > 0:
        take_idle_clusters(request)
    for step in (take_cache_groups, take_idle_cores, take_idle_threads):
        if request.count > 0:
            step(request)
    return request.taken if not request.count else 0, request.free


def release(topology: Topology, cpus: int, count: int, wish: int) -> tuple[int, int]:
    """(CPUs kept, CPUs released): those to keep are allocated, the rest goes."""
    return allocate(topology, cpus, cpus.bit_count() - count, wish)
