"""A layout: the CPUs of each set; and what an intent states on each set.

Sets are the pools, the partitions of isolated, and the QoS sets; some statements follow from
others. A slot is the combination of sets that a CPU is in. A layout gives each CPU one slot, so a
CPU in two pools, or in a partition without its pool, cannot be expressed.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations, repeat
from typing import NamedTuple, TypeAlias

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.topology import Topology
from cpuplan.language.model.pools import (
    HIDDEN,
    IDLE,
    POOLS,
    QOS_SETS,
    SIZES,
    Pool,
    Pools,
    QosSets,
    partitions_of,
)
from cpuplan.plan import NodeClass

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
        regions: dict[Slot, int] = {(): self.topology.online.bits}
        for name, cpus in self.layout.items():
            divided: dict[Slot, int] = {}
            for slot, bits in regions.items():
                divided[*slot, name] = bits & cpus.bits
                divided[slot] = bits & ~cpus.bits
            regions = {slot: bits for slot, bits in divided.items() if bits}
        return {slot: CpuSet.from_bits(bits) for slot, bits in regions.items()}

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
        used = set()
        for core in cores:
            used.add(tuple([(core & bits).bit_count() for bits in regions]))
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


class SetSpec(NamedTuple):
    """A set, its statement, and the field of the statement below the intent's spec."""

    name: str
    pool: Pool
    field: str
    is_written: bool = True  # False: the whole statement, or its size, follows from the others

    @property
    def is_pool(self) -> bool:
        """Whether it is one of the pools, which have no CPU in common."""
        return self.name in POOLS

    @property
    def is_partition(self) -> bool:
        return "." in self.name

    @property
    def host(self) -> str:
        """The pool of a partition; other sets are their own."""
        return self.name.partition(".")[0]

    @property
    def is_qos(self) -> bool:
        return self.name in QOS_SETS


SetSpecs = Mapping[str, SetSpec]


def set_specs(node_class: NodeClass) -> dict[str, SetSpec]:
    """All sets of the layout: pools in the order of POOLS, then partitions, then QoS sets.

    `offlined` is added where siblings are to be idle.
    """
    spec = node_class.spec
    pools = _pools(spec.pools)
    partitions = _partitions(spec.pools)
    written = (*pools.values(), *partitions.values())
    idle = [set_spec for set_spec in written if set_spec.pool.sibling == IDLE]
    if idle and "offlined" not in pools:
        field = f"{idle[0].field}.sibling"
        pools["offlined"] = SetSpec("offlined", Pool(min=0), field, is_written=False)
    ordered = {name: pools[name] for name in POOLS if name in pools}
    return ordered | partitions | _qos_sets(spec.qos)


def _pools(pools: Pools) -> dict[str, SetSpec]:
    """The pools of an intent; `isolated` takes the rest if no other pool does."""
    specs = {}
    for name in POOLS:
        pool = getattr(pools, name)
        if pool is not None:
            specs[name] = SetSpec(name, pool, f"pools.{name}")
    isolated = pools.isolated
    has_rest = any(spec.pool.rest for spec in specs.values())
    if not has_rest and (isolated is None or not has_size(isolated)):
        rest = isolated.model_copy(update={"rest": True}) if isolated else Pool(rest=True)
        specs["isolated"] = SetSpec("isolated", rest, "pools.isolated", is_written=False)
    return specs


def _partitions(pools: Pools) -> dict[str, SetSpec]:
    specs = {}
    for name, pool in partitions_of(pools).items():
        host, _, own = name.partition(".")
        field = f"pools.{host}.partitions.{own}"
        specs[name] = SetSpec(name, _partition(pool, getattr(pools, host)), field)
    return specs


def _partition(pool: Pool, host: Pool) -> Pool:
    """A partition inherits `sibling` from its pool unless it has its own."""
    asks_for_cores = pool.whole_cores and "whole_cores" in pool.model_fields_set
    if host.sibling is None or pool.sibling is not None or asks_for_cores:
        return pool
    return pool.model_copy(update={"sibling": host.sibling})


def _qos_sets(qos: QosSets) -> dict[str, SetSpec]:
    pools = {"bestEffort": qos.best_effort, "other": qos.other}
    return {
        name: SetSpec(name, pool, f"qos.{name}") for name, pool in pools.items() if pool is not None
    }


def has_size(pool: Pool) -> bool:
    """Whether the statement gives a number of CPUs, or a list."""
    numbers = (getattr(pool, name) for name in (*SIZES.values(), "min", "max"))
    return any(number is not None for number in numbers)


def is_range(pool: Pool) -> bool:
    """Whether the size is any number between bounds."""
    given = [name for name in SIZES.values() if getattr(pool, name) is not None]
    return not given and (pool.min is not None or pool.max is not None)


def is_empty(pool: Pool) -> bool:
    """Whether the statement asks for no CPU."""
    return 0 in (pool.count, pool.cores, pool.whole_caches, pool.max) or (
        pool.cpus is not None and not pool.cpus
    )


def sibling_of(pool: Pool) -> str | None:
    """The set of the other threads of its cores, where the pool takes one thread of each."""
    return "offlined" if pool.sibling == IDLE else pool.sibling


def with_siblings(sets: SetSpecs) -> list[SetSpec]:
    """The sets with one thread of each core: few, where there may be hundreds of sets."""
    return [spec for spec in sets.values() if sibling_of(spec.pool)]


def hosts_of(name: str, sets: SetSpecs, one_thread: Iterable[SetSpec]) -> list[str]:
    """The sets, without partitions, that leave the other threads of their cores to this set.

    `one_thread` is what `with_siblings` gives, which is asked once for all sets.
    """
    return [
        spec.name
        for spec in one_thread
        if sibling_of(spec.pool) == name and not is_like_host(spec, sets)
    ]


def is_like_host(spec: SetSpec, sets: SetSpecs) -> bool:
    """Whether it is a partition with the `sibling` of its pool, which covers the partition."""
    host = sets.get(spec.host)
    if host is None or not spec.is_partition:
        return False
    return spec.pool.sibling == host.pool.sibling


def beside(name: str, sets: SetSpecs, one_thread: Sequence[SetSpec]) -> tuple[str, ...]:
    """The sets that may share cores with a set of whole cores: `sibling`, or hidden from pods."""
    if name in QOS_SETS:
        return HIDDEN
    targets = []
    for spec in one_thread:
        target = sibling_of(spec.pool)
        if target and (spec.name == name or spec.name.startswith(f"{name}.")):
            targets.append(target)
    return tuple(dict.fromkeys((*hosts_of(name, sets, one_thread), *targets)))
