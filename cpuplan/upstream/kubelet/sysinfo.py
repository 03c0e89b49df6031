"""The machine as cAdvisor reports it to the kubelet, which is not always as the kernel does.

cAdvisor walks the NUMA nodes' links to CPUs and makes cores of equal ids (utils/sysinfo/sysinfo.go,
GetNodesInfo); the kubelet takes its cores, sockets and uncore caches from there
(pkg/kubelet/cm/cpumanager/topology, Discover). Read at cAdvisor 0.56 and Kubernetes 1.36.

Upstream: kubernetes/kubernetes vendor/github.com/google/cadvisor/utils/sysinfo/sysinfo.go
  vendor/github.com/google/cadvisor/machine/machine.go
  pkg/kubelet/cm/cpumanager/topology/topology.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import UNKNOWN, Cpu, KubeletFacts, SharedCache, Topology
from cpuplan.upstream.kubelet.cpumanager.topology import CpuRow, CPUTopology, discover
from cpuplan.upstream.kubelet.machine import Machine, MachineCore, MachineNode, NodeMemory
from cpuplan.upstream.kubernetes.errors import KubeletError

#: The memory of each NUMA node if the inventory has none: it then limits no pod.
ASSUMED_MEMORY = 1 << 40
#: Distances if the inventory has none.
_NEAR, _FAR = 10, 20


def cpu_topology(topology: Topology) -> CPUTopology:
    """What the CPU manager works with; KubeletError where it finds no CPUs."""
    nodes = machine_nodes(topology)
    return discover(nodes, number_of_cpus(topology, nodes), number_of_sockets(topology))


def number_of_cpus(topology: Topology, nodes: Iterable[MachineNode]) -> int:
    """Threads of all cores; without NUMA nodes cAdvisor counts the folders of CPUs instead."""
    if topology.kubelet.no_numa_nodes:
        return len(topology.online | topology.offline)
    return sum(len(core.threads) for node in nodes for core in node.cores)


def number_of_sockets(topology: Topology) -> int:
    """Sockets of /proc/cpuinfo, or else of sysfs."""
    sockets = topology.kubelet.sockets
    return len(topology.sockets) if sockets is None else sockets


@lru_cache(maxsize=64)
def machine_nodes(topology: Topology) -> tuple[MachineNode, ...]:
    """NUMA nodes in the order of their folders' names: node0, node1, node10, node2.

    Where the kernel has none, cAdvisor makes a node of each package.
    """
    facts = topology.kubelet
    cpus = _cpus_by_node(topology)
    numbers = set(cpus)
    if not facts.no_numa_nodes:
        numbers |= {number for number in topology.numa_facts if number != UNKNOWN}
    return tuple(
        MachineNode(number, tuple(_cores(cpus.get(number, ()), facts)))
        for number in sorted(numbers, key=str)
    )


def _cpus_by_node(topology: Topology) -> dict[int, list[Cpu]]:
    """The CPUs that cAdvisor sees by NUMA node, in the order of their folders' names."""
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


def _cores(cpus: Iterable[Cpu], facts: KubeletFacts) -> Iterator[MachineCore]:
    """The cores of a NUMA node: CPUs with one core id and package id; on s390x also one drawer.

    At the first core whose caches cAdvisor cannot read, it stops reading those of the node.
    """
    cores: dict[tuple[object, ...], list[Cpu]] = {}
    for cpu in cpus:
        cores.setdefault((cpu.core_id, cpu.socket, facts.places.get(cpu.cpu)), []).append(cpu)
    readable = True
    for threads in cores.values():
        first = threads[0]
        readable = readable and first.cpu not in facts.unread_caches
        caches = _uncore_caches(first.cpu, len(cores) * len(threads), facts) if readable else ()
        yield MachineCore(first.core_id, first.socket, tuple(cpu.cpu for cpu in threads), caches)


def _uncore_caches(cpu: int, node_size: int, facts: KubeletFacts) -> tuple[int, ...]:
    """The ids of the caches that the CPUs of the NUMA node do not all share.

    cAdvisor takes (cores of the node) x (threads of this core) for the number of these CPUs:
    offline threads turn node caches into uncore caches.
    """
    ids = [cache.id for cache in facts.caches if cpu in cache.cpus and len(cache.cpus) != node_size]
    return tuple(number for number in ids if number is not None) if ids[:1] != [None] else ()


def without(topology: Topology, cpus: CpuSet) -> Topology:
    """The machine when `cpus` are switched off."""
    if not cpus & topology.online:
        return topology
    left = [cpu for cpu in topology.cpus if cpu.cpu not in cpus]
    first = {cpu.core: cpu.cpu for cpu in reversed(left)}
    facts = topology.kubelet
    caches = (
        SharedCache(cache.level, cache.cpus - cpus, cache.id)
        for cache in facts.caches
        if cache.cpus - cpus
    )
    numa_nodes = facts.numa_nodes and {
        node: members - cpus for node, members in facts.numa_nodes.items()
    }
    return Topology(
        [cpu._replace(core=first[cpu.core]) for cpu in left],
        topology.numa_facts.values(),
        topology.offline | (cpus & topology.online),
        KubeletFacts(
            tuple(caches),
            facts.unread_caches - cpus,
            facts.unlabelled - cpus,
            numa_nodes,
            facts.no_numa_nodes,
            _sockets_left(facts, topology.cpus, left),
            facts.places,
        ),
    )


def _sockets_left(facts: KubeletFacts, before: Iterable[Cpu], left: Iterable[Cpu]) -> int | None:
    """/proc/cpuinfo has online CPUs only: a socket without any is not counted."""
    if facts.sockets is None:
        return None
    return facts.sockets - len({cpu.socket for cpu in before} - {cpu.socket for cpu in left})


def machine_of(
    topology: Topology, pages: Mapping[int, tuple[tuple[int, int], ...]] = MappingProxyType({})
) -> Machine:
    """The machine as cAdvisor reports it; `pages` are (size in KiB, count) by NUMA node."""
    nodes = machine_nodes(topology)
    numbers = sorted(node.id for node in nodes)
    memory = tuple(
        NodeMemory(node, _memory(topology, node), pages.get(node, ())) for node in numbers
    )
    return Machine(nodes, memory, _distances(topology, numbers), number_of_sockets(topology))


def _memory(topology: Topology, node: int) -> int:
    """The bytes of a NUMA node: none if only other nodes of the inventory have memory."""
    facts = topology.numa_facts
    told = facts[node].memory if node in facts else None
    if told is None and not any(other.memory for other in facts.values()):
        return ASSUMED_MEMORY
    return told or 0


def assumes_memory(topology: Topology) -> bool:
    """Whether the inventory has no memory."""
    return not any(facts.memory for facts in topology.numa_facts.values())


def _distances(topology: Topology, numbers: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """A row for each node.

    A row of the inventory has a place for each online node, whatever its number.
    """
    rows = {}
    highest = max(numbers, default=0)
    for node in numbers:
        told = topology.numa_facts[node].distances if node in topology.numa_facts else ()
        rows[node] = told or tuple(_NEAR if other == node else _FAR for other in range(highest + 1))
    return rows


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
