"""Choosing a pool for a container, and taking CPUs and memory of it."""

from cpuplan.upstream.kubelet.bits import to_text
from cpuplan.upstream.kubelet.go.text import quote
from cpuplan.upstream.nri.common.pods import Container
from cpuplan.upstream.nri.cpuallocator.allocator import allocate
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.libmem.allocator import Offer
from cpuplan.upstream.nri.topologyaware import scores
from cpuplan.upstream.nri.topologyaware.pool import Pool
from cpuplan.upstream.nri.topologyaware.requests import (
    NORMAL,
    RESERVED,
    Request,
    request_of,
    requires_isolated,
)
from cpuplan.upstream.nri.topologyaware.scores import Comparison, score
from cpuplan.upstream.nri.topologyaware.sorting import first
from cpuplan.upstream.nri.topologyaware.state import Grant, State
from cpuplan.upstream.nri.topologyaware.texts import allocatable_text, request_text, struct_text

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
            return state.root, scores.offered(state, request, state.root)
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
