"""Groups of CPUs that the allocator takes whole: clusters, and CPUs that share a cache."""

from collections.abc import Callable
from typing import NamedTuple

from cpuplan.upstream.kubelet.bits import members
from cpuplan.upstream.nri.sysfs.system import Cpu, System


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
        inside = _groups_of(system, package.cpus, level)
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


def _groups_of(system: System, cpus: int, level: int) -> list[CacheGroup]:
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
