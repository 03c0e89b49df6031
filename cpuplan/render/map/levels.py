"""The parts of a machine that a map draws borders around, from sockets to last-level caches."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.quantity import to_bytes
from cpuplan.base.topology import UNKNOWN, Topology
from cpuplan.fleet.hardware import cache_domains
from cpuplan.fleet.kubelet_files import UNCORE_LEVEL
from cpuplan.fleet.problem import numbers
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.render.map.words import cache_text, memory_text, numa_title


class Part(NamedTuple):
    """Online CPUs that share something, its title, and the offline CPUs of it.

    `absent` is the title of the CPUs that have no such part on a machine where others have one.
    """

    title: str
    cpus: CpuSet
    offline: CpuSet = EMPTY
    numa_node: int | None = None
    absent: str = ""


#: Parts of one kind, that of the lowest CPUs first.
Level = Sequence[Part]
_CACHE = "last-level cache"


class _Cache(NamedTuple):
    """A last-level cache of the document."""

    cpus: CpuSet
    number: int | None
    size: str | None


def outer_levels(spec: HardwareSpec, topology: Topology) -> tuple[list[Level], list[str]]:
    """Sockets and NUMA nodes; and words on what each core has for itself, without borders."""
    return _levels(
        topology, {"socket": _sockets(spec, topology), "NUMA node": _numa_nodes(spec, topology)}
    )


def inner_levels(
    spec: HardwareSpec, topology: Topology, *, caches_by_cpu: bool
) -> tuple[list[Level], list[str]]:
    """Dies and last-level caches, likewise; caches by lowest CPU, or by the kernel's numbers."""
    if caches_by_cpu:
        caches = _caches_by_cpu(topology)
        return _levels(topology, {"die": _dies(topology), _CACHE: caches})
    caches = _caches(spec, topology)
    levels, per_core = _levels(topology, {"die": _dies(topology), _CACHE: caches})
    # `cache_words` says it of caches
    return levels, [words for words in per_core if _CACHE not in words]


def _levels(topology: Topology, levels: Mapping[str, Level]) -> tuple[list[Level], list[str]]:
    cores = set(topology.cores.values())
    shown, per_core = [], []
    for name, parts in levels.items():
        if len(parts) > 1 and cores.issuperset(part.cpus for part in parts):
            per_core.append(f"a {name} for each core")
        elif parts:
            shown.append(parts)
    return shown, per_core


def _sockets(spec: HardwareSpec, topology: Topology) -> Level:
    listed = {group.id: group.cpus for group in spec.topology.sockets} if spec.topology else {}
    parts = []
    for socket, cpus in topology.sockets.items():
        if socket != UNKNOWN:
            offline = listed.get(socket, EMPTY) & topology.offline
            parts.append(Part(f"socket {socket}", cpus, offline, absent="no socket"))
    return parts


def _numa_nodes(spec: HardwareSpec, topology: Topology) -> Level:
    listed = {node.id: node for node in spec.topology.numa_nodes} if spec.topology else {}
    parts = []
    for node, cpus in topology.numa_nodes.items():
        if node == UNKNOWN:
            continue
        title, offline = numa_title(topology, node), EMPTY
        if node in listed:
            offline = (listed[node].cpus or EMPTY) & topology.offline
            sizes = listed[node].huge_pages.items()
            pages = sorted((to_bytes(size), count) for size, count in sizes)
            title += "".join(f", {count} pages of {memory_text(size)}" for size, count in pages)
        parts.append(Part(title, cpus, offline, node, absent="no NUMA node"))
    return parts


def _dies(topology: Topology) -> Level:
    """Dies if a socket has several."""
    bits: dict[tuple[int, int], int] = {}
    for cpu in topology.cpus:
        bits[cpu.socket, cpu.die] = bits.get((cpu.socket, cpu.die), 0) | 1 << cpu.cpu
    if len(bits) == len(topology.sockets):
        return []
    return [
        Part(f"die {die}", CpuSet.from_bits(bits[socket, die]), absent="no die")
        for socket, die in sorted(bits)
    ]


def _caches(spec: HardwareSpec, topology: Topology) -> Level:
    """Last-level caches by the kernel's id, if it is known, and by size if sizes differ."""
    listed = list(_listed_caches(spec))
    has_sizes = len({cache.size for cache in listed}) > 1
    parts = []
    for lowest, cpus in topology.uncore_caches.items():
        cache = next((cache for cache in listed if lowest in cache.cpus), _Cache(cpus, None, None))
        title = "L3" if cache.number is None else f"L3 {cache.number}"
        size = f" of {cache_text(cache.size)}" if has_sizes and cache.size else ""
        parts.append(Part(title + size, cpus, absent="no L3"))
    return parts


def _caches_by_cpu(topology: Topology) -> Level:
    return [
        Part(f"cache {cache}", cpus, absent="no cache")
        for cache, cpus in topology.uncore_caches.items()
    ]


def _listed_caches(spec: HardwareSpec) -> Iterator[_Cache]:
    if spec.topology is None:
        return
    for cache in spec.topology.caches:
        if cache.level == UNCORE_LEVEL:
            domains = cache_domains(spec.topology, cache)
            ids: Sequence[int | None] = numbers(cache.ids) if cache.ids else [None] * len(domains)
            for cpus, number in zip(domains, ids, strict=True):
                yield _Cache(cpus, number, cache.size)
