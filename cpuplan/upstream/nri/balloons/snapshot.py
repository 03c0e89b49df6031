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
    told = (container.told for container in policy.containers)
    state = policy.state
    return Snapshot(_keep(state.balloons), state.free, state.memory.requests(), tuple(told))


def restore(policy: Policy, moment: Snapshot) -> None:
    """Go back to a moment of the same process."""
    state = policy.state
    state.balloons = _restored(moment.balloons)
    state.free = moment.free
    state.memory.restore(moment.memory)
    policy.containers = [told.again() for told in moment.containers]


def key(policy: Policy) -> Hashable:
    """What the next container's balloon depends on; equal moments have one key.

    Who is in a balloon is not in it, only how much room there is: nobody goes.
    """
    balloons = (
        (one.name, one.cpus, one.shared_idle, one.requested, len(one.containers))
        for one in policy.state.balloons
    )
    return policy.state.free, tuple(balloons)


def _keep(balloons: Iterable[Balloon]) -> tuple[_Kept, ...]:
    return tuple(
        _Kept(
            one,
            one.cpus,
            one.mems,
            one.shared_idle,
            tuple(one.containers),
            dict(one.groups),
            dict(one.allocator.devices) if one.allocator else {},
            _keep(one.components),
        )
        for one in balloons
    )


def _restored(kept: Iterable[_Kept]) -> list[Balloon]:
    balloons = []
    for one in kept:
        balloon = one.balloon
        balloon.cpus, balloon.mems, balloon.shared_idle = one.cpus, one.mems, one.shared_idle
        balloon.containers, balloon.groups = list(one.containers), dict(one.groups)
        if balloon.allocator:
            balloon.allocator.devices = dict(one.devices)
        balloon.components = _restored(one.components)
        balloons.append(balloon)
    return balloons
