"""What the policy keeps: pools, grants, and the memory of both."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from cpuplan.upstream.nri.common.pods import Container
from cpuplan.upstream.nri.cpuallocator.allocator import allocate
from cpuplan.upstream.nri.cpuallocator.priorities import NONE
from cpuplan.upstream.nri.cpuallocator.request import Topology
from cpuplan.upstream.nri.libmem.allocator import Allocator
from cpuplan.upstream.nri.libmem.nodes import Mask
from cpuplan.upstream.nri.sysfs.system import System
from cpuplan.upstream.nri.topologyaware.config import Config
from cpuplan.upstream.nri.topologyaware.pool import Pool
from cpuplan.upstream.nri.topologyaware.requests import NORMAL, RESERVED


@dataclass(slots=True, eq=False)
class Grant:
    """What a container has of a pool: exclusive CPUs, and `portion` thousandths of its type."""

    container: Container
    pool: Pool
    cpu_type: str
    exclusive: int
    portion: int = 0
    memory_types: Mask | None = 0
    memory: int = 0
    zone: Mask = 0

    @property
    def shared_portion(self) -> int:
        return self.portion if self.cpu_type == NORMAL else 0

    @property
    def reserved_portion(self) -> int:
        return self.portion if self.cpu_type == RESERVED else 0

    @property
    def isolated(self) -> int:
        return self.exclusive & self.pool.isolated


@dataclass(slots=True)
class State:
    """Pools in the order of their numbers; grants by container, oldest first."""

    topology: Topology
    memory: Allocator
    config: Config
    pools: list[Pool]
    burstable_level: int
    grants: dict[str, Grant] = field(default_factory=dict)

    @property
    def system(self) -> System:
        return self.topology.system

    @property
    def root(self) -> Pool:
        return self.pools[-1]

    def on(self, pool: Pool) -> Iterator[Grant]:
        return (grant for grant in self.grants.values() if grant.pool is pool)

    def allocatable_shared(self, pool: Pool) -> int:
        """What no pool above has promised either; 1 less if something asks for nothing."""
        chain = (pool, *pool.ancestors())
        free = min(
            1000 * above.free_sharable.bit_count() - above.subtree_granted() for above in chain
        )
        return free - any(self.has_zero_request(below) for below in pool.subtree())

    def has_zero_request(self, pool: Pool) -> bool:
        """Whether a container of the pool asks for no CPU."""
        for grant in self.on(pool):
            qos = grant.container.pod.qos
            if grant.cpu_type == RESERVED and pool.reserved:
                continue
            if qos == "BestEffort" or (qos == "Burstable" and not grant.container.request):
                return True
        return False

    def sliceable(self, pool: Pool) -> int:
        """The shared CPUs that can become exclusive.

        Every pool below, not only the leaves, offers what it has not promised: so what a leaf
        keeps back may come from the pool above it.
        """
        cpus = 0
        for below in pool.subtree():
            if below is not pool or not pool.children:
                free = int(self.allocatable_shared(below) / 1000)
                cpus |= allocate(self.topology, below.free_sharable, free, NONE)[0]
        return cpus
