"""The machine as the kubelet's CPU manager sees it, which is not always as the kernel does.

cAdvisor walks the NUMA nodes' links to CPUs and makes cores of equal ids (utils/sysinfo/sysinfo.go,
GetNodesInfo); the kubelet takes its cores, sockets and uncore caches from there
(pkg/kubelet/cm/cpumanager/topology, Discover). Read at cAdvisor 0.56 and Kubernetes 1.36.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from cpuplan.cpuset import CpuSet, cpus_text
from cpuplan.model.topology import UNKNOWN, Cpu, KubeletFacts, Topology
from cpuplan.text import counted


class KubeletCpu(NamedTuple):
    """One CPU of the kubelet's topology; a core is named by its lowest CPU, all else by the
    kernel's id.
    """

    cpu: int
    core: int
    socket: int
    numa_node: int
    uncore_cache: int


class KubeletTopology(NamedTuple):
    """What the CPU manager works with. The five counts are what it divides by, not always those of
    `cpus`.
    """

    cpus: tuple[KubeletCpu, ...]  # ascending
    num_cpus: int
    num_cores: int
    num_sockets: int
    num_numa_nodes: int
    num_uncore_caches: int

    @property
    def error(self) -> str | None:
        """What the kubelet says at its start about a machine that it cannot use."""
        return None if self.num_cpus else "could not detect number of cpus"

    @property
    def cores(self) -> list[CpuSet]:
        """The siblings of each core, ascending by lowest CPU."""
        return groups((row.cpu, row.core) for row in self.cpus)


def kubelet_topology(topology: Topology) -> KubeletTopology:
    """The kubelet's topology of a machine."""
    facts = topology.kubelet
    rows: list[KubeletCpu] = []
    cores = 0
    for node, cpus in _numa_nodes(topology).items():
        found = _cores(cpus, facts)
        cores += len(found)
        rows += _rows(node, found, facts)
    sockets = facts.sockets
    if sockets is None:
        sockets = len(topology.sockets)
    # Without NUMA nodes cAdvisor counts the folders of CPUs, else the threads that it found.
    count = len(topology.online | topology.offline) if facts.no_numa_nodes else len(rows)
    return KubeletTopology(
        tuple(sorted(rows)),
        count,
        cores,
        sockets,
        len({row.numa_node for row in rows}),
        len({row.uncore_cache for row in rows}),
    )


def _numa_nodes(topology: Topology) -> dict[int, list[Cpu]]:
    """The CPUs that the kubelet sees by NUMA node, in the order in which cAdvisor meets their
    folders: as text.
    """
    facts = topology.kubelet
    if facts.no_numa_nodes:
        node_of = {cpu.cpu: cpu.socket for cpu in topology.cpus}
    elif facts.numa_nodes is not None:
        node_of = {cpu: node for node, cpus in facts.numa_nodes.items() for cpu in cpus}
    else:
        node_of = {cpu.cpu: cpu.numa_node for cpu in topology.cpus if cpu.numa_node != UNKNOWN}
    nodes: dict[int, list[Cpu]] = {}
    for cpu in sorted(topology.cpus, key=lambda cpu: str(cpu.cpu)):
        if cpu.cpu in node_of and cpu.cpu not in facts.unlabelled:
            nodes.setdefault(node_of[cpu.cpu], []).append(cpu)
    return nodes


def _cores(cpus: Iterable[Cpu], facts: KubeletFacts) -> list[list[Cpu]]:
    """Within a NUMA node, CPUs of one core and package id are a core; on s390x of one book and
    drawer too.
    """
    cores: dict[tuple[object, ...], list[Cpu]] = {}
    for cpu in cpus:
        cores.setdefault((cpu.core_id, cpu.socket, facts.places.get(cpu.cpu)), []).append(cpu)
    return list(cores.values())


def _rows(node: int, cores: list[list[Cpu]], facts: KubeletFacts) -> Iterator[KubeletCpu]:
    """The rows of a NUMA node. At the first core whose caches it cannot read cAdvisor stops reading
    the node's.
    """
    readable = True
    for threads in cores:
        first = threads[0]
        readable = readable and first.cpu not in facts.unread_caches
        uncore = _uncore_cache(first.cpu, len(cores) * len(threads), facts) if readable else None
        core = min(cpu.cpu for cpu in threads)
        for cpu in threads:
            yield KubeletCpu(
                cpu.cpu, core, first.socket, node, first.socket if uncore is None else uncore
            )


def _uncore_cache(cpu: int, node_size: int, facts: KubeletFacts) -> int | None:
    """The id of the first cache that is not shared by as many CPUs as the NUMA node is taken to
    have.
    """
    for cache in facts.caches:
        if cpu in cache.cpus and len(cache.cpus) != node_size:
            return cache.id
    return None


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
    view = kubelet_topology(topology)
    seen = CpuSet(row.cpu for row in view.cpus)
    if unseen := topology.online - seen:
        yield Deviation("CP362", {"cpus": cpus_text(unseen), "cause": _cause(unseen, topology)})
    if not seen:
        return
    cores = [siblings & seen for siblings in topology.cores.values() if siblings & seen]
    if example := _example(cores, view.cores, "core"):
        yield Deviation(
            "CP360",
            {"cores": counted(len(cores), "core"), "found": len(view.cores), "example": example},
        )
    nodes = [cpus & seen for cpus in topology.numa_nodes.values() if cpus & seen]
    found = groups((row.cpu, row.numa_node) for row in view.cpus)
    if example := _example(nodes, found, "NUMA node"):
        yield Deviation(
            "CP363",
            {"nodes": counted(len(nodes), "NUMA node"), "found": len(found), "example": example},
        )
    caches = [cpus & seen for cpus in topology.uncore_caches.values() if cpus & seen]
    cached = CpuSet(cpu for cpus in caches for cpu in cpus)
    found = groups((row.cpu, row.uncore_cache) for row in view.cpus if row.cpu in cached)
    if example := _example(caches, found, "last-level cache"):
        values = {
            "caches": counted(len(caches), "last-level cache"),
            "found": len(found),
            "example": example,
        }
        yield Deviation("CP361", values)


def _cause(unseen: CpuSet, topology: Topology) -> str:
    if unseen <= topology.kubelet.unlabelled:
        return "does not tell the ids of their cores and sockets"
    if unseen.isdisjoint(topology.kubelet.unlabelled):
        return "puts them in no NUMA node"
    return "puts some in no NUMA node, and does not tell the ids of others"


def _example(kernel: list[CpuSet], kubelet: list[CpuSet], noun: str) -> str:
    """The first group that the kubelet merges of the kernel's, or splits; empty if the groups are
    the same.
    """
    for cpus in kubelet:
        if cpus in kernel:
            continue
        parts = [group for group in kernel if group & cpus]
        if len(parts) > 1:
            return f"it takes {cpus_text(cpus)} for one {noun}, and they are {len(parts)}"
        pieces = sum(1 for group in kubelet if group & parts[0])
        return f"it takes {cpus_text(parts[0])} for {counted(pieces, noun)}, and they are one"
    return ""
