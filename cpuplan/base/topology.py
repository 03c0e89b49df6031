"""The machine: its CPUs, and the sets of them that are asked for.

Identity follows the kernel's sibling and sharing sets, never its ids, which repeat and have gaps: a
core is its sibling set, a cache domain its set of CPUs, and both are named by their lowest CPU.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, union

#: Labels that the machine's files do not contain.
UNKNOWN = -1
#: The highest number of a NUMA node: kernels can be built for 1 << 10 nodes (CONFIG_NODES_SHIFT of
#: x86 and arm64 is at most 10; include/linux/numa.h, MAX_NUMNODES). What has a place for each node,
#: such as a row of distances, is never longer.
MAX_NUMA_NODE = (1 << 10) - 1


class Cpu(NamedTuple):
    """One online logical CPU (hardware thread)."""

    cpu: int
    core: int  # the lowest CPU of its siblings
    socket: int  # physical_package_id
    die: int
    numa_node: int
    uncore_cache: int  # the lowest CPU of its last-level cache domain; UNKNOWN without one
    core_id: int  # the kernel's label of the core, unique at most within a socket
    core_type: str = ""
    # the lowest CPU of the cores that share an L2 cache or snoop filter; `core` if none do
    cluster: int = UNKNOWN


class NumaNodeFacts(NamedTuple):
    """Memory of a NUMA node in bytes, and its row of the distance matrix, by node in order."""

    numa_node: int
    memory: int | None = None
    distances: tuple[int, ...] = ()


class SharedCache(NamedTuple):
    """A cache beyond level 2: the online CPUs that share it, and the kernel's id if known."""

    level: int
    cpus: CpuSet
    id: int | None = None


class KubeletFacts(NamedTuple):
    """What the kubelet reads of a machine beside its groups of CPUs; see `machineinfo`."""

    caches: tuple[SharedCache, ...] = ()  # by level and lowest CPU
    unread_caches: CpuSet = EMPTY  # CPUs whose caches it cannot read
    # CPUs that it leaves out, as an id of their core or socket is unknown
    unlabelled: CpuSet = EMPTY
    # by the links in sysfs, where they differ from the nodes' lists
    numa_nodes: dict[int, CpuSet] | None = None
    no_numa_nodes: bool = False  # the kernel lists none
    sockets: int | None = None  # of /proc/cpuinfo, where they are not those of sysfs
    places: dict[int, tuple[int, int]] = {}


class Topology:
    """All CPUs of a machine that are present, and which of them are online. Does not change."""

    def __init__(
        self,
        cpus: Iterable[Cpu],
        numa_nodes: Iterable[NumaNodeFacts] = (),
        offline: CpuSet = EMPTY,
        kubelet: KubeletFacts = KubeletFacts(),  # noqa: B008 - a tuple
    ) -> None:
        self.cpus: tuple[Cpu, ...] = tuple(sorted(cpus))
        self.offline = offline
        self.kubelet = kubelet
        facts = {facts.numa_node: facts for facts in numa_nodes}
        for cpu in self.cpus:
            facts.setdefault(cpu.numa_node, NumaNodeFacts(cpu.numa_node))
        self.numa_facts: dict[int, NumaNodeFacts] = dict(sorted(facts.items()))
        self.online = CpuSet(cpu.cpu for cpu in self.cpus)
        self._by_cpu = {cpu.cpu: cpu for cpu in self.cpus}

    def __getitem__(self, cpu: int) -> Cpu:
        return self._by_cpu[cpu]

    @cached_property
    def cores(self) -> dict[int, CpuSet]:
        """Online siblings by core, cores ascending by lowest CPU."""
        return self._grouped(lambda cpu: cpu.core)

    @cached_property
    def sockets(self) -> dict[int, CpuSet]:
        """CPUs by socket, ascending by the kernel's id."""
        return self._grouped(lambda cpu: cpu.socket)

    @cached_property
    def numa_nodes(self) -> dict[int, CpuSet]:
        """CPUs by NUMA node, nodes without CPUs left out."""
        return self._grouped(lambda cpu: cpu.numa_node)

    @cached_property
    def dies(self) -> dict[int, CpuSet]:
        """CPUs by the kernel's id of their die, which counts from 0 in each socket; ascending."""
        return self._grouped(lambda cpu: cpu.die)

    @cached_property
    def uncore_caches(self) -> dict[int, CpuSet]:
        """CPUs by last-level cache domain; empty if the machine reports none."""
        return {
            cache: cpus
            for cache, cpus in self._grouped(lambda cpu: cpu.uncore_cache).items()
            if cache != UNKNOWN
        }

    @cached_property
    def threads_per_core(self) -> int:
        """Hardware threads of the widest core."""
        return max((len(siblings) for siblings in self.cores.values()), default=1)

    def siblings(self, cpu: int) -> CpuSet:
        """The online CPUs of the core that `cpu` belongs to, itself included."""
        return self.cores[self._by_cpu[cpu].core]

    def whole_cores(self, cpus: CpuSet) -> CpuSet:
        """The CPUs of all cores that `cpus` touches."""
        touched = {self._by_cpu[cpu].core for cpu in cpus & self.online}
        return union(self.cores[core] for core in touched)

    def split_cores(self, cpus: CpuSet) -> list[CpuSet]:
        """The cores of which `cpus` holds some threads and not others."""
        bits = cpus.bits
        return [
            siblings
            for siblings in self.cores.values()
            if 0 != siblings.bits & bits != siblings.bits
        ]

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all that a layout depends on: equal for machines that solve alike."""
        import hashlib

        text = repr((self.cpus, tuple(self.numa_facts.values()), str(self.offline)))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _grouped(self, key: Callable[[Cpu], int]) -> dict[int, CpuSet]:
        groups: dict[int, int] = {}
        for cpu in self.cpus:
            name = key(cpu)
            groups[name] = groups.get(name, 0) | 1 << cpu.cpu
        return {name: CpuSet.from_bits(groups[name]) for name in sorted(groups)}
