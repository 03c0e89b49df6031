"""How well a pool suits a request, and which of two pools suits it better (compareScores)."""

from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.upstream.nri.cpuallocator.priorities import HIGH, LOW
from cpuplan.upstream.nri.cpuallocator.priorities import NORMAL as NORMAL_PRIORITY
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.libmem.allocator import Offer
from cpuplan.upstream.nri.libmem.requests import PRIORITIES
from cpuplan.upstream.nri.sysfs.system import E_CORE, P_CORE
from cpuplan.upstream.nri.topologyaware.pool import LEVEL_OF, Pool
from cpuplan.upstream.nri.topologyaware.requests import UNLIMITED, Request
from cpuplan.upstream.nri.topologyaware.state import State

_DILUTION = 0.75
_ALL_TYPES = 0b111


class Score(NamedTuple):
    """What a pool would have left; `capacity` by class of CPU. Negative: it does not suffice."""

    pool: Pool
    isolated: int
    shared: int
    burstable: int
    capacity: tuple[int, int, int]
    containers: int
    affinity: float
    memory: Offer | None
    memory_capacity: int


def score(state: State, request: Request, pool: Pool, affinities: Mapping[int, int]) -> Score:
    """The score of a request for CPUs that are not reserved."""
    full, part = request.full, request.fraction
    if not full and not part:
        part = 1
    burstable = shared = state.allocatable_shared(pool)
    isolated = pool.free_isolated.bit_count() - full if request.isolate else 0
    if not request.isolate or isolated < 0:
        shared -= 1000 * full
    wanted = 1000 * full + part
    capacity = [1000 * (cpus & pool.free_sharable).bit_count() - wanted for cpus in _classes(state)]
    types = request.memory_types if request.memory_types is not None else 0
    return Score(
        pool,
        isolated,
        shared - part,
        burstable,
        (capacity[0], capacity[1], capacity[2]),
        sum(1 for grant in state.on(pool) if grant.cpu_type == request.cpu_type),
        _affinity(affinities, pool),
        offer(state, request, pool if request.memory_types is not None else state.root),
        state.memory.capacity(pool.nodes(types)),
    )


def offer(state: State, request: Request, pool: Pool) -> Offer | None:
    """The memory of a pool for a request, None if there is not enough."""
    try:
        return offered(state, request, pool)
    except NriError:
        return None


def offered(state: State, request: Request, pool: Pool) -> Offer:
    """The memory of a pool for a request; NriError if there is not enough."""
    if request.memory_types is None:
        nodes = pool.nodes(_ALL_TYPES)
        types = state.memory.types_of(nodes)
    else:
        types = request.memory_types
        nodes = pool.nodes(types)
    container = request.container
    priority = PRIORITIES.get(container.pod.qos, 0)
    return state.memory.offer(container.full_name, request.memory, nodes, types, priority)


def _classes(state: State) -> tuple[int, int, int]:
    """The CPUs of high, normal and low priority; on hybrid machines by kind of core."""
    known, kinds = state.topology.priorities, state.system.kinds
    return kinds.get(P_CORE) or known.high, known.normal, kinds.get(E_CORE) or known.low


def _affinity(affinities: Mapping[int, int], pool: Pool) -> float:
    """Of everything above and below, the less the further away it is."""
    total = 0.0
    for distance, above in enumerate(pool.ancestors(), 1):
        total += _DILUTION**distance * affinities.get(above.number, 0)
    for below in pool.subtree():
        total += _DILUTION ** (below.depth - pool.depth) * affinities.get(below.number, 0)
    return total


