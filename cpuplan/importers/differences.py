"""How machines of one model differ, in a few words each, what matters most for placing CPUs
first.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cpuplan.cpuset import CpuSet, cpus_text
from cpuplan.emit import to_yaml
from cpuplan.importers.base import CacheFacts, DeviceFacts, Machine
from cpuplan.importers.kubelet_block import kubelet_block
from cpuplan.quantity import to_text

#: The kernel keeps a little of the memory to itself at boot, never quite the same on two servers of
#: one model.
MEMORY_TOLERANCE = 64
#: Names of one kind that are told in full.
_MOST_NAMES = 3


def same_memory(one: int | None, other: int | None) -> bool:
    """Whether two amounts in bytes differ by no more than the kernel's share."""
    if one is None or other is None:
        return one is other
    return abs(one - other) <= max(one, other) // MEMORY_TOLERANCE


def differences(machine: Machine, other: Machine) -> list[str]:
    """What `machine` has that `other` has not, or the other way round; what no document tells is
    not compared.
    """
    return [
        *_cpus(machine, other),
        *_numa_nodes(machine, other),
        *_devices(machine, other),
        *_labels(machine, other),
    ]


def _cpus(a: Machine, b: Machine) -> Iterator[str]:
    """Offline CPUs, then the counts; members only where the counts are the same."""
    present, others = a.online | a.offline, b.online | b.offline
    if present != others:
        yield (
            f"{len(present)} CPUs, not {len(others)}"
            if len(present) != len(others)
            else "other CPU numbers"
        )
    elif a.online != b.online:
        off, on = b.online - a.online, a.online - b.online
        yield ", ".join(
            f"{cpus_text(cpus)} {state}"
            for cpus, state in ((off, "offline"), (on, "online"))
            if cpus
        )
    both = a.online & b.online
    yield from _groups(a.siblings, b.siblings, both, "cores", "siblings")
    yield from _groups(
        _by_label(a.sockets), _by_label(b.sockets), both, "sockets", "CPUs in the sockets"
    )
    yield from _groups(_by_label(a.dies), _by_label(b.dies), both, "dies", "CPUs in the dies")
    yield from _groups(
        _caches(a.caches),
        _caches(b.caches),
        both,
        "last-level caches",
        "CPUs in the last-level caches",
    )
    for level in sorted({cache.level for cache in (*a.caches, *b.caches)}, reverse=True):
        sizes, other_sizes = (_sizes(machine.caches, level) for machine in (a, b))
        if sizes != other_sizes and sizes and other_sizes:
            yield f"level {level} caches of {', '.join(sizes)}, not {', '.join(other_sizes)}"


def _groups(
    one: Iterable[CpuSet], other: Iterable[CpuSet], both: CpuSet, plural: str, members: str
) -> Iterator[str]:
    mine, theirs = list(one), list(other)
    if not mine or not theirs:
        if mine or theirs:
            yield f"{plural} {'are' if mine else 'are not'} told"
    elif {cpus & both for cpus in mine if cpus & both} == {
        cpus & both for cpus in theirs if cpus & both
    }:
        return
    elif len(mine) != len(theirs):
        yield f"{len(mine)} {plural}, not {len(theirs)}"
    else:
        yield f"other {members}"


def _by_label(labels: Mapping[int, int]) -> list[CpuSet]:
    groups: dict[int, list[int]] = {}
    for cpu, label in labels.items():
        groups.setdefault(label, []).append(cpu)
    return [CpuSet(cpus) for cpus in groups.values()]


def _caches(caches: Iterable[CacheFacts]) -> list[CpuSet]:
    return [cache.cpus for cache in caches if cache.level == 3]


def _sizes(caches: Iterable[CacheFacts], level: int) -> list[str]:
    return [
        to_text(size)
        for size in sorted({cache.size for cache in caches if cache.level == level and cache.size})
    ]


