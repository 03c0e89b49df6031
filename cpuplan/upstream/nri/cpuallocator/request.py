"""A request for CPUs while it is being met."""

from dataclasses import dataclass
from typing import NamedTuple

from cpuplan.upstream.nri.cpuallocator import priorities
from cpuplan.upstream.nri.cpuallocator.groups import CacheGroup, Cluster
from cpuplan.upstream.nri.cpuallocator.priorities import LOW, Priorities
from cpuplan.upstream.nri.sysfs.system import E_CORE, P_CORE, System


class Topology(NamedTuple):
    """What the allocator knows of a machine."""

    system: System
    priorities: Priorities
    clusters: tuple[Cluster, ...]
    cache_groups: tuple[CacheGroup, ...]

    @property
    def is_hybrid(self) -> bool:
        return len(self.system.kinds) > 1


@dataclass(slots=True)
class Request:
    """`count` more CPUs of class `wish` are wanted from `free`; `taken` are those so far."""

    topology: Topology
    wish: int
    free: int
    count: int
    taken: int = 0

    def take(self, cpus: int) -> None:
        self.taken |= cpus
        self.free &= ~cpus
        self.count -= cpus.bit_count()

    def prefers(self, cpus: int, others: int, count: int) -> int:
        """Positive if `cpus` suit the wish better than `others` (Priorities, compare)."""
        return priorities.compare(self.topology.priorities, cpus, others, self.wish, count)

    def accepts(self, kind: str) -> bool:
        """Whether groups of this kind of core are taken: on hybrid machines E only for low."""
        if not self.topology.is_hybrid:
            return True
        return kind != (P_CORE if self.wish == LOW else E_CORE)
