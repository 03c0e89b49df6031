"""The hardware of a node as cAdvisor reports it (info/v1/machine.go).

Upstream: kubernetes/kubernetes vendor/github.com/google/cadvisor/info/v1/machine.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.pod import HUGEPAGES


class MachineCore(NamedTuple):
    """A core; caches are those that it does not share with its whole NUMA node."""

    id: int
    socket: int
    threads: tuple[int, ...]
    uncore_caches: tuple[int, ...]


class MachineNode(NamedTuple):
    """The cores of a NUMA node."""

    id: int
    cores: tuple[MachineCore, ...]


class NodeMemory(NamedTuple):
    """A NUMA node: its memory in bytes, and (size in KiB, count) of its huge pages."""

    id: int
    memory: int
    hugepages: tuple[tuple[int, int], ...] = ()


def hugepage_name(size_kib: int) -> str:
    """The resource: `hugepages-2Mi`."""
    return f"{HUGEPAGES}{quantity.of(size_kib * 1024, quantity.BINARY)}"


class Machine(NamedTuple):
    """Cores and memory by NUMA node, distances by node, and the version of control groups."""

    nodes: tuple[MachineNode, ...]
    memory: tuple[NodeMemory, ...]
    distances: Mapping[int, Sequence[int]]
    sockets: int
    memory_capacity: int | None = None
    cgroup_v1: bool = False

    @property
    def cpus(self) -> int:
        """The online CPUs, as a set."""
        return sum(1 << cpu for node in self.nodes for core in node.cores for cpu in core.threads)
