"""Where the kubelet's CPU manager sees a machine differently than the kernel (`machineinfo`)."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from cpuplan.cpuset import CpuSet, cpus_text
from cpuplan.kubelet.cpu.topology import CpuRow
from cpuplan.kubelet.errors import KubeletError
from cpuplan.kubelet.machineinfo import cpu_topology
from cpuplan.model.topology import Topology
from cpuplan.text import counted


def groups(labels: Iterable[tuple[int, int]]) -> list[CpuSet]:
    """Sets of the CPUs of one label, ascending by lowest CPU; `labels` are pairs of a CPU and its
    label.
    """
    bits: dict[int, int] = {}
    for cpu, label in labels:
        bits[label] = bits.get(label, 0) | 1 << cpu
    return sorted(map(CpuSet.from_bits, bits.values()), key=lambda cpus: cpus.first)


class Deviation(NamedTuple):
    """One thing that the kubelet sees otherwise than the kernel: a code (CP36x) and the values of
    its wording.
    """

    code: str
    values: dict[str, Any]


def deviations(topology: Topology) -> Iterator[Deviation]:
    """What of a machine the kubelet sees otherwise, most important first; nothing on most
    machines.
    """
    rows = _rows(topology)
    seen = CpuSet(row.cpu for row in rows)
    if unseen := topology.online - seen:
        yield Deviation("CP362", {"cpus": cpus_text(unseen), "cause": _cause(unseen, topology)})
    if not seen:
        return
    cores = [siblings & seen for siblings in topology.cores.values() if siblings & seen]
    found = groups((row.cpu, row.core) for row in rows)
    if example := _example(cores, found, "core"):
        yield Deviation(
            "CP360",
            {"cores": counted(len(cores), "core"), "found": len(found), "example": example},
        )
    nodes = [cpus & seen for cpus in topology.numa_nodes.values() if cpus & seen]
    found = groups((row.cpu, row.numa_node) for row in rows)
    if example := _example(nodes, found, "NUMA node"):
        yield Deviation(
            "CP363",
            {"nodes": counted(len(nodes), "NUMA node"), "found": len(found), "example": example},
        )
    caches = [cpus & seen for cpus in topology.uncore_caches.values() if cpus & seen]
    cached = CpuSet(cpu for cpus in caches for cpu in cpus)
    found = groups((row.cpu, row.uncore_cache) for row in rows if row.cpu in cached)
    if example := _example(caches, found, "last-level cache"):
        values = {
            "caches": counted(len(caches), "last-level cache"),
            "found": len(found),
            "example": example,
        }
        yield Deviation("CP361", values)


def _rows(topology: Topology) -> tuple[CpuRow, ...]:
    try:
        return cpu_topology(topology).rows
    except KubeletError:
        return ()


def _cause(unseen: CpuSet, topology: Topology) -> str:
    if unseen <= topology.kubelet.unlabelled:
        return "does not give the ids of their cores and sockets"
    if unseen.isdisjoint(topology.kubelet.unlabelled):
        return "assigns them to no NUMA node"
    return "assigns some to no NUMA node, and does not give the ids of others"


def _example(kernel: list[CpuSet], kubelet: list[CpuSet], noun: str) -> str:
    """The first group that the kubelet merges of the kernel's, or splits; empty if the groups are
    the same.
    """
    known = frozenset(kernel)
    for cpus in kubelet:
        if cpus in known:
            continue
        parts = [group for group in kernel if group & cpus]
        if len(parts) > 1:
            return f"it treats {cpus_text(cpus)} as one {noun}, but there are {len(parts)}"
        pieces = sum(1 for group in kubelet if group & parts[0])
        return f"it treats {cpus_text(parts[0])} as {counted(pieces, noun)}, but there is one"
    return ""
