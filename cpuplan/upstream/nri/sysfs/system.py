"""A machine as the plugin's other parts see it."""

from collections.abc import Iterable
from typing import NamedTuple

from cpuplan.upstream.kubelet.bits import bits_of, members

P_CORE, E_CORE = "P-core", "E-core"
DRAM, PMEM, HBM = "DRAM", "PMEM", "HBM"
#: The energy preference of a CPU that has none.
EPP_UNKNOWN = 4


class Cache(NamedTuple):
    """A cache; those of one level, type and id are one."""

    level: int
    type: str
    id: int
    cpus: int


class Cpu(NamedTuple):
    """A CPU; an offline one has no threads and no caches."""

    cpu: int
    online: bool
    package: int
    die: int
    cluster: int
    core: int
    node: int
    threads: int
    kind: str
    base_khz: int
    epp: int
    caches: tuple[Cache, ...]

    def caches_of_level(self, level: int) -> list[Cache]:
        return [cache for cache in self.caches if cache.level == level]

    def cache_cpus(self, level: int) -> int:
        """The CPUs behind its caches of a level; its threads if it has no cache at all."""
        if not self.caches:
            return self.threads
        cpus = 0
        for cache in self.caches_of_level(level):
            cpus |= cache.cpus
        return cpus


class Node(NamedTuple):
    """A NUMA node. `package` and `die` are those of the last package that has CPUs on it."""

    node: int
    cpus: int
    memory: int
    memory_type: str
    distances: tuple[int, ...]
    package: int
    die: int


class Package(NamedTuple):
    """A socket: CPUs and nodes of its dies, and its clusters as (die, cluster, CPUs)."""

    package: int
    cpus: int
    die_cpus: dict[int, int]
    die_nodes: dict[int, tuple[int, ...]]
    clusters: tuple[tuple[int, int, int], ...]


class System(NamedTuple):
    """Everything that discovery found; keys ascend."""

    cpus: dict[int, Cpu]
    packages: dict[int, Package]
    nodes: dict[int, Node]
    online: int
    offline: int
    isolated: int
    kinds: dict[str, int]

    @property
    def all_cpus(self) -> int:
        return bits_of(self.cpus)

    def threads_of(self, cpus: int) -> int:
        """The given CPUs with all threads of their cores."""
        return _union(self.cpus[cpu].threads for cpu in members(cpus) if cpu in self.cpus)

    def sharing_cache(self, level: int, cpus: int) -> int:
        """All CPUs that share caches of a level with the given ones."""
        known = (self.cpus[cpu] for cpu in members(cpus) if cpu in self.cpus)
        return _union(cpu.cache_cpus(level) for cpu in known)

    def single_threads(self, cpus: int) -> int:
        """Of each core the lowest of the given CPUs."""
        single = handled = 0
        for cpu in members(cpus):
            if not handled >> cpu & 1:
                single |= 1 << cpu
                handled |= self.cpus[cpu].threads
        return single


def _union(sets: Iterable[int]) -> int:
    together = 0
    for cpus in sets:
        together |= cpus
    return together
