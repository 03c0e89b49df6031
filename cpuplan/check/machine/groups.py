"""Groups of CPUs, compared by their members, and by their numbers where these are known."""

from collections.abc import Mapping

from cpuplan.base.cpuset import EMPTY, CpuSet


def by_label(labels: Mapping[int, object]) -> dict[object, CpuSet]:
    """The CPUs of each label."""
    bits: dict[object, int] = {}
    for cpu, label in labels.items():
        bits[label] = bits.get(label, 0) | 1 << cpu
    return {label: CpuSet.from_bits(each) for label, each in bits.items()}


def displaced(wanted: Mapping[int, object], found: Mapping[int, object]) -> CpuSet:
    """The CPUs whose neighbours in a group are others than those that are wanted."""
    cpus = wanted.keys() & found.keys()
    expected = by_label({cpu: wanted[cpu] for cpu in cpus})
    seen = by_label({cpu: found[cpu] for cpu in cpus})
    if set(expected.values()) == set(seen.values()):
        return EMPTY
    return CpuSet(cpu for cpu in cpus if expected[wanted[cpu]] != seen[found[cpu]])


def renumbered(wanted: Mapping[int, int], found: Mapping[int, int]) -> CpuSet:
    """The CPUs with another number where most have theirs.

    Where most differ, the inventory has numbers of its own: a machine that a few counts describe
    has 0, 1, 2 where the kernel may have gaps.
    """
    cpus = wanted.keys() & found.keys()
    others = [cpu for cpu in cpus if wanted[cpu] != found[cpu]]
    return CpuSet(others) if len(others) * 2 < len(cpus) else EMPTY
