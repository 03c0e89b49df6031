"""The machine as the CPU manager sees it (pkg/kubelet/cm/cpumanager/topology/topology.go).

Upstream: kubernetes/kubernetes pkg/kubelet/cm/cpumanager/topology/topology.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from cpuplan.upstream.kubelet.machine import MachineNode
from cpuplan.upstream.kubernetes.errors import KubeletError

#: A set of CPUs that has a name: the id of a core, socket, NUMA node or uncore cache.
Element = tuple[int, int]


class CpuRow(NamedTuple):
    """A logical CPU and the ids of what it belongs to."""

    cpu: int
    core: int
    socket: int
    numa_node: int
    uncore_cache: int


class Hierarchy(NamedTuple):
    """The levels of the packed allocator: first, second below each first, cores below second."""

    numa_first: bool
    first: tuple[Element, ...]
    second: dict[int, tuple[Element, ...]]
    cores: dict[int, tuple[Element, ...]]


class CPUTopology:
    """CPUs by core, socket, NUMA node and uncore cache, and the counts that averages use.

    The counts are given, not counted: cadvisor has its own ways to find them, and the kubelet
    divides by what it says.
    """

    def __init__(
        self,
        rows: Iterable[Sequence[int]],
        *,
        cores: int,
        sockets: int,
        numa_nodes: int,
        uncore_caches: int,
        cpus: int,
    ) -> None:
        self.rows = tuple(sorted(CpuRow(*row) for row in rows))
        self.num_cpus, self.num_cores, self.num_sockets = cpus, cores, sockets
        self.num_numa_nodes, self.num_uncore_caches = numa_nodes, uncore_caches
        self.cores, self.sockets = self._grouped(1), self._grouped(2)
        self.numa_nodes, self.uncore_caches = self._grouped(3), self._grouped(4)
        self.all = sum(self.numa_nodes.values())
        self.cpus_per_core = cpus // cores if cores else 0
        self.cpus_per_socket = cpus // sockets if sockets else 0
        self.cpus_per_uncore_cache = cpus // uncore_caches if uncore_caches else 0

    def _grouped(self, column: int) -> dict[int, int]:
        groups: dict[int, int] = {}
        for row in self.rows:
            groups[row[column]] = groups.get(row[column], 0) | 1 << row[0]
        return dict(sorted(groups.items()))

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """NUMA nodes above sockets where there are at least as many sockets, else below them."""
        numa_first = self.num_sockets >= self.num_numa_nodes
        first, second = (
            (self.numa_nodes, self.sockets) if numa_first else (self.sockets, self.numa_nodes)
        )
        return Hierarchy(
            numa_first, tuple(first.items()), _below(first, second), _below(second, self.cores)
        )

    @cached_property
    def uncore_in_numa(self) -> dict[int, tuple[Element, ...]]:
        """The uncore caches that have CPUs in each NUMA node."""
        return _below(self.numa_nodes, self.uncore_caches)

    def in_numa_nodes(self, nodes: int) -> int:
        """All CPUs of the NUMA nodes in the mask `nodes`."""
        return sum(cpus for node, cpus in self.numa_nodes.items() if nodes >> node & 1)

    def sockets_of(self, nodes: int) -> list[int]:
        """The sockets that have CPUs in the NUMA nodes of a mask."""
        cpus = self.in_numa_nodes(nodes)
        return [socket for socket, there in self.sockets.items() if there & cpus]

    def siblings_of(self, cpus: int) -> int:
        """All CPUs of the cores that `cpus` touches."""
        return sum(core for core in self.cores.values() if core & cpus)


def _below(
    parents: Mapping[int, int], children: Mapping[int, int]
) -> dict[int, tuple[Element, ...]]:
    below = {}
    for parent, cpus in parents.items():
        below[parent] = tuple(child for child in children.items() if child[1] & cpus)
    return below


@lru_cache(maxsize=64)
def discover(nodes: tuple[MachineNode, ...], num_cpus: int, num_sockets: int) -> CPUTopology:
    """The CPU manager's view of the machine (topology.Discover).

    A core is known by its lowest thread. A core without uncore cache gets the id of its socket,
    which the cache of another node can have too.

    `num_cpus` is cadvisor's NumCores, which counts threads. KubeletError when a core has no threads
    or one twice.
    """
    if num_cpus == 0:
        raise KubeletError("could not detect number of cpus")
    rows: dict[int, CpuRow] = {}
    cores = 0
    for node in nodes:
        cores += len(node.cores)
        for core in node.cores:
            name = _core_name(core.threads)
            uncore = core.uncore_caches[0] if core.uncore_caches else core.socket
            rows.update(
                (cpu, CpuRow(cpu, name, core.socket, node.id, uncore)) for cpu in core.threads
            )
    return CPUTopology(
        rows.values(),
        cpus=num_cpus,
        cores=cores,
        sockets=num_sockets,
        numa_nodes=len({row.numa_node for row in rows.values()}),
        uncore_caches=len({row.uncore_cache for row in rows.values()}),
    )


def _core_name(threads: Sequence[int]) -> int:
    if not threads:
        raise KubeletError("no cpus provided")
    if len(set(threads)) != len(threads):
        raise KubeletError("cpus provided are not unique")
    return min(threads)
