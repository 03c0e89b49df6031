"""Which entry of the kubelet's state file belongs to which container.

The file has names of containers, control groups have identifiers. Where nothing on the node joins
the two, containers belong to the entry whose CPUs they have.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.check.pods.running import Mixed, Running


class Planned(NamedTuple):
    """The shared CPUs of containers that nothing was told of, and the CPUs of sandboxes."""

    shared: CpuSet
    infra: CpuSet


class Pair(NamedTuple):
    """A container, with its exclusive CPUs, and with the shared ones that it has besides."""

    running: Running
    name: str
    exclusive: CpuSet
    shared: CpuSet

    @property
    def wanted(self) -> CpuSet:
        """All CPUs of the container."""
        return self.exclusive | self.shared

    @property
    def described(self) -> str:
        """The container in a sentence."""
        return f"container {self.name} {self.running.container.short}"


def pairs(
    containers: Sequence[Running],
    entries: Mapping[str, CpuSet],
    mixed: Mapping[str, Mixed],
    planned: Planned,
) -> list[Pair]:
    """The containers of a pod that have exclusive CPUs; `mixed` has what CRI-O told them, by path.

    An entry without a container is of an init container, or its container is about to start.
    """
    left = dict(entries)
    by_cpus: dict[CpuSet, list[str]] = {}
    for name in reversed(left):
        by_cpus.setdefault(left[name], []).append(name)
    found = []
    unmatched = []
    for one in containers:
        told = mixed.get(one.container.path)
        shared = told.shared if told else planned.shared
        name = one.name or _of_cpus(one.cpus, by_cpus, left, shared)
        if name in left:
            found.append(_pair(one, name, left.pop(name), shared if told else None, planned.shared))
        elif not one.name and not one.is_pause and (one.cpus or one.tasks):
            unmatched.append(one)  # without either, it may be a sandbox
    taken = union(pair.exclusive for pair in found)
    # What an init container had is given to other containers of its pod.
    open_ones = [name for name, cpus in left.items() if cpus.isdisjoint(taken)]
    unmatched.sort(key=lambda one: one.cpus == planned.infra)
    for name, one in zip(open_ones, unmatched, strict=False):
        told = mixed.get(one.container.path)
        found.append(Pair(one, name, left[name], told.shared if told else EMPTY))
    return found


def _of_cpus(
    cpus: CpuSet, by_cpus: Mapping[CpuSet, list[str]], left: Mapping[str, CpuSet], shared: CpuSet
) -> str:
    """The first entry that is left with the CPUs of a container; empty if there is none.

    Exclusive CPUs are no shared ones.
    """
    for wanted in (cpus, cpus - shared):
        names = by_cpus.get(wanted, [])
        while names:
            name = names.pop()
            if name in left:
                return name
    return ""


def _pair(one: Running, name: str, exclusive: CpuSet, told: CpuSet | None, planned: CpuSet) -> Pair:
    """Where nothing tells, a container has the shared CPUs if it has them all."""
    if told is None:
        told = planned if one.cpus == exclusive | planned else EMPTY
    return Pair(one, name, exclusive, told)
