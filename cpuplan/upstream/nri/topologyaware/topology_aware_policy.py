"""The topology-aware policy's events, its constraints, and its state at one moment.

Upstream: containers/nri-plugins cmd/plugins/topology-aware/policy/topology-aware-policy.go
  cmd/plugins/topology-aware/policy/cache.go @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.nri import libmem
from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.config import Json, is_cpuset, listed_cpus, reserved_milli, whole_cpus
from cpuplan.upstream.nri.cpuallocator import NORMAL, Topology, allocate, topology_of
from cpuplan.upstream.nri.libmem import PRIORITIES, Allocator, Moment
from cpuplan.upstream.nri.pods import Container, RuntimeUpdate
from cpuplan.upstream.nri.system import Files, discover
from cpuplan.upstream.nri.topologyaware import pools
from cpuplan.upstream.nri.topologyaware.config import Config
from cpuplan.upstream.nri.topologyaware.node import LEVELS, Pool
from cpuplan.upstream.nri.topologyaware.pools import (
    Cpus,
    account,
    existing_level,
    pin,
    pin_shared,
    policy_error,
    take,
)
from cpuplan.upstream.nri.topologyaware.resources import Grant, State, allocatable_text


def constraints(topology: Topology, config: Config) -> Cpus:
    """NriError where the policy does not start."""
    allowed = _allowed(topology, config.available) & topology.system.online
    isolated = topology.system.isolated & allowed
    reserved = _reserved(topology, config.reserved, allowed, isolated)
    if not reserved:
        raise policy_error("cannot start without CPU reservation")
    return Cpus(allowed, isolated, reserved)


def _allowed(topology: Topology, available: Json) -> int:
    everything = topology.system.all_cpus
    if "cpu" not in available:
        return everything
    amount = available["cpu"]
    if not is_cpuset(amount):
        raise NriError(f"can't handle CPU resources given as resource.Quantity ({amount})")
    return listed_cpus(amount, "available", everything)


def _reserved(topology: Topology, reserved: Json, allowed: int, isolated: int) -> int:
    if "cpu" not in reserved:
        raise policy_error("cannot start without CPU reservation")
    amount = reserved["cpu"]
    if not is_cpuset(amount):
        return _counted(topology, amount, allowed & ~isolated)
    cpus = listed_cpus(amount, "reserved", allowed)
    if outside := cpus & ~allowed:
        raise policy_error(
            f"invalid reserved cpuset {to_text(cpus)}, some CPUs ({to_text(outside)}) are not "
            f"part of the online allowed cpuset ({to_text(allowed)})"
        )
    _check_isolated(cpus, cpus & isolated)
    return cpus


def _check_isolated(cpus: int, isolated: int) -> None:
    """An isolated CPU may be reserved only if it is the only one."""
    if isolated and cpus != isolated:
        raise policy_error(
            f"invalid reserved cpuset {to_text(cpus)}, mixes isolated ({to_text(isolated)}) and "
            f"normal ({to_text(cpus & ~isolated)})"
        )
    if isolated.bit_count() > 1:
        raise policy_error(
            f"invalid reserved cpuset {to_text(cpus)}, multiple isolated CPUs ({to_text(isolated)})"
        )


def _counted(topology: Topology, amount: str, free: int) -> int:
    milli = reserved_milli(amount)
    try:
        return allocate(topology, free, whole_cpus(milli), NORMAL)[0]
    except NriError as error:
        raise policy_error(
            f"cannot reserve {milli}m CPUs for ReservedResources from AvailableResources: {error}"
        ) from None


_QOS_ORDER = ("Guaranteed", "Burstable", "BestEffort")


class Policy:
    """The policy on a machine; NriError or PanicError where it does not start."""

    def __init__(self, files: Files, config: Config) -> None:
        self._files = files
        self._config = config
        self.containers: list[Container] = []
        self.state = self._start()

    def _start(self) -> State:
        system = discover(self._files)
        try:
            libmem.check(system)
            topology = topology_of(system)
            built = pools.build_pools(system, constraints(topology, self._config))
        except NriError as error:
            raise policy_error(f"failed to initialize topology-aware policy: {error}") from None
        level = _level(built, self._config)
        return State(topology, Allocator(system), self._config, built, level)

    def create(self, container: Container) -> None:
        """Allocate for a new container; NriError refuses it."""
        self._allocate(container)
        self.containers.append(container)

    def _allocate(self, container: Container) -> None:
        try:
            grant = take(self.state, container)
        except NriError as error:
            raise policy_error(
                f"failed to allocate resources for {container.full_name}: {error}"
            ) from None
        pin(self.state, grant)
        pin_shared(self.state, grant)

    def remove(self, container: Container) -> None:
        """A container is gone."""
        self.containers.remove(container)
        grant = _release(self.state, container)
        if grant is not None:
            pin_shared(self.state, grant)

    def reconfigure(self, config: Config) -> None:
        """Keep what everybody has if that is still possible, else allocate anew in the old pools.

        After an error the old configuration is applied again.
        """
        try:
            self._apply(config)
        except NriError as error:
            with suppress(NriError):
                self._apply(self._config)
            raise policy_error(f"failed to reconfigure: {error}") from None
        self._config = config

    def _apply(self, config: Config) -> None:
        old = self.state
        built = pools.build_pools(old.system, constraints(old.topology, config))
        new = State(old.topology, old.memory, config, built, _level(built, config))
        grants = [_moved(grant, built) for grant in old.grants.values()]
        for grant in grants:
            new.memory.release(grant.container.full_name)
        try:
            for grant in grants:
                _reinstate(new, grant)
        except NriError:
            _take_again(new, grants)
        pin_shared(new, None)
        self.state = new

    def restart(self) -> None:
        """A new process allocates for all containers again, in an order that is chance.

        Here it is that of their creation.
        """
        self.state = self._start()
        for container in self.containers:
            try:
                self._allocate(container)
            except NriError:
                continue


def _level(built: list[Pool], config: Config) -> int:
    name = config.unlimited_burstable
    return existing_level(built, LEVELS.index(name) if name in LEVELS else 0)


def _release(state: State, container: Container) -> Grant | None:
    grant = state.grants.pop(container.full_name, None)
    if grant is not None:
        account(grant, -1)
        grant.pool.give_back(grant.exclusive)
        state.memory.release(container.full_name)
    return grant


def _moved(grant: Grant, built: list[Pool]) -> Grant:
    """A copy in the pool of the same name. It forgets how much of the reserved CPUs it had."""
    pool = next((pool for pool in reversed(built) if pool.name == grant.pool.name), None)
    if pool is None:
        raise policy_error(f"failed to refetch grant cpu node {grant.pool.name}")
    return replace(grant, pool=pool, portion=grant.shared_portion)


def _reinstate(state: State, grant: Grant) -> None:
    """Give a grant what it had before; NriError if it is not there any more."""
    pool, container = grant.pool, grant.container
    types = state.memory.nodes.types_of(grant.zone)
    priority = PRIORITIES.get(container.pod.qos, 0)
    offer = state.memory.offer(container.full_name, grant.memory, grant.zone, types, priority)
    if grant.cpu_type == "normal":
        sliced = grant.exclusive & ~grant.isolated
        wanted = 1000 * sliced.bit_count() + grant.portion
        lacks = grant.isolated & ~pool.free_isolated or sliced & ~pool.free_sharable
        if lacks or state.allocatable_shared(pool) < wanted:
            raise policy_error(
                f"can't reserve {to_text(grant.exclusive)} from {allocatable_text(state, pool)}"
            )
    pool.take_exclusive(grant.exclusive)
    account(grant, 1)
    state.memory.commit(offer)
    grant.zone = offer.zone
    state.grants[container.full_name] = grant
    pin(state, grant)


def _take_again(state: State, grants: list[Grant]) -> None:
    """Allocate for everybody, large Guaranteed containers first; NriError with all refusals."""
    for grant in grants:
        _release(state, grant.container)
    errors = []
    for grant in sorted(grants, key=_order):
        try:
            pin(state, take(state, grant.container, grant.pool.name))
        except NriError as error:
            errors.append(str(error))
    if errors:
        raise NriError("\n".join(errors))


def _order(grant: Grant) -> tuple[int, int, int, int, int, str, str]:
    container = grant.container
    qos = _QOS_ORDER.index(container.pod.qos)
    amounts = (-container.memory_request, -container.memory, -container.request, -container.limit)
    return qos, *amounts, container.pod.name, container.name


#: Of a pool: isolated and sharable CPUs that are free, and what is granted.
_Amounts = tuple[int, int, int, int]


class Snapshot(NamedTuple):
    """What pools have left, the grants with their memory nodes, and what containers were told."""

    pools: tuple[_Amounts, ...]
    grants: tuple[tuple[Grant, int], ...]
    memory: Moment
    containers: tuple[RuntimeUpdate, ...]


def take_snapshot(policy: Policy) -> Snapshot:
    """This moment between two events."""
    state = policy.state
    updates = (container.runtime_update for container in policy.containers)
    grants = ((grant, grant.zone) for grant in state.grants.values())
    return Snapshot(
        tuple(map(_amounts, state.pools)), tuple(grants), state.memory.take(), tuple(updates)
    )


def restore_snapshot(policy: Policy, moment: Snapshot) -> None:
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


def snapshot_key(policy: Policy) -> Hashable:
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
