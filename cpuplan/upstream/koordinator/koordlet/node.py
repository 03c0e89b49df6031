"""What koordlet knows of its node."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from cpuplan.upstream.koordinator.annotations.topology import CpuInfo, SharedPool
from cpuplan.upstream.koordinator.annotations.values import Annotations
from cpuplan.upstream.kubelet.bits import bits_of, to_text
from cpuplan.upstream.kubelet.cpu.topology import CPUTopology
from cpuplan.upstream.kubelet.machine import NodeMemory
from cpuplan.upstream.kubelet.pods.pod import Resources

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Node(NamedTuple):
    """The v1 Node; `annotations` are None where the object has no such field."""

    labels: Mapping[str, str] = _NOTHING
    annotations: Annotations | None = None
    capacity: Resources = MappingProxyType({})
    allocatable: Resources = MappingProxyType({})


class Kubelet(NamedTuple):
    """What the kubelet says of its configuration (/configz), defaults included."""

    cpu_manager_policy: str = "none"
    cpu_manager_options: Mapping[str, str] = _NOTHING
    reserved_system_cpus: str = ""
    system_reserved: Mapping[str, str] = _NOTHING
    kube_reserved: Mapping[str, str] = _NOTHING
    topology_policy: str = "none"
    topology_scope: str = "container"


class Machine(NamedTuple):
    """CPUs, and memory by NUMA node."""

    cpus: tuple[CpuInfo, ...]
    memory: tuple[NodeMemory, ...] = ()

    @property
    def all(self) -> int:
        return bits_of(cpu.id for cpu in self.cpus)


def kubelet_topology(cpus: Sequence[CpuInfo]) -> CPUTopology:
    """The topology for koordlet's copy of the kubelet's packed algorithm.

    The copy takes sockets before NUMA nodes on every machine (koordlet/util/kubelet).
    """
    sockets = len({cpu.socket for cpu in cpus})
    return CPUTopology(
        [(cpu.id, cpu.core, cpu.socket, cpu.node, cpu.socket) for cpu in cpus],
        cores=len({cpu.core for cpu in cpus}),
        sockets=sockets,
        numa_nodes=sockets + 1,
        uncore_caches=sockets,
        cpus=len(cpus),
    )


def pools_of(cpus: Iterable[CpuInfo], members: int) -> list[SharedPool]:
    """The CPUs in `members` by NUMA node, in the order of sockets; nodes without one are left out.

    A pool is named after the socket of its lowest CPU.
    """
    nodes: dict[int, int] = {}
    sockets: dict[int, int] = {}
    for cpu in sorted(cpus):
        if members >> cpu.id & 1:
            nodes[cpu.node] = nodes.get(cpu.node, 0) | 1 << cpu.id
            sockets.setdefault(cpu.node, cpu.socket)
    pools = [SharedPool(sockets[node], node, to_text(bits)) for node, bits in nodes.items()]
    return sorted(pools)
