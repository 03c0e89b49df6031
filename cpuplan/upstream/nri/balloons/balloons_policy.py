"""The balloons policy's events, and its state at one moment.

Containers that come and go, configurations, and its own restart.

Upstream: containers/nri-plugins cmd/plugins/balloons/policy/balloons-policy.go
  @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.balloons import instances, setup
from cpuplan.upstream.nri.balloons.config import Config
from cpuplan.upstream.nri.balloons.cputree import build, split
from cpuplan.upstream.nri.balloons.instances import Balloon, State, balloons_error, update_pinning
from cpuplan.upstream.nri.cpuallocator import topology_of
from cpuplan.upstream.nri.expressions import expand, holds
from cpuplan.upstream.nri.libmem import Allocator, Moment
from cpuplan.upstream.nri.pods import PRESERVE_CPU, Container, RuntimeUpdate
from cpuplan.upstream.nri.system import Files, discover


class Policy:
    """The policy on a machine; NriError or PanicError where it does not start."""

    def __init__(self, files: Files, config: Config) -> None:
        self._files = files
        self._config = config
        self.containers: list[Container] = []
        self._pods: dict[str, int] = {}
        self.state = self._start()

    def _start(self) -> State:
        system = discover(self._files)
        tree = build(system)
        topology = topology_of(system)
        memory = Allocator(system)
        paths = instances.paths_of(self._files)
        state = State(topology, paths, tree, split(tree), self._config, memory)
        try:
            setup.apply(state, self._config)
        except NriError as error:
            raise balloons_error(f"failed to create balloons policy: {error}") from None
        return state

    def create(self, container: Container) -> None:
        """Allocate for a new container; NriError refuses it."""
        self._pods.setdefault(container.pod.full_name, len(self._pods))
        allocate(self.state, container)
        self.containers.append(container)

    def remove(self, container: Container) -> None:
        """A container is gone."""
        self.containers.remove(container)
        release(self.state, container)

    def reconfigure(self, config: Config) -> None:
        """Build everything anew and allocate for all containers again, in order of creation.

        Any change does this: the comparison with what was configured finds what the policy itself
        has added. After an error the old configuration is applied again.
        """
        try:
            setup.apply(self.state, config)
        except NriError:
            setup.apply(self.state, self._config)
            self._allocate_all()
            raise
        self._config = config
        self._allocate_all()

    def restart(self) -> None:
        """A new process allocates for all containers again."""
        self.state = self._start()
        self._allocate_all()

    def _allocate_all(self) -> None:
        """Older pods first, and in a pod older containers."""

        def age(container: Container) -> int:
            return self._pods[container.pod.full_name]

        for container in sorted(self.containers, key=age):
            try:
                allocate(self.state, container)
            except NriError:
                continue


def allocate(state: State, container: Container) -> None:
    """Choose a balloon, let it grow and pin the container; NriError if it gets none."""
    if container.annotation(PRESERVE_CPU) == "true":
        return
    if any(holds(expression, container.lookup) for expression in state.config.preserve):
        return
    try:
        balloon = instances.choose(state, container)
    except NriError as error:
        raise balloons_error(
            f"balloon allocation for container {container.full_name} failed: {error}"
        ) from None
    request = max(1, container.request + balloon.requested)
    if balloon.cpus.bit_count() * 1000 < request:
        try:
            instances.resize(state, balloon, request)
        except NriError as error:
            raise balloons_error(f"resizing balloon {balloon.name} failed: {error}") from None
    balloon.containers.append(container)
    _count_group(balloon, container, 1)
    update_pinning(state, [balloon])


def release(state: State, container: Container) -> None:
    """Let a container's balloon shrink, and remove it if it is empty and not one to keep."""
    for balloon in state.balloons:
        if container in balloon.containers:
            break
    else:
        return
    state.memory.release(container.full_name)
    balloon.containers.remove(container)
    _count_group(balloon, container, -1)
    try:
        instances.resize(state, balloon, max(1, balloon.requested) if balloon.containers else 0)
    except NriError as error:
        if balloon.containers:
            raise balloons_error(f"resizing balloon {balloon.name} failed: {error}") from None
    if balloon.containers:
        return
    if len(state.of_type(balloon.type)) > balloon.type.min_balloons:
        instances.delete(state, balloon)


def _count_group(balloon: Balloon, container: Container, change: int) -> None:
    """A group whose name cannot be resolved counts by what is known of it."""
    if balloon.type.group_by:
        group = expand(balloon.type.group_by, container.lookup, strict=False) or ""
        balloon.groups[group] = balloon.groups.get(group, 0) + change


class _Kept(NamedTuple):
    """A balloon and what changes of it."""

    balloon: Balloon
    cpus: int
    mems: int
    shared_idle: int
    containers: tuple[Container, ...]
    groups: dict[str, int]
    devices: dict[str, list[int]]
    components: "tuple[_Kept, ...]"


class Snapshot(NamedTuple):
    """The balloons, what is free, and what containers were told."""

    balloons: tuple[_Kept, ...]
    free: int
    memory: Moment
    containers: tuple[RuntimeUpdate, ...]


def take_snapshot(policy: Policy) -> Snapshot:
    """This moment between two events."""
    updates = (container.runtime_update for container in policy.containers)
    state = policy.state
    return Snapshot(_keep(state.balloons), state.free, state.memory.take(), tuple(updates))


def restore_snapshot(policy: Policy, moment: Snapshot) -> None:
    """Go back to a moment of the same process."""
    state = policy.state
    state.balloons = _restored(moment.balloons)
    state.free = moment.free
    state.memory.restore(moment.memory)
    policy.containers = [update.restore() for update in moment.containers]


def snapshot_key(policy: Policy) -> Hashable:
    """What the next container's balloon depends on; equal moments have one key.

    Not which containers are in a balloon, only how much room there is: none of them leaves.
    """
    balloons = (
        (
            balloon.name,
            balloon.cpus,
            balloon.shared_idle,
            balloon.requested,
            len(balloon.containers),
        )
        for balloon in policy.state.balloons
    )
    return policy.state.free, tuple(balloons)


def _keep(balloons: Iterable[Balloon]) -> tuple[_Kept, ...]:
    return tuple(
        _Kept(
            balloon,
            balloon.cpus,
            balloon.mems,
            balloon.shared_idle,
            tuple(balloon.containers),
            dict(balloon.groups),
            dict(balloon.allocator.devices) if balloon.allocator else {},
            _keep(balloon.components),
        )
        for balloon in balloons
    )


def _restored(kept: Iterable[_Kept]) -> list[Balloon]:
    balloons = []
    for state in kept:
        balloon = state.balloon
        balloon.cpus, balloon.mems, balloon.shared_idle = state.cpus, state.mems, state.shared_idle
        balloon.containers, balloon.groups = list(state.containers), dict(state.groups)
        if balloon.allocator:
            balloon.allocator.devices = dict(state.devices)
        balloon.components = _restored(state.components)
        balloons.append(balloon)
    return balloons
