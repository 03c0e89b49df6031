"""The policy's events: containers that come and go, configurations, and its own restart."""

from contextlib import suppress
from dataclasses import replace

from cpuplan.upstream.kubelet.bits import to_text
from cpuplan.upstream.nri.common.pods import Container
from cpuplan.upstream.nri.cpuallocator.allocator import topology_of
from cpuplan.upstream.nri.errors import NriError
from cpuplan.upstream.nri.libmem import nodes as libmem
from cpuplan.upstream.nri.libmem.allocator import Allocator
from cpuplan.upstream.nri.libmem.requests import PRIORITIES
from cpuplan.upstream.nri.sysfs.discovery import discover
from cpuplan.upstream.nri.sysfs.files import Files
from cpuplan.upstream.nri.topologyaware import pools
from cpuplan.upstream.nri.topologyaware.config import Config
from cpuplan.upstream.nri.topologyaware.constraints import constraints
from cpuplan.upstream.nri.topologyaware.pinning import pin, pin_shared
from cpuplan.upstream.nri.topologyaware.pool import LEVELS, Pool
from cpuplan.upstream.nri.topologyaware.scores import existing_level
from cpuplan.upstream.nri.topologyaware.state import Grant, State
from cpuplan.upstream.nri.topologyaware.taking import account, policy_error, take
from cpuplan.upstream.nri.topologyaware.texts import allocatable_text

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
            built = pools.build(system, constraints(topology, self._config))
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
        built = pools.build(old.system, constraints(old.topology, config))
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
    types = state.memory.types_of(grant.zone)
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
