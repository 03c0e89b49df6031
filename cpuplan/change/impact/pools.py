"""CPUs that change their pools, partitions and QoS sets between two compiled classes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.solve.moves import groups, short


class Move(NamedTuple):
    """CPUs that leave the same sets for the same sets; none where a side does not have the CPU."""

    cpus: CpuSet
    before: tuple[str, ...]
    after: tuple[str, ...]


class PoolChange(NamedTuple):
    """A pool, partition or QoS set, and its CPUs on both sides."""

    name: str
    before: CpuSet
    after: CpuSet


def layout(plan: Mapping[str, Any] | None) -> dict[str, CpuSet]:
    """The CPUs of each pool and set of a class, as `backends.planfile` wrote it."""
    if plan is None:
        return {}
    named = {**plan["pools"], **plan.get("sets", {})}
    return {name: CpuSet.parse(entry["cpus"]) for name, entry in named.items()}


def changes(before: Mapping[str, CpuSet], after: Mapping[str, CpuSet]) -> tuple[PoolChange, ...]:
    """Sets with other CPUs than before, those that come and go included."""
    names = dict.fromkeys([*after, *before])
    found = (PoolChange(name, before.get(name, EMPTY), after.get(name, EMPTY)) for name in names)
    return tuple(change for change in found if change.before != change.after)


def moves(before: Mapping[str, CpuSet], after: Mapping[str, CpuSet]) -> tuple[Move, ...]:
    """Each CPU whose sets are others, in groups, by the lowest CPU."""
    found = groups(dict(sorted(before.items())), dict(sorted(after.items())))
    return tuple(Move(cpus, short(left), short(entered)) for (left, entered), cpus in found.items())
