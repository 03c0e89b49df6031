"""The parts of a machine that a map draws borders around: sockets, NUMA nodes, dies and last-level
caches.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.cpuset import EMPTY, CpuSet
from cpuplan.fleet.hardware import cache_domains
from cpuplan.fleet.kubelet_files import UNCORE_LEVEL
from cpuplan.fleet.problem import numbers
from cpuplan.model.inventory import Cache, HardwareSpec
from cpuplan.model.topology import UNKNOWN, Topology
from cpuplan.quantity import to_bytes
from cpuplan.render.map.boxes import UNITS, memory_text, numa_title


class Part(NamedTuple):
    """Online CPUs that share something, what it is called, and the CPUs of it that are offline.

    `absent` is what CPUs are called that have no such part on a machine where others have one.
    """

    title: str
    cpus: CpuSet
    offline: CpuSet = EMPTY
    numa_node: int | None = None
    absent: str = ""


Level = Sequence[Part]
CACHE = "last-level cache"


def outer_levels(spec: HardwareSpec, topology: Topology) -> tuple[list[Level], list[str]]:
    """Sockets and NUMA nodes; and what each core has for itself, which no border shows."""
    return _levels(
        topology, {"socket": _sockets(spec, topology), "NUMA node": _numa_nodes(spec, topology)}
    )


def inner_levels(
    spec: HardwareSpec, topology: Topology, *, caches_by_cpu: bool = False
) -> tuple[list[Level], list[str]]:
    """Dies and last-level caches, likewise; caches by their lowest CPU, or by the kernel's
    numbers.
    """
    caches = _caches_by_cpu(topology) if caches_by_cpu else _caches(spec, topology)
    told = "" if caches_by_cpu else CACHE  # what `cache_words` tells is enough
    return _levels(topology, {"die": _dies(topology), CACHE: caches}, told)


def cache_words(spec: HardwareSpec) -> Iterator[str]:
    """`L2 1 MiB per core`, `L3 24 x 32 MiB`: all caches that the document tells of."""
    regular = spec.regular
    if regular and regular.caches_per_socket:
        yield f"L3{_many(regular.caches_per_socket, regular.cache_size)} per socket"
    for cache in spec.topology.caches if spec.topology else ():
        kind = "" if cache.type == "Unified" else f" {cache.type.lower()}"
        place = f" per {'NUMA node' if cache.per == 'numaNode' else cache.per}" if cache.per else ""
        yield f"L{cache.level}{kind}{_many(len(cache.cpus), cache.size)}{place}"


def _many(count: int, size: str | None) -> str:
    text = f" {cache_text(size)}" if size else ""
    return text if count <= 1 else f" {count} x{text}" if text else f" x {count}"


def cache_text(size: str) -> str:
    """A cache's size, exactly: 1280 KiB is not 1.2 MiB."""
    exact = to_bytes(size)
    text = memory_text(exact)
    number, unit = text.split()
    rounded = float(number) * 1024 ** UNITS.index(unit)
    return text if rounded == exact else f"{exact // 1024} KiB"


def _levels(
    topology: Topology, found: dict[str, Level], told: str = ""
) -> tuple[list[Level], list[str]]:
    cores = set(topology.cores.values())
    alone = [
        what
        for what, parts in found.items()
        if len(parts) > 1 and {part.cpus for part in parts} <= cores
    ]
    levels = [parts for what, parts in found.items() if parts and what not in alone]
    return levels, [f"a {what} for each core" for what in alone if what != told]


def _sockets(spec: HardwareSpec, topology: Topology) -> Level:
    listed = {group.id: group.cpus for group in spec.topology.sockets} if spec.topology else {}
    return [
        Part(
            f"socket {socket}",
            cpus,
            listed.get(socket, EMPTY) & topology.offline,
            absent="no socket",
        )
        for socket, cpus in topology.sockets.items()
        if socket != UNKNOWN
    ]


def _numa_nodes(spec: HardwareSpec, topology: Topology) -> Level:
    listed = {node.id: node for node in spec.topology.numa_nodes} if spec.topology else {}
    found = []
    for node, cpus in topology.numa_nodes.items():
        if node == UNKNOWN:
            continue
        title, offline = numa_title(topology, node), EMPTY
        if node in listed:
            offline = (listed[node].cpus or EMPTY) & topology.offline
            pages = sorted(
                (to_bytes(size), count) for size, count in listed[node].huge_pages.items()
            )
            title += "".join(f", {count} pages of {memory_text(size)}" for size, count in pages)
        found.append(Part(title, cpus, offline, node, absent="no NUMA node"))
    return found


def _dies(topology: Topology) -> Level:
    """Dies where a socket has several."""
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
    """Last-level caches, called by the kernel's id where it tells one, and by their size where
    sizes differ.
    """
    told = dict(_told_caches(spec))
    sizes = {size for _, size in told.values()}
    found = []
    for cache, cpus in topology.uncore_caches.items():
        number, size = next((told[members] for members in told if cache in members), (None, None))
        words = ["L3" if number is None else f"L3 {number}"]
        if len(sizes) > 1 and size:
            words.append(cache_text(size))
        found.append(Part(" of ".join(words), cpus, absent="no L3"))
    return found


def _caches_by_cpu(topology: Topology) -> Level:
    return [
        Part(f"cache {cache}", cpus, absent="no cache")
        for cache, cpus in topology.uncore_caches.items()
    ]


def _told_caches(spec: HardwareSpec) -> Iterator[tuple[CpuSet, tuple[int | None, str | None]]]:
    """The CPUs of each last-level cache, with its id and size."""
    if spec.topology is None:
        return
    caches: list[Cache] = [cache for cache in spec.topology.caches if cache.level == UNCORE_LEVEL]
    for cache in caches:
        domains = cache_domains(spec.topology, cache)
        ids: Sequence[int | None] = numbers(cache.ids) if cache.ids else [None] * len(domains)
        for cpus, number in zip(domains, ids, strict=True):
            yield cpus, (number, cache.size)
