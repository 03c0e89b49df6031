"""A layout: which CPUs each set has. Sets are the pools, the partitions of isolated, and the QoS
sets over them.

A slot is all sets that one CPU is in at once. A layout gives each CPU a slot, so that a CPU in two
pools, or in a partition of a pool that it is not in, cannot even be said.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations
from typing import NamedTuple, TypeAlias

from cpuplan.cpuset import EMPTY, CpuSet
from cpuplan.model.pools import HIDDEN, PARTITION, POOLS, QOS_SETS
from cpuplan.model.topology import Topology

#: The CPUs of every set that the intent speaks of, also of the empty ones.
Layout: TypeAlias = Mapping[str, CpuSet]
#: The sets of a CPU, its pool first.
Slot: TypeAlias = tuple[str, ...]

#: The name of what is in no set.
NOBODY = ""
LEFT_OVER: Slot = (NOBODY,)


class Scope(NamedTuple):
    """A part of the machine that CPUs are counted in."""

    name: str
    cpus: CpuSet


def slots_of(names: Iterable[str]) -> tuple[Slot, ...]:
    """All slots that sets of these names allow, in the order in which cores are given away, that of
    no set last.

    The partitions of a pool come before what is left of it.
    """
    known = set(names)
    qos = [name for name in QOS_SETS if name in known]
    over = [*chain.from_iterable(combinations(qos, size) for size in range(len(qos), 0, -1)), ()]
    found: list[Slot] = []
    for pool in POOLS:
        if pool not in known:
            continue
        partitions = (
            [name for name in names if name.startswith(PARTITION)]
            if f"{pool}." == PARTITION
            else []
        )
        for inner in (*((pool, partition) for partition in partitions), (pool,)):
            found += [(*inner, *sets) for sets in (over if pool not in HIDDEN else [()])]
    return (*found, LEFT_OVER)


class View:
    """A layout on its machine, as rules and goals look at it."""

    def __init__(self, topology: Topology, layout: Layout) -> None:
        self.topology = topology
        self.layout = layout

    def cpus(self, name: str) -> CpuSet:
        return self.layout.get(name, EMPTY)

    @cached_property
    def slots(self) -> dict[int, Slot]:
        """The sets of each online CPU."""
        found: dict[int, list[str]] = {cpu: [] for cpu in self.topology.online}
        for name, cpus in self.layout.items():
            for cpu in cpus & self.topology.online:
                found[cpu].append(name)
        return {cpu: tuple(names) for cpu, names in found.items()}

    @cached_property
    def patterns(self) -> set[tuple[Slot, ...]]:
        """The slots of the threads of a core, for each way in which cores are used."""
        return {
            tuple(sorted(self.slots[cpu] for cpu in siblings))
            for siblings in self.topology.cores.values()
        }

    def count(self, name: str, scope: CpuSet, *, cores: bool = False) -> int:
        """The CPUs that a set has of a scope, or the cores with such CPUs."""
        held = self.cpus(name) & scope
        if cores:
            return len({self.topology[cpu].core for cpu in held})
        return len(held)


def layouts_of(layout: Layout, names: Sequence[str]) -> dict[str, CpuSet]:
    """The CPUs of each of `names`, in their order."""
    return {name: layout.get(name, EMPTY) for name in names}


def in_slots(slots: Mapping[int, Slot], names: Iterable[str]) -> Iterator[tuple[str, CpuSet]]:
    """The layout that gives each CPU its slot."""
    for name in names:
        yield name, CpuSet(cpu for cpu, slot in slots.items() if name in slot)
