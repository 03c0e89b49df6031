"""What an intent says of each set of CPUs, with what follows where it says nothing."""

from typing import NamedTuple

from cpuplan.model.pools import HIDDEN, IDLE, PARTITION, POOLS, QOS_SETS, Pool
from cpuplan.plan import NodeClass


class Said(NamedTuple):
    """A set, what is said of it, and where: the field below the intent's spec."""

    name: str
    pool: Pool
    field: str
    is_written: bool = True  # False: the whole statement, or its size, follows from the others

    @property
    def is_pool(self) -> bool:
        """Is it one of the pools, which have no CPU in common?"""
        return self.name in POOLS


def said(node_class: NodeClass) -> dict[str, Said]:
    """All sets that the layout has: pools in the order of POOLS, then partitions, then QoS sets.

    `isolated` takes the rest if nobody else does; `offlined` is there where siblings are to be
    idle. A partition of a pool that has one thread of each core has no more of them, unless it asks
    for whole cores.
    """
    pools = node_class.spec.pools
    found = {
        name: Said(name, pool, f"pools.{name}")
        for name in POOLS
        if (pool := getattr(pools, name)) is not None
    }
    rests = any(each.pool.rest for each in found.values())
    isolated = pools.isolated
    if isolated is None:
        if not rests:
            found["isolated"] = Said(
                "isolated", Pool(rest=True), "pools.isolated", is_written=False
            )
    elif not rests and not has_size(isolated):
        rest = isolated.model_copy(update={"rest": True})
        found["isolated"] = Said("isolated", rest, "pools.isolated", is_written=False)
    parts = isolated.partitions if isolated else {}
    partitions = {
        PARTITION + name: Said(
            PARTITION + name, _part(pool, isolated), f"pools.isolated.partitions.{name}"
        )
        for name, pool in sorted(parts.items())
    }
    idle = [each for each in (*found.values(), *partitions.values()) if each.pool.sibling == IDLE]
    if idle and "offlined" not in found:
        found["offlined"] = Said(
            "offlined", Pool(min=0), f"{idle[0].field}.sibling", is_written=False
        )
    qos = {"bestEffort": node_class.spec.qos.best_effort, "other": node_class.spec.qos.other}
    over = {
        name: Said(name, pool, f"qos.{name}")
        for name in QOS_SETS
        if (pool := qos[name]) is not None
    }
    return {name: found[name] for name in POOLS if name in found} | partitions | over


def _part(pool: Pool, isolated: Pool | None) -> Pool:
    asks_for_cores = pool.whole_cores and "whole_cores" in pool.model_fields_set
    if isolated is None or isolated.sibling is None or pool.sibling is not None or asks_for_cores:
        return pool
    return pool.model_copy(update={"sibling": isolated.sibling})


def has_size(pool: Pool) -> bool:
    """Does it say how many CPUs, or which?"""
    return any(
        value is not None
        for value in (
            pool.cpus,
            pool.count,
            pool.cores,
            pool.percent,
            pool.rest,
            pool.min,
            pool.max,
        )
    )


def is_empty(pool: Pool) -> bool:
    """Is it said to have no CPU?"""
    return 0 in (pool.count, pool.cores, pool.max) or (pool.cpus is not None and not pool.cpus)


def sibling_of(pool: Pool) -> str | None:
    """The pool of the other threads of its cores, where it takes one thread of each."""
    return "offlined" if pool.sibling == IDLE else pool.sibling


def hosts_of(name: str, sets: dict[str, Said]) -> list[str]:
    """The sets that leave the other threads of their cores to this one; not partitions of such a
    pool.
    """
    return [
        each.name
        for each in sets.values()
        if sibling_of(each.pool) == name and not is_like_isolated(each, sets)
    ]


def is_like_isolated(each: Said, sets: dict[str, Said]) -> bool:
    """Is it a partition with the `sibling` that isolated has, which says all of it?"""
    isolated = sets.get("isolated")
    return (
        each.name.startswith(PARTITION)
        and isolated is not None
        and each.pool.sibling == isolated.pool.sibling
    )


def beside(name: str, sets: dict[str, Said]) -> tuple[str, ...]:
    """The sets that may share cores with a set of whole cores: a sibling statement says so, or pods
    cannot be there.
    """
    if name in QOS_SETS:
        return HIDDEN
    pairs = [(each.name, target) for each in sets.values() if (target := sibling_of(each.pool))]
    targets = [target for host, target in pairs if host == name or host.startswith(f"{name}.")]
    return tuple(dict.fromkeys((*hosts_of(name, sets), *targets)))
