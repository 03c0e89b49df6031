"""Sizes, counts and caches of a machine in words."""

from collections.abc import Iterator

from cpuplan.base.quantity import to_bytes
from cpuplan.base.text import counted
from cpuplan.base.topology import UNKNOWN, Topology
from cpuplan.language.model.inventory import HardwareSpec

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def numa_title(topology: Topology, node: int) -> str:
    """`NUMA node 0, 256 GiB`; without the memory if it is not known."""
    size = topology.numa_facts[node].memory
    return f"NUMA node {node}" if size is None else f"NUMA node {node}, {memory_text(size)}"


def type_words(core_type: str) -> str:
    """A core type as people say it: `lowPower` is low power."""
    return "low power" if core_type == "lowPower" else core_type


def memory_text(size: int) -> str:
    """Bytes as people say them, to one decimal: `255.6 GiB`."""
    exponent = _exponent(size)
    number = f"{size / 1024**exponent:.1f}".removesuffix(".0")
    return f"{number} {_UNITS[exponent]}"


def cache_text(size: str) -> str:
    """A cache's size, exactly: 1280 KiB is not 1.2 MiB."""
    exact = to_bytes(size)
    text = memory_text(exact)
    is_exact = float(text.split()[0]) * 1024 ** _exponent(exact) == exact
    return text if is_exact else f"{exact // 1024} KiB"


def counts(topology: Topology) -> str:
    """`112 CPUs, 56 cores, 2 sockets, 2 NUMA nodes, 2 last-level caches`, without unknown ones."""
    sizes = (
        (len(topology.cpus), "CPU"),
        (len(topology.cores), "core"),
        (len(topology.sockets.keys() - {UNKNOWN}), "socket"),
        (len(topology.numa_facts.keys() - {UNKNOWN}), "NUMA node"),
        (len(topology.uncore_caches), "last-level cache"),
    )
    return ", ".join(counted(count, noun) for count, noun in sizes if count)


def cache_words(spec: HardwareSpec) -> Iterator[str]:
    """All caches of the document: `L2 1 MiB per core`, `L3 24 x 32 MiB`."""
    regular = spec.regular
    if regular and regular.caches_per_socket:
        yield f"L3{_multiplied(regular.caches_per_socket, regular.cache_size)} per socket"
    for cache in spec.topology.caches if spec.topology else ():
        kind = "" if cache.type == "Unified" else f" {cache.type.lower()}"
        per = "NUMA node" if cache.per == "numaNode" else cache.per
        place = f" per {per}" if per else ""
        yield f"L{cache.level}{kind}{_multiplied(len(cache.cpus), cache.size)}{place}"


def _multiplied(count: int, size: str | None) -> str:
    """` 24 x 32 MiB`, ` 32 MiB`, ` x 24`, or nothing."""
    text = f" {cache_text(size)}" if size else ""
    if count <= 1:
        return text
    return f" {count} x{text}" if text else f" x {count}"


def _exponent(size: int) -> int:
    """The index of the largest unit that is not larger than `size`."""
    fitting = [exponent for exponent in range(len(_UNITS)) if size >= 1024**exponent]
    return fitting[-1] if fitting else 0