class Comparison(NamedTuple):
    """Whether one pool comes before another. It is not an order: two may both come first."""

    state: State
    request: Request

    def less(self, left: Score, right: Score) -> bool:
        """Earlier rules decide."""
        rules = (
            self._capacity,
            self._affinities,
            self._memory_offer,
            self._burstability,
            self._tight_memory,
            self._memory_type,
            self._extreme_classes,
            self._depth,
            self._amounts,
        )
        for rule in rules:
            decided = rule(left, right)
            if decided is not None:
                return decided
        return left.pool.number < right.pool.number

    def _capacity(self, left: Score, right: Score) -> bool | None:
        if (right.isolated < 0 <= left.isolated) or (right.shared < 0 <= left.shared):
            return True
        if (left.isolated < 0 <= right.isolated) or (left.shared < 0 <= right.shared):
            return False
        return None

    def _affinities(self, left: Score, right: Score) -> bool | None:
        return _more(left.affinity, right.affinity)

    def _memory_offer(self, left: Score, right: Score) -> bool | None:
        if left.memory is None or right.memory is None:
            return _only(left.memory is not None, right.memory is not None)
        types = self.request.memory_types
        kinds = (
            self.state.memory.types_of(mem.zone) == types for mem in (left.memory, right.memory)
        )
        decided = _only(*kinds)
        if decided is not None:
            return decided
        wish, limit = self.request.memory, self.request.container.memory
        if wish == limit:
            return None
        if limit:
            return _only(left.memory_capacity >= limit, right.memory_capacity >= limit)
        return _more(left.memory_capacity, right.memory_capacity)

    def _burstability(self, left: Score, right: Score) -> bool | None:
        if self.request.container.pod.qos != "Burstable":
            return None
        limit = self.request.limit
        if limit != UNLIMITED:
            return _only(left.burstable >= limit, right.burstable >= limit)
        target = self.state.burstable_level
        levels = left.pool.level, right.pool.level
        decided = _only(*(level == target for level in levels))
        if decided is not None:
            return decided
        if levels[0] == target:
            decided = _more(left.burstable, right.burstable)
            return left.pool.number < right.pool.number if decided is None else decided
        if min(levels) < target < max(levels):
            return True
        return left.pool.number < right.pool.number

    def _tight_memory(self, left: Score, right: Score) -> bool | None:
        if left.memory is None or right.memory is None:
            return None
        return _more(right.memory.zone.bit_count(), left.memory.zone.bit_count())

    def _memory_type(self, left: Score, right: Score) -> bool | None:
        types = self.request.memory_types
        if not types:
            return None
        has = (types & _types_of(score.pool) == types for score in (left, right))
        return _only(*has)

    def _extreme_classes(self, left: Score, right: Score) -> bool | None:
        priority = self.request.priority
        return _class(left, right, priority) if priority in (HIGH, LOW) else None

    def _depth(self, left: Score, right: Score) -> bool | None:
        return _more(left.pool.depth, right.pool.depth)

    def _amounts(self, left: Score, right: Score) -> bool | None:
        lower = left.pool.number < right.pool.number
        if self.request.isolate and (left.isolated > 0 or right.isolated > 0):
            decided = _more(left.isolated, right.isolated)
            return lower if decided is None else decided
        if self.request.priority == NORMAL_PRIORITY:
            decided = _class(left, right, NORMAL_PRIORITY)
            if decided is not None:
                return decided
        if self.request.full and (left.shared > 0 or right.shared > 0):
            decided = _more(left.shared, right.shared)
            return lower if decided is None else decided
        decided = _more(right.containers, left.containers)
        return _more(left.shared, right.shared) if decided is None else decided


def _more(left: float, right: float) -> bool | None:
    return None if left == right else left > right


def _only(left: bool, right: bool) -> bool | None:
    return None if left == right else left


def _class(left: Score, right: Score, priority: int) -> bool | None:
    return _only(left.capacity[priority] >= 0, right.capacity[priority] >= 0)


def _types_of(pool: Pool) -> int:
    return sum(1 << index for index, nodes in enumerate(pool.memory.values()) if nodes)


def existing_level(pools: list[Pool], level: int) -> int:
    """The level of the first pool at that level or above it; `package` if there is none."""
    levels = (pool.level for pool in pools)
    return next((own for own in levels if own <= level), LEVEL_OF["socket"])
