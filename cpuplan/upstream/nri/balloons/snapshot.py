"""The state of the balloons policy at one moment, to restore it and to recognise it."""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from cpuplan.upstream.nri.balloons.balloon import Balloon
from cpuplan.upstream.nri.balloons.policy import Policy
from cpuplan.upstream.nri.common.pods import Container, Told


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
    memory: dict[str, tuple[int, int, int]]
    containers: tuple[Told, ...]


def take(policy: Policy) -> Snapshot:
    """This moment between two events."""
    updates = (container.runtime_update for container in policy.containers)
    state = policy.state
    return Snapshot(_keep(state.balloons), state.free, state.memory.requests(), tuple(updates))


def restore(policy: Policy, moment: Snapshot) -> None:
    """Go back to a moment of the same process."""
    state = policy.state
    state.balloons = _restored(moment.balloons)
    state.free = moment.free
    state.memory.restore(moment.memory)
    policy.containers = [update.restore() for update in moment.containers]


def key(policy: Policy) -> Hashable:
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
