"""The statement of an intent on each set of CPUs, including those that follow from the others."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cpuplan.language.model.pools import (
    HIDDEN,
    IDLE,
    POOLS,
    QOS_SETS,
    Pool,
    Pools,
    QosSets,
    partitions_of,
)
from cpuplan.language.model.sizes import SIZES
from cpuplan.plan import NodeClass


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
