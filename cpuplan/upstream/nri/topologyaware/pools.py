"""Building the tree of pools, choosing one for a container, and taking CPUs and memory of it.

compareScores is not an order: two pools may both come first, so Go's sort.Slice matters.

Upstream: containers/nri-plugins cmd/plugins/topology-aware/policy/pools.go
  cmd/plugins/topology-aware/policy/resources.go cmd/plugins/topology-aware/policy/libmem.go
  cmd/plugins/topology-aware/policy/affinity.go @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cmp_to_key
from typing import NamedTuple, TypeVar

from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.strconv import quote
from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.cpuallocator import HIGH, LOW, allocate
from cpuplan.upstream.nri.cpuallocator import NORMAL as NORMAL_PRIORITY
from cpuplan.upstream.nri.libmem import PRIORITIES, Mask, Offer
from cpuplan.upstream.nri.pods import HIDE_HYPERTHREADS, Container, shares_of
from cpuplan.upstream.nri.system import DRAM, E_CORE, HBM, P_CORE, PMEM, Node, Package, System
from cpuplan.upstream.nri.topologyaware.node import DIE, L3, LEVEL_OF, NUMA, ROOT, SOCKET, Pool
from cpuplan.upstream.nri.topologyaware.pod_preferences import (
    NORMAL,
    PRESERVE,
    RESERVED,
    UNLIMITED,
    Request,
    request_of,
    requires_isolated,
)
from cpuplan.upstream.nri.topologyaware.resources import (
    Grant,
    State,
    allocatable_text,
    request_text,
    struct_text,
)


def pin(state: State, grant: Grant) -> None:
    """Tell a container its CPUs and memory nodes.

    A container whose CPUs are left alone gets the least shares, whatever it asked for; one on
    reserved CPUs gets those of what its grant still knows of them.
    """
    container = grant.container
    if state.config.pin_cpu:
        if grant.cpu_type != PRESERVE:
            _tell(state, container, _cpus(grant))
        portion = grant.reserved_portion or grant.shared_portion
        container.shares = shares_of(portion or 1000 * grant.exclusive.bit_count())
    if grant.memory_types is not None:
        container.mems = to_text(grant.zone) if state.config.pin_memory else ""


def pin_shared(state: State, changed: Grant | None) -> None:
    """Tell all others that have shared CPUs; a grant of reserved CPUs changes nothing for them."""
    if not state.config.pin_cpu or (changed is not None and changed.cpu_type == RESERVED):
        return
    for grant in state.grants.values():
        is_changed = changed is not None and grant.container is changed.container
        is_fixed = grant.cpu_type != "normal" or (grant.exclusive and not grant.portion)
        if not is_changed and not is_fixed:
            _tell(state, grant.container, grant.exclusive | grant.pool.free_sharable)


def _cpus(grant: Grant) -> int:
    if grant.cpu_type == RESERVED:
        return grant.pool.reserved
    shared = grant.pool.free_sharable
    if not grant.exclusive:
        return shared
    return grant.exclusive | shared if grant.shared_portion else grant.exclusive


def _tell(state: State, container: Container, cpus: int) -> None:
    hides_threads = container.flag(HIDE_HYPERTHREADS)
    container.cpus = to_text(state.system.single_threads(cpus) if hides_threads else cpus)


class Cpus(NamedTuple):
    """What the policy may use at all, and which of these CPUs are isolated and reserved."""

    allowed: int
    isolated: int
    reserved: int


def build_pools(system: System, cpus: Cpus) -> list[Pool]:
    """The pools in the order of their numbers: the last is the root."""
    _check_distances(system)
    builder = _Builder(system, cpus)
    root = builder.machine()
    pools = list(root.subtree())
    for number, pool in enumerate(pools):
        pool.number = number
    return pools


def _check_distances(system: System) -> None:
    nodes = system.nodes
    for node in nodes.values():
        for other in nodes:
            there, back = node.distances[other], nodes[other].distances[node.node]
            if there != back:
                raise NriError(
                    f"topology-aware: asymmetric NUMA distance (#{node.node}, #{other}): "
                    f"{there} != {back}"
                )


class _Builder:
    def __init__(self, system: System, cpus: Cpus) -> None:
        self._system = system
        self._cpus = cpus

    def machine(self) -> Pool:
        """A root above the sockets only where there are several."""
        packages = self._system.packages
        if len(packages) < 2:
            (only,) = packages.values()
            return self._socket(only, None)
        root = self._pool("root", ROOT, None, self._system.all_cpus)
        for package in packages.values():
            self._socket(package, root)
        return root

    def _socket(self, package: Package, root: Pool | None) -> Pool:
        socket = self._pool(f"socket #{package.package}", SOCKET, root, package.cpus)
        if self._has_dies(package):
            for die, inside in package.die_cpus.items():
                name = f"die #{package.package}/{die}"
                pool = self._pool(name, DIE, socket, inside)
                self._nodes_or_caches(package, pool, list(package.die_nodes[die]), inside)
        else:
            on = sorted({node for nodes in package.die_nodes.values() for node in nodes})
            self._nodes_or_caches(package, socket, on, package.cpus)
        return socket

    def _has_dies(self, package: Package) -> bool:
        """A single die is none, and dies that are clusters are none either."""
        if len(package.die_cpus) < 2:
            return False
        clusters: dict[int, set[int]] = {}
        for cpu in self._system.cpus.values():
            if cpu.online and cpu.package == package.package:
                clusters.setdefault(cpu.die, set()).add(cpu.cluster)
        return any(len(inside) > 1 for inside in clusters.values())

    def _nodes_or_caches(self, package: Package, pool: Pool, nodes: list[int], cpus: int) -> None:
        if len(nodes) < 2:
            self._caches(package, pool, cpus)
            return
        for number in nodes:
            node = self._system.nodes[number]
            if node.memory:
                below = self._pool(f"NUMA node #{number}", NUMA, pool, node.cpus)
                self._caches(package, below, node.cpus)

    def _caches(self, package: Package, pool: Pool, cpus: int) -> None:
        """A pool for each L3 cache that is inside, if there are several."""
        caches = {
            number: behind
            for number, behind in self._l3_caches(package).items()
            if behind & cpus == behind
        }
        for number, behind in caches.items() if len(caches) > 1 else ():
            self._pool(f"{pool.name}/L3 cache #{number}", L3, pool, behind)

    def _l3_caches(self, package: Package) -> dict[int, int]:
        """By id: the first level-3 cache of each CPU."""
        caches: dict[int, int] = {}
        for cpu in self._system.cpus.values():
            third = cpu.caches_of_level(3) if package.cpus >> cpu.cpu & 1 else []
            if third:
                caches.setdefault(third[0].id, third[0].cpus)
        return dict(sorted(caches.items()))

    def _pool(self, name: str, kind: str, parent: Pool | None, cpus: int) -> Pool:
        mine = cpus & self._cpus.allowed
        isolated, reserved = mine & self._cpus.isolated, mine & self._cpus.reserved
        sharable = mine & ~isolated & ~reserved
        nodes = self._all_nodes() if parent is None else self._near(cpus)
        pool = Pool(name, kind, parent, isolated, reserved, sharable, _by_type(nodes))
        pool.free_isolated, pool.free_sharable = isolated, sharable
        if parent is not None:
            parent.children.append(pool)
        return pool

    def _all_nodes(self) -> list[Node]:
        return [node for node in self._system.nodes.values() if node.memory]

    def _near(self, cpus: int) -> list[Node]:
        """Nodes with some of the CPUs, and special memory that is nearest to one of these."""
        near = [node for node in self._system.nodes.values() if node.cpus & cpus]
        numbers = {node.node for node in near}
        special = [node for node in self._special() if set(self._nearest(node)) & numbers]
        return [*near, *special]

    def _special(self) -> Iterator[Node]:
        for node in self._system.nodes.values():
            if node.memory and not node.cpus and node.memory_type in (PMEM, HBM):
                yield node

    def _nearest(self, node: Node) -> list[int]:
        """The nodes with CPUs at the smallest distance."""
        distances = {
            other.node: node.distances[other.node]
            for other in self._system.nodes.values()
            if other.node != node.node and other.cpus and other.memory_type == DRAM
        }
        shortest = min(distances.values(), default=0)
        return [other for other, distance in distances.items() if distance == shortest]


def _by_type(nodes: list[Node]) -> dict[str, Mask]:
    memory = {DRAM: 0, PMEM: 0, HBM: 0}
    for node in nodes:
        memory[node.memory_type] |= 1 << node.node
    return memory


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
        state.memory.nodes.capacity(pool.nodes(types)),
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
        types = state.memory.nodes.types_of(nodes)
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
            self.state.memory.nodes.types_of(mem.zone) == types
            for mem in (left.memory, right.memory)
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


T = TypeVar("T")
_SMALL = 12


def first(values: Iterable[T], less: Callable[[T, T], bool]) -> T:
    """The value that comes first.

    Up to twelve values are sorted by insertion, as Go does. With more, values that both claim to
    come before the other may end up differently there.
    """
    ordered = list(values)
    if len(ordered) > _SMALL:
        return min(ordered, key=cmp_to_key(_comparison_of(less)))
    for end in range(1, len(ordered)):
        at = end
        while at > 0 and less(ordered[at], ordered[at - 1]):
            ordered[at - 1], ordered[at] = ordered[at], ordered[at - 1]
            at -= 1
    return ordered[0]


def _comparison_of(less: Callable[[T, T], bool]) -> Callable[[T, T], int]:
    return lambda left, right: -1 if less(left, right) else int(less(right, left))


_COLOCATION = 10


def policy_error(text: str) -> NriError:
    return NriError(f"topology-aware: {text}")


def take(state: State, container: Container, hint: str = "") -> Grant:
    """A grant for a container, from the pool of a name if that is possible; NriError refuses."""
    try:
        request = request_of(container, state.config, state.memory.nodes.types)
    except NriError as error:
        raise policy_error(
            f"failed to create request for container {container.full_name}: {error}"
        ) from None
    pool, memory = _choose(state, request, hint)
    before = allocatable_text(state, pool)
    try:
        grant = _allocate(state, request, pool)
    except NriError as error:
        raise policy_error(
            f"failed to allocate {request_text(request)} from {before}: {error}"
        ) from None
    state.memory.commit(memory)
    for owner, zone in memory.others.items():
        _move_memory(state, owner, zone)
    grant.memory_types, grant.memory = request.memory_types, request.memory
    grant.zone = memory.zone
    state.grants[container.full_name] = grant
    return grant


def _move_memory(state: State, owner: str, zone: int) -> None:
    grant = state.grants[owner]
    grant.zone = zone
    if state.config.pin_memory:
        grant.container.mems = to_text(zone)


def _choose(state: State, request: Request, hint: str) -> tuple[Pool, Offer]:
    if request.cpu_type != NORMAL:
        try:
            return state.root, offered(state, request, state.root)
        except NriError as error:
            raise _no_offer(request, f": {error}") from None
    affinities = _affinities(state, request.container)
    scored = [score(state, request, pool, affinities) for pool in state.pools]
    hinted = next((candidate for candidate in scored if candidate.pool.name == hint), None)
    best = hinted or first(scored, Comparison(state, request).less)
    if best.memory is None:
        raise _no_offer(request, "")
    return best.pool, best.memory


def _no_offer(request: Request, why: str) -> NriError:
    return policy_error(f"failed to get offer for request {request_text(request)}{why}")


def _affinities(state: State, container: Container) -> dict[int, int]:
    """The weights of pools with containers that this one is to be near to."""
    config, pod = state.config, container.pod
    weights: dict[int, int] = {}
    for grant in state.grants.values():
        other = grant.container.pod
        weight = _COLOCATION * (config.colocate_pods and other.full_name == pod.full_name)
        weight += _COLOCATION * (config.colocate_namespaces and other.namespace == pod.namespace)
        if weight:
            number = grant.pool.number
            weights[number] = weights.get(number, 0) + weight
    return weights


def _allocate(state: State, request: Request, pool: Pool) -> Grant:
    """Short of reserved CPUs the container gets shared ones."""
    cpu_type, fraction = request.cpu_type, request.fraction
    if cpu_type == RESERVED and 0 < fraction > pool.allocatable_reserved():
        cpu_type = NORMAL
    exclusive = _pick(state, request, pool)
    grant = Grant(request.container, pool, cpu_type, exclusive)
    pool.take_exclusive(exclusive)
    if fraction > 0 and cpu_type == NORMAL:
        _check_fraction(state, grant, fraction)
    grant.portion = fraction
    account(grant, 1)
    _check_isolated(state, request, grant)
    return grant


def account(grant: Grant, sign: int) -> None:
    """Add or take off the shared part of a grant."""
    grant.pool.granted_shared += sign * grant.shared_portion
    grant.pool.granted_reserved += sign * grant.reserved_portion


def _check_fraction(state: State, grant: Grant, fraction: int) -> None:
    pool = grant.pool
    available = state.allocatable_shared(pool)
    if available < fraction:
        sharable = struct_text(pool.free_sharable)
        pool.give_back(grant.exclusive)
        raise policy_error(
            f"internal error: {pool.name}: not enough {fraction}m sharable CPU for {sharable}m, "
            f"{available}m available"
        )


def _check_isolated(state: State, request: Request, grant: Grant) -> None:
    if request.full < 1 or not request.isolate or not requires_isolated(request.container):
        return
    if grant.isolated.bit_count() < request.full:
        isolated = quote(to_text(grant.isolated))
        account(grant, -1)
        grant.pool.give_back(grant.exclusive)
        raise policy_error(f"granted isolated CPUs {isolated} less than requested {request.full}")


def _pick(state: State, request: Request, pool: Pool) -> int:
    """Exclusive CPUs: isolated ones if they are wished and enough, else of the shared ones."""
    count, priority = request.full, request.priority
    if request.isolate and pool.free_isolated.bit_count() >= count:
        return allocate(state.topology, pool.free_isolated, count, priority)[0]
    available = state.allocatable_shared(pool)
    if available < 1000 * count:
        raise policy_error(
            f"internal error: {pool.name}: can't slice {count} exclusive CPUs from "
            f"{to_text(pool.free_sharable)}, {available}m available"
        )
    sliceable = state.sliceable(pool)
    try:
        return allocate(state.topology, sliceable, count, priority)[0]
    except NriError as error:
        raise policy_error(
            f"internal error: {pool.name}: can't take {count} exclusive CPUs from "
            f"{to_text(sliceable)}: {error}"
        ) from None
