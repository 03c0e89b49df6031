"""Chooses CPUs by the kubelet's allocator, given how many come from which cell."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from cpuplan.upstream.kubelet.cpu.policy_static import StaticPolicy
from cpuplan.upstream.kubelet.dynamic.flow import Shares
from cpuplan.upstream.kubelet.dynamic.repacking import Cells, Item
from cpuplan.upstream.kubelet.errors import HangError, KubeletError

K = TypeVar("K")


def units(policy: StaticPolicy, usable: int) -> list[int]:
    """The CPUs or (full-pcpus-only) the whole cores within a set, each as a set.

    Cores that differ in size from most are left out: on such machines room may be missed.
    """
    if not policy.options.full_pcpus_only:
        return [1 << row.cpu for row in policy.topology.rows if usable >> row.cpu & 1]
    size = unit_size(policy)
    return [
        core
        for core in policy.topology.cores.values()
        if not core & ~usable and core.bit_count() == size
    ]


def unit_size(policy: StaticPolicy) -> int:
    """The CPUs of a unit: one, or (full-pcpus-only) the most common size of a core."""
    sizes = [core.bit_count() for core in policy.topology.cores.values()]
    return (
        max(sizes, key=lambda size: (sizes.count(size), size))
        if policy.options.full_pcpus_only
        else 1
    )


def choose(
    policy: StaticPolicy, items: Mapping[K, Item], cells: Cells, shares: Iterable[Shares]
) -> dict[K, int]:
    """The sets of `items` for their shares: first what each keeps, then what each gets."""
    size = cells[0][0].bit_count() if cells else 1
    free = [sum(cell) for cell in cells]
    sets: dict[K, int] = dict.fromkeys(items, 0)

    def give(key: K, number: int, cpus: int) -> None:
        sets[key] |= cpus
        free[number] &= ~cpus

    parts = list(zip(items.items(), shares, strict=True))
    for (key, item), item_shares in parts:
        for number, (kept, _) in enumerate(item_shares):
            whole = sum(unit for unit in cells[number] if not unit & ~item.old)
            give(key, number, take(policy, whole, kept * size))
    for (key, _), item_shares in parts:
        for number, (_, got) in enumerate(item_shares):
            give(key, number, take(policy, free[number], got * size))
    return sets


def take(policy: StaticPolicy, cpus: int, count: int) -> int:
    """The kubelet's choice of `count` of `cpus`; the lowest cores where that is not usable."""
    if cpus.bit_count() == count:
        return cpus
    try:
        taken = policy.take_by_topology(cpus, count)
    except (KubeletError, HangError):
        taken = 0
    is_whole = not policy.options.full_pcpus_only or policy.topology.siblings_of(taken) == taken
    if taken.bit_count() == count and not taken & ~cpus and is_whole:
        return taken
    return _take_lowest(policy, cpus, count)


def _take_lowest(policy: StaticPolicy, cpus: int, count: int) -> int:
    taken = 0
    for core in policy.topology.cores.values():
        inside = core & cpus
        while inside and taken.bit_count() < count:
            taken |= inside & -inside
            inside &= inside - 1
    return taken
