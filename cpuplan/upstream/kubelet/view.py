"""Where the kubelet's CPU manager sees a machine differently than the kernel (`machineinfo`)."""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.upstream.kubelet.cpu.topology import CpuRow
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.machineinfo import cpu_topology


class Kind(Enum):
    """What CPUs are grouped by."""

    CORE = "core"
    NUMA_NODE = "NUMA node"
    CACHE = "last-level cache"


class Example(NamedTuple):
    """CPUs that one side takes for one group and the other for several."""

    cpus: CpuSet
    pieces: int
    is_merged: bool  # by the kubelet; else it splits the kernel's group


class Deviation(NamedTuple):
    """Groups that differ: how many the kernel has, how many the kubelet, and the first of them."""

    kind: Kind
    kernel: int
    kubelet: int
    example: Example


def unseen_cpus(topology: Topology) -> CpuSet:
    """The online CPUs that the kubelet does not see."""
    return topology.online - _seen(topology)


@lru_cache(maxsize=64)
def deviations(topology: Topology) -> tuple[Deviation, ...]:
    """What the kubelet sees differently, most important first; nothing on most machines."""
    return tuple(_deviations(topology))


def _deviations(topology: Topology) -> Iterator[Deviation]:
    rows, seen = _rows(topology), _seen(topology)
    caches = topology.uncore_caches
    cached = CpuSet(cpu for cpus in caches.values() for cpu in cpus)
    cores = ((row.cpu, row.core) for row in rows)
    nodes = ((row.cpu, row.numa_node) for row in rows)
    kubelet_caches = ((row.cpu, row.uncore_cache) for row in rows if row.cpu in cached)
    yield from _compare(Kind.CORE, _within(topology.cores.values(), seen), _groups(cores))
    yield from _compare(Kind.NUMA_NODE, _within(topology.numa_nodes.values(), seen), _groups(nodes))
    yield from _compare(Kind.CACHE, _within(caches.values(), seen), _groups(kubelet_caches))


@lru_cache(maxsize=64)
def _rows(topology: Topology) -> tuple[CpuRow, ...]:
    try:
        return cpu_topology(topology).rows
    except KubeletError:
        return ()


@lru_cache(maxsize=64)
def _seen(topology: Topology) -> CpuSet:
    return CpuSet(row.cpu for row in _rows(topology))


def _within(groups: Iterable[CpuSet], seen: CpuSet) -> list[CpuSet]:
    return [cpus & seen for cpus in groups if cpus & seen]


def _groups(labels: Iterable[tuple[int, int]]) -> list[CpuSet]:
    """Sets of the CPUs with one label, ascending by lowest CPU."""
    bits: dict[int, int] = {}
    for cpu, label in labels:
        bits[label] = bits.get(label, 0) | 1 << cpu
    return sorted(map(CpuSet.from_bits, bits.values()), key=lambda cpus: cpus.first)


def _compare(kind: Kind, kernel: list[CpuSet], kubelet: list[CpuSet]) -> Iterator[Deviation]:
    known = frozenset(kernel)
    for cpus in kubelet:
        if cpus not in known:
            yield Deviation(kind, len(kernel), len(kubelet), _example(cpus, kernel, kubelet))
            return


def _example(cpus: CpuSet, kernel: Sequence[CpuSet], kubelet: Sequence[CpuSet]) -> Example:
    """What is different about a group that only the kubelet has."""
    parts = [group for group in kernel if group & cpus]
    if len(parts) > 1:
        return Example(cpus, len(parts), is_merged=True)
    pieces = sum(1 for group in kubelet if group & parts[0])
    return Example(parts[0], pieces, is_merged=False)
