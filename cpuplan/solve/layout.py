"""A layout: the CPUs of each set. Sets are the pools, the partitions of isolated, and QoS sets.

A slot is the combination of sets that a CPU is in. A layout gives each CPU one slot, so a CPU in
two pools, or in a partition without its pool, cannot be expressed.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations, repeat
from typing import NamedTuple, TypeAlias

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.topology import Topology
from cpuplan.language.model.pools import HIDDEN, POOLS, QOS_SETS

#: The CPUs of every set of the intent, including empty sets.
Layout: TypeAlias = Mapping[str, CpuSet]
#: The sets of a CPU, its pool first.
Slot: TypeAlias = tuple[str, ...]

#: The name of the set of CPUs that are in no set.
NOBODY = ""
LEFT_OVER: Slot = (NOBODY,)


class Scope(NamedTuple):
    """A part of the machine in which CPUs are counted."""

    name: str
    cpus: CpuSet


def slots_of(names: Sequence[str]) -> tuple[Slot, ...]:
    """All slots of these sets, in the order in which cores are given away; no set comes last.

    The partitions of a pool come before the rest of the pool.
    """
    qos = [name for name in QOS_SETS if name in names]
    sizes = range(len(qos), -1, -1)
    overlays = list(chain.from_iterable(combinations(qos, size) for size in sizes))
    slots: list[Slot] = []
    for pool in POOLS:
        if pool not in names:
            continue
        bases = [(pool, name) for name in names if name.startswith(f"{pool}.")]
        for base in (*bases, (pool,)):
            slots += [base] if pool in HIDDEN else [(*base, *overlay) for overlay in overlays]
    return (*slots, LEFT_OVER)


def hosts_among(names: Iterable[str]) -> set[str]:
    """The pools of which partitions are among some sets: they have CPUs in common with these."""
    return {name.partition(".")[0] for name in names if "." in name}


class View:
    """A layout on its machine, as rules and goals read it."""

    def __init__(self, topology: Topology, layout: Layout) -> None:
        self.topology = topology
        self.layout = layout
        self._parts: dict[tuple[str, int], tuple[int, Sequence[Scope]]] = {}

    def cpus(self, name: str) -> CpuSet:
        return self.layout.get(name, EMPTY)

    @cached_property
    def regions(self) -> dict[Slot, CpuSet]:
        """The online CPUs of each slot that has any."""
        found: dict[Slot, int] = {(): self.topology.online.bits}
        for name, cpus in self.layout.items():
            divided: dict[Slot, int] = {}
            for slot, bits in found.items():
                divided[*slot, name] = bits & cpus.bits
                divided[slot] = bits & ~cpus.bits
            found = {slot: bits for slot, bits in divided.items() if bits}
        return {slot: CpuSet.from_bits(bits) for slot, bits in found.items()}

    @cached_property
    def slots(self) -> dict[int, Slot]:
        """The slot of each online CPU."""
        return {cpu: slot for slot, cpus in self.regions.items() for cpu in cpus}

    @cached_property
    def patterns(self) -> set[tuple[Slot, ...]]:
        """The slots of the threads of a core, for each way in which a core is used."""
        slots = sorted(self.regions)
        regions = [self.regions[slot].bits for slot in slots]
        cores = (core.bits for core in self.topology.cores.values())
        used = {tuple((core & bits).bit_count() for bits in regions) for core in cores}
        return {tuple(chain.from_iterable(map(repeat, slots, numbers))) for numbers in used}

    def parts(self, name: str, scopes: Sequence[Scope]) -> int:
        """The scopes on which a set is, as the bits of a number.

        Many statements ask for it with the same scopes, which are known by their identity.
        """
        known = self._parts.get((name, id(scopes)))
        if known is None:
            bits = self.cpus(name).bits
            number = sum(1 << at for at, scope in enumerate(scopes) if scope.cpus.bits & bits)
            known = self._parts[name, id(scopes)] = (number, scopes)
        return known[0]

    def slots_on(self, cpus: CpuSet) -> list[Slot]:
        """The slots of some online CPUs, in ascending order of the CPUs."""
        return [self.slots[cpu] for cpu in cpus]

    def count(self, name: str, scope: CpuSet, *, cores: bool = False) -> int:
        """The number of CPUs that a set has in a scope, or of cores with such CPUs."""
        held = self.cpus(name) & scope
        if cores:
            return len({self.topology[cpu].core for cpu in held})
        return len(held)
