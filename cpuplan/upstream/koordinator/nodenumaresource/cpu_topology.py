"""The CPUs of a node as the scheduler knows them.

Upstream: koordinator-sh/koordinator pkg/scheduler/plugins/nodenumaresource/cpu_topology.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

#: (CPU, core, socket, NUMA node), as in the annotation cpu-topology.
CpuRow = tuple[int, int, int, int]


class Group(NamedTuple):
    """A NUMA node or socket: its CPUs, and those of each of its cores in the order of keys."""

    id: int
    cpus: int
    cores: tuple[int, ...]


class Core(NamedTuple):
    """A core: its CPUs, its key, and what its lowest CPU is a part of."""

    cpus: int
    key: int
    socket: int
    node: int


class CPUTopology:
    """CPUs by core, NUMA node and socket, and how many each has on average.

    Averages are of the whole machine, divided as integers: offline CPUs make them too small. A NUMA
    node in two sockets counts twice, as does a core in two NUMA nodes.
    """

    def __init__(self, rows: Iterable[CpuRow]) -> None:
        # A core is known by its number within its socket.
        listed = [(cpu, socket << 16 | core, socket, node) for cpu, core, socket, node in rows]
        self.rows = {row[0]: row for row in sorted(listed, key=lambda row: row[0])}
        self.num_cpus = len(self.rows)
        self.num_cores = len({row[1:] for row in listed})
        self.num_nodes = len({row[2:] for row in listed})
        self.num_sockets = len({row[2] for row in listed})
        self.cpus_per_core = self.num_cpus // self.num_cores if listed else 0
        self.cpus_per_node = self.num_cpus // self.num_nodes if listed else 0
        self.cpus_per_socket = self.num_cpus // self.num_sockets if listed else 0
        cores, self.in_node, sockets = (self._grouped(column) for column in (1, 3, 2))
        #: In the order of keys.
        self.cores = tuple(self._core(key, cores[key]) for key in sorted(cores))
        self.all = sum(sockets.values())
        self.socket_cpus = {cpu: sockets[row[2]] for cpu, row in self.rows.items()}
        self.nodes, self.sockets = self._groups(self.in_node), self._groups(sockets)

    def _grouped(self, column: int) -> dict[int, int]:
        groups: dict[int, int] = {}
        for row in self.rows.values():
            groups[row[column]] = groups.get(row[column], 0) | 1 << row[0]
        return groups

    def _core(self, key: int, cpus: int) -> Core:
        lowest = (cpus & -cpus).bit_length() - 1
        return Core(cpus, key, *self.rows[lowest][2:])

    def _groups(self, cpus: Mapping[int, int]) -> tuple[Group, ...]:
        groups = []
        for name, members in sorted(cpus.items()):
            cores = tuple(core.cpus for core in self.cores if core.cpus & members)
            groups.append(Group(name, members, cores))
        return tuple(groups)

    @property
    def is_valid(self) -> bool:
        return bool(self.rows)

    def cores_of(self, cpus: int) -> int:
        """All CPUs of the cores that `cpus` touches."""
        return sum(core.cpus for core in self.cores if core.cpus & cpus)

    def nodes_of(self, cpus: int) -> int:
        """All CPUs of the NUMA nodes that `cpus` touches."""
        return sum(node.cpus for node in self.nodes if node.cpus & cpus)

    def node_ids(self, cpus: int) -> list[int]:
        """The NUMA nodes that `cpus` touches; CPUs that the machine lacks count to node 0."""
        names = [node.id for node in self.nodes if node.cpus & cpus]
        return [0, *names] if cpus & ~self.all and 0 not in names else names


@lru_cache(maxsize=64)
def topology_of(rows: tuple[CpuRow, ...]) -> CPUTopology:
    """The topology of a machine, made once."""
    return CPUTopology(rows)
