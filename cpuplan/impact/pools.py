"""CPUs that change their pools, partitions and QoS sets between two compiled classes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan.cpuset import EMPTY, CpuSet


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
    old, new = _sets(before), _sets(after)
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = {}
    for cpu in sorted(old.keys() | new.keys()):
        left, entered = old.get(cpu, ()), new.get(cpu, ())
        if left != entered:
            groups.setdefault((left, entered), []).append(cpu)
    return tuple(Move(CpuSet(cpus), *ends) for ends, cpus in groups.items())


def _sets(layout: Mapping[str, CpuSet]) -> dict[int, tuple[str, ...]]:
    """The sets of each CPU; without the pool of a partition, whose name has it."""
    found: dict[int, list[str]] = {}
    for name in sorted(layout):
        for cpu in layout[name]:
            found.setdefault(cpu, []).append(name)
    return {cpu: _short(names) for cpu, names in found.items()}


def _short(names: list[str]) -> tuple[str, ...]:
    hosts = {name.partition(".")[0] for name in names if "." in name}
    return tuple(name for name in names if name not in hosts)
