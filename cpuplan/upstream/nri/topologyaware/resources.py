"""Grants and what pools have left of CPUs and memory, and how the policy prints both.

Upstream: containers/nri-plugins cmd/plugins/topology-aware/policy/resources.go
  pkg/kubernetes/cpuset.go @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from cpuplan.upstream.kubernetes.bits import members, to_text
from cpuplan.upstream.nri import cpuallocator
from cpuplan.upstream.nri.cpuallocator import NONE, Topology, allocate
from cpuplan.upstream.nri.libmem import Allocator, Mask
from cpuplan.upstream.nri.pods import Container
from cpuplan.upstream.nri.system import System
from cpuplan.upstream.nri.topologyaware.config import Config
from cpuplan.upstream.nri.topologyaware.node import Pool
from cpuplan.upstream.nri.topologyaware.pod_preferences import NORMAL, RESERVED, Request


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


_UNITS = ((1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "k"))


def request_text(request: Request) -> str:
    """A request with its memory."""
    container = request.container
    limit, amount = _memory(container.memory), _memory(container.memory_request)
    memory = f"<Memory request: limit: {limit}, req: {amount}>"
    head = f"{cpuallocator.PRIORITY_NAMES[request.priority]} CPU request {container.full_name}"
    isolated = "isolated " if request.isolate else ""
    if not request.full and not request.fraction:
        return f"<{head}: none> {memory}"
    if request.full and request.fraction:
        cpus = f"{isolated}exclusive: {request.full}, shared: {request.fraction}"
        return f"<{head}: {cpus}>{memory}"
    if request.full:
        return f"<{head}: {isolated}exclusive: {request.full}> {memory}"
    return f"<{head}: shared {request.fraction}> {memory}"


def allocatable_text(state: State, pool: Pool) -> str:
    """What a pool has left."""
    cpu = _cpu_text(state, pool)
    nodes = pool.nodes(0b111)
    free = state.memory.free(nodes)
    parts = [f"CPU: {cpu}"] if cpu else []
    if free > 0:
        parts.append(f"MemLimit: {_memory(free)}")
    return f"<{pool.name} allocatable: {', '.join(parts) or '-'}>"


def _cpu_text(state: State, pool: Pool) -> str:
    text = separator = ""
    if pool.free_isolated:
        text, separator = f"isolated:{short_set(pool.free_isolated)}", ", "
    if pool.reserved:
        left = pool.allocatable_reserved()
        text += f"{separator}reserved:{short_set(pool.reserved)} (allocatable: {left}m)"
        separator = ", "
        if pool.granted_reserved > 0:
            text += f", grantedReserved:{pool.granted_reserved}m"
    if pool.free_sharable:
        sliceable = state.sliceable(pool)
        granted = _granted_text(pool)
        text += (
            f"{separator}sharable:{short_set(pool.free_sharable)} ({granted}"
            f"allocatable:{state.allocatable_shared(pool)}m)"
            f"/sliceable:{short_set(sliceable)} ({1000 * sliceable.bit_count()}m)"
        )
    return text


def _granted_text(pool: Pool) -> str:
    """What is granted here and below; the separator of the first is that of both."""
    own, total = pool.granted_shared, pool.subtree_granted()
    if own <= 0 and total <= 0:
        return ""
    amounts = [f"{amount}m" for amount in (own, total) if amount > 0]
    kinds = [kind for kind, amount in (("local", own), ("subtree", total)) if amount > 0]
    return f"grantedShared:{'/'.join(amounts)} {'/'.join(kinds)}, "


def short_set(cpus: int) -> str:
    """A CPU list in which single CPUs at equal distances are a range with a step (ShortCPUSet)."""
    if not cpus:
        return ""
    parts: list[str] = []
    singles: list[int] = []
    for part in to_text(cpus).split(","):
        if "-" in part:
            parts.append(part)
            continue
        cpu = int(part)
        if len(singles) >= 2 and cpu - singles[-1] != singles[1] - singles[0]:
            parts.append(_steps(singles))
            singles = []
        singles.append(cpu)
    return ",".join([*parts, *([_steps(singles)] if singles else [])])


def _steps(singles: list[int]) -> str:
    first, last = singles[0], singles[-1]
    if len(singles) == 1:
        return f"{first}"
    step = singles[1] - first
    if step == 1:
        return f"{first}-{last}"
    return f"{first},{last}" if len(singles) == 2 else f"{first}-{last}:{step}"


def struct_text(cpus: int) -> str:
    """A CPU set printed as a number, which shows what it is made of."""
    return f"{{map[{' '.join(f'{cpu}:{{}}' for cpu in members(cpus))}]}}"


def _memory(amount: int) -> str:
    for size, unit in _UNITS:
        if amount >= size:
            return f"{amount / size:.2f}{unit}"
    return f"{amount:.2f}"
