"""The state of the topology-aware policy at one moment, to restore it and to recognise it."""

from collections.abc import Hashable
from typing import NamedTuple

from cpuplan.upstream.nri.common.pods import Told
from cpuplan.upstream.nri.libmem.allocator import Moment
from cpuplan.upstream.nri.topologyaware.policy import Policy
from cpuplan.upstream.nri.topologyaware.pool import Pool
from cpuplan.upstream.nri.topologyaware.state import Grant, State

#: Of a pool: isolated and sharable CPUs that are free, and what is granted.
_Amounts = tuple[int, int, int, int]


class Snapshot(NamedTuple):
    """What pools have left, the grants with their memory nodes, and what containers were told."""

    pools: tuple[_Amounts, ...]
    grants: tuple[tuple[Grant, int], ...]
    memory: Moment
    containers: tuple[Told, ...]


def take(policy: Policy) -> Snapshot:
    """This moment between two events."""
    state = policy.state
    updates = (container.runtime_update for container in policy.containers)
    grants = ((grant, grant.zone) for grant in state.grants.values())
    return Snapshot(
        tuple(map(_amounts, state.pools)), tuple(grants), state.memory.take(), tuple(updates)
    )


def restore(policy: Policy, moment: Snapshot) -> None:
    """Go back to a moment of the same process."""
    state = policy.state
    for pool, amounts in zip(state.pools, moment.pools, strict=True):
        pool.free_isolated, pool.free_sharable = amounts[:2]
        pool.granted_reserved, pool.granted_shared = amounts[2:]
    state.grants = {grant.container.full_name: grant for grant, _ in moment.grants}
    for grant, zone in moment.grants:
        grant.zone = zone
    state.memory.restore(moment.memory)
    policy.containers = [update.restore() for update in moment.containers]


def key(policy: Policy) -> Hashable:
    """What the next container's pool depends on; equal moments have one key."""
    state = policy.state
    pools = ((_amounts(pool), _kinds(state, pool)) for pool in state.pools)
    return tuple(pools), state.memory.key()


def _amounts(pool: Pool) -> _Amounts:
    return pool.free_isolated, pool.free_sharable, pool.granted_reserved, pool.granted_shared


def _kinds(state: State, pool: Pool) -> Hashable:
    """How many containers of each type it has, and whether one asks for nothing."""
    types = sorted(grant.cpu_type for grant in state.on(pool))
    return tuple(types), state.has_zero_request(pool)