def _numa_nodes(a: Machine, b: Machine) -> Iterator[str]:
    mine, theirs = ({node.id: node for node in machine.numa_nodes} for machine in (a, b))
    if mine.keys() != theirs.keys():
        yield f"NUMA nodes {_numbers(mine)}, not {_numbers(theirs)}"
        return
    both = a.online & b.online
    if any(mine[node].cpus & both != theirs[node].cpus & both for node in mine):
        yield "other CPUs in the NUMA nodes"
    if any(mine[node].distances != theirs[node].distances for node in mine):
        yield "other NUMA distances"
    by_text: dict[str, list[int]] = {}
    for node in sorted(mine):
        memory, other = mine[node].memory, theirs[node].memory
        if not same_memory(memory, other):
            by_text.setdefault(_memory(memory, other), []).append(node)
    for text, nodes in by_text.items():
        several = len(nodes) > 1
        yield (
            f"NUMA nodes {_numbers(nodes)} have {text} each"
            if several
            else f"NUMA node {nodes[0]} has {text}"
        )


def _numbers(numbers: Iterable[int]) -> str:
    return str(CpuSet(numbers)) or "none"


def _memory(memory: int | None, other: int | None) -> str:
    if memory is None or other is None:
        return "its memory told" if other is None else "no memory told"
    unit = 1024**3 if abs(memory - other) >= 1024**3 else 1024**2
    amount = to_text(round(abs(memory - other) / unit) * unit)
    return f"{amount} {'less' if memory < other else 'more'} memory"


def _devices(a: Machine, b: Machine) -> Iterator[str]:
    mine, theirs = (
        {each.address: each for each in m.devices if not each.physical_function} for m in (a, b)
    )
    if missing := sorted(theirs.keys() - mine.keys()):
        yield f"no {_named('device', missing)}"
    if more := sorted(mine.keys() - theirs.keys()):
        yield f"{_named('device', more)} in addition"
    for address in sorted(mine.keys() & theirs.keys()):
        if text := _device(mine[address], theirs[address]):
            yield f"device {address} {text}"


def _named(noun: str, names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{noun}{'s' if len(names) > 1 else ''} {shown}{more}"


def _device(a: DeviceFacts, b: DeviceFacts) -> str:
    if (a.vendor, a.device, a.pci_class) != (b.vendor, b.device, b.pci_class):
        return f"is {a.vendor}:{a.device}, not {b.vendor}:{b.device}"
    if a.numa_node != b.numa_node:
        nodes = (
            "no NUMA node" if node is None else f"NUMA node {node}"
            for node in (a.numa_node, b.numa_node)
        )
        return "on {}, not {}".format(*nodes)
    if a.total_functions != b.total_functions:
        return f"with {a.total_functions or 0} virtual functions, not {b.total_functions or 0}"
    return ""


def _labels(a: Machine, b: Machine) -> Iterator[str]:
    """What only names CPUs, or changes nothing about where they are."""
    both = a.online & b.online

    def of_both(labels: Mapping[int, Any]) -> list[Any]:
        return [labels.get(cpu) for cpu in both]

    facts = (
        ("architecture", a.architecture, b.architecture),
        ("CPU vendor", a.vendor, b.vendor),
        ("CPU model number", a.model_number, b.model_number),
        ("core types", of_both(a.core_types), of_both(b.core_types)),
        ("clusters", {cpus & both for cpus in a.clusters}, {cpus & both for cpus in b.clusters}),
        ("huge page sizes", a.huge_page_sizes, b.huge_page_sizes),
        ("socket ids", of_both(a.sockets), of_both(b.sockets)),
        ("die ids", of_both(a.dies), of_both(b.dies)),
        ("core ids", of_both(a.core_ids), of_both(b.core_ids)),
        ("cache ids", [cache.id for cache in a.caches], [cache.id for cache in b.caches]),
        ("files that only the kubelet reads", to_yaml(kubelet_block(a)), to_yaml(kubelet_block(b))),
    )
    # A machine with other CPUs or caches has other ids too: that says nothing more.
    same_cpus = a.online | a.offline == b.online | b.offline
    known = {
        "core ids": same_cpus,
        "cache ids": same_cpus and len(a.caches) == len(b.caches),
        "files that only the kubelet reads": a.online == b.online,
    }
    if different := [name for name, one, other in facts if one != other and known.get(name, True)]:
        yield "other " + ", ".join(different)
