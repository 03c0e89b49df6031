"""A machine's facts as the `spec` of a Hardware document: all groups of CPUs, no default ids."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.base.emit import Flow
from cpuplan.base.text import printable, quantity_text
from cpuplan.importers.base import CacheFacts, DeviceFacts, KubeletFiles, Machine, NumaFacts

#: The CPUs of a core, ascending.
_Core = tuple[int, ...]


def cores(machine: Machine) -> Iterator[dict[str, Any]]:
    """A row for all cores of one type and width, as long as every list of their threads ascends."""
    default = _default_ids(machine)
    for kind, chain in _chains(machine):
        threads = [CpuSet(cpus).kernel_list() for cpus in zip(*chain, strict=True)]
        ids = _core_ids(machine.core_ids, default, chain)
        yield {"type": kind, "threads": Flow(threads), "ids": Flow(ids) if ids else None}


def _chains(machine: Machine) -> list[tuple[str, list[_Core]]]:
    """The cores that become a row together, with their type."""
    chains: list[tuple[str, list[_Core]]] = []
    for siblings in machine.siblings:
        core = tuple(siblings)
        kind = machine.core_types.get(core[0], "")
        for name, chain in chains:
            if name == kind and _continues(chain[-1], core):
                chain.append(core)
                break
        else:
            chains.append((kind, [core]))
    return chains


def _continues(last: _Core, core: _Core) -> bool:
    return len(last) == len(core) and all(a < b for a, b in zip(last, core, strict=True))


def _default_ids(machine: Machine) -> dict[int, int]:
    """The core_id that a document without ids stands for: 0, 1, ... within each socket."""
    counts: dict[int, int] = {}
    ids = {}
    for siblings in machine.siblings:
        socket = max(machine.sockets.get(siblings.first, 0), -1)
        number = counts.get(socket, 0)
        ids.update(dict.fromkeys(siblings, number))
        counts[socket] = number + 1
    return ids


def _core_ids(ids: dict[int, int], default: dict[int, int], chain: list[_Core]) -> list[str]:
    """The ids of each list of threads, one list if all are the same; none where they are default.

    -1 stands where the kernel says so, or has an id for other cores only.
    """
    cpus = [cpu for core in chain for cpu in core]
    if not any(cpu in ids for cpu in cpus) or all(ids.get(cpu) == default[cpu] for cpu in cpus):
        return []
    rows = [_row(ids, threads) for threads in zip(*chain, strict=True)]
    differ = any(row != rows[0] for row in rows)
    return [sequence(row) for row in (rows if differ else rows[:1])]


def _row(ids: dict[int, int], threads: Iterable[int]) -> list[int]:
    return [max(ids.get(cpu, -1), -1) for cpu in threads]


def sequence(numbers: Sequence[int]) -> str:
    """`0-2,0-2` for 0, 1, 2, 0, 1, 2."""
    pairs = enumerate(pairwise(numbers), start=1)
    breaks = [at for at, (low, high) in pairs if high != low + 1 or low < 0]
    runs = [numbers[start:end] for start, end in pairwise([0, *breaks, len(numbers)])]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def kubelet_block(machine: Machine) -> dict[str, Any] | None:
    """None where the files say nothing that does not follow from the rest of the document."""
    files = machine.kubelet
    if files is None:
        return None
    unread = (files.unread_caches - _taken_as_unread(machine)) & _with_uncore_cache(machine)
    values = {
        "noNumaNodes": files.no_numa_nodes or None,
        "numaNodes": _links(machine, files),
        "unlabelled": files.unlabelled.kernel_list() or None,
        "unreadCaches": unread.kernel_list() or None,
        "sockets": None if files.sockets == _documented_sockets(machine) else files.sockets,
        "books": _kubelet_groups(files.books),
        "drawers": _kubelet_groups(files.drawers),
    }
    return {key: value for key, value in values.items() if value is not None} or None


def _links(machine: Machine, files: KubeletFiles) -> list[Flow] | None:
    """The NUMA nodes by links; None where links and lists of CPUs agree."""
    links = files.numa_links
    listed = {node.id: node.cpus & machine.online for node in machine.numa_nodes}
    if links is None or all(links.get(node, EMPTY) == cpus for node, cpus in listed.items()):
        return None
    return [_group(node, links[node]) for node in sorted(links) if links[node]]


def _with_uncore_cache(machine: Machine) -> CpuSet:
    """All CPUs where any has an uncore cache: the kubelet stops at the first unreadable core."""
    return machine.online if any(cache.level > 2 for cache in machine.caches) else EMPTY


def _taken_as_unread(machine: Machine) -> CpuSet:
    """CPUs of caches without ids, which `fleet.kubelet_files.facts` takes for unreadable anyway."""
    if machine.architecture in ("x86_64", "s390x"):
        return EMPTY
    return union(cache.cpus for cache in machine.caches if cache.level > 2 and cache.id is None)


def _documented_sockets(machine: Machine) -> int:
    labels = {max(label, -1) for label in machine.sockets.values()}
    if labels and machine.sockets.keys() < set(machine.online):
        labels.add(-1)
    return len(labels) or 1


def _kubelet_groups(labels: Mapping[int, int]) -> list[Flow] | None:
    """Groups of CPUs by label; None if all have one, or the machine reports none."""
    cpus: dict[int, list[int]] = {}
    for cpu, label in labels.items():
        cpus.setdefault(max(label, -1), []).append(cpu)
    if len(cpus) < 2:
        return None
    return [_group(label, CpuSet(cpus[label])) for label in sorted(cpus)]


#: From this level on the kubelet distinguishes caches by their ids (uncore cache), so they are
#: kept.
_LEVEL_WITH_IDS = 3


def caches(
    facts: Iterable[CacheFacts], groups: dict[str, list[CpuSet]]
) -> Iterator[dict[str, Any]]:
    """A row for all caches of one level, type and size.

    `per` names the kind of `groups` of which each has one; other caches list their CPUs.
    """
    alike: dict[tuple[int, str, int], list[CacheFacts]] = {}
    for cache in facts:
        size = -1 if cache.size is None else cache.size
        alike.setdefault((cache.level, cache.type, size), []).append(cache)
    for (level, kind, size), members in sorted(alike.items()):
        sets = {cache.cpus for cache in members}
        per = next((name for name, cpus in groups.items() if set(cpus) == sets), None)
        yield {
            "level": level,
            "type": None if kind == "Unified" else kind,
            "size": None if size < 0 else quantity_text(size),
            "per": per,
            "cpus": None if per else [cache.cpus.kernel_list() for cache in members],
            "ids": _ids(level, members),
        }


def _ids(level: int, members: list[CacheFacts]) -> str | None:
    ids = [cache.id for cache in members if cache.id is not None and cache.id >= 0]
    return sequence(ids) if level >= _LEVEL_WITH_IDS and len(ids) == len(members) else None


#: Graphics of management controllers: Matrox, ASPEED, Nuvoton, Huawei (pci.ids).
_BMC_VENDORS = frozenset({"0x102b", "0x1a03", "0x1050", "0x19e5"})
#: Of a text in a document (`model.document`).
_LONGEST_LINE = 1_000
#: Kinds of devices by PCI base class (pci.ids).
_DEVICE_CLASSES = {0x01: "storage", 0x02: "network", 0x03: "gpu", 0x0D: "network"}
#: Processing accelerators, encryption and co-processors (pci.ids).
_ACCELERATORS = (0x10, 0x12, 0x40)
_CO_PROCESSOR = 0x0B40  # class and subclass


def hardware_spec(machine: Machine) -> dict[str, Any]:
    """The spec, with keys in reading order; what is not known is left out."""
    sizes = [quantity_text(size * 1024) for size in machine.huge_page_sizes]
    devices = [device for device in machine.devices if device.physical_function is None]
    return _known(
        {
            "architecture": machine.architecture,
            "vendor": _line(machine.vendor),
            "model": _line(machine.model),
            "modelNumber": machine.model_number,
            "topology": _topology(machine),
            "hugePageSizes": Flow(sizes) if sizes else None,
            "devices": list(map(_device, devices)),
        }
    )


def _topology(machine: Machine) -> dict[str, Any]:
    sockets = _groups(machine.sockets)
    dies = _dies(machine, sockets)
    clusters = [] if set(machine.clusters) <= set(machine.siblings) else list(machine.clusters)
    nodes = [node.cpus & machine.online for node in machine.numa_nodes]
    groups = {
        "core": list(machine.siblings),
        "cluster": clusters,
        "die": [cpus for _, cpus in dies],
        "socket": [cpus for _, cpus in sockets],
        "numaNode": [cpus for cpus in nodes if cpus],
    }
    return _known(
        {
            "offline": machine.offline.kernel_list(),
            "cores": [_known(row) for row in cores(machine)],
            "sockets": [_group(label, cpus) for label, cpus in sockets],
            "dies": [_group(label, cpus) for label, cpus in dies],
            "clusters": _sets(clusters),
            "numaNodes": [_numa_node(node) for node in machine.numa_nodes],
            "caches": [Flow(_known(row)) for row in caches(machine.caches, groups)],
            "kubelet": kubelet_block(machine) if machine.kubelet else None,
        }
    )


def _known(data: dict[str, Any]) -> dict[str, Any]:
    """`data` without keys that have nothing to say; zeros and false stay."""
    empty: tuple[Any, ...] = (None, [], "", {})
    return {key: value for key, value in data.items() if value not in empty}


def _group(label: int, cpus: CpuSet) -> Flow:
    return Flow({"id": label, "cpus": cpus.kernel_list()})


def _sets(sets: Iterable[CpuSet]) -> Flow | None:
    texts = [cpus.kernel_list() for cpus in sets]
    return Flow(texts) if texts else None


def _groups(labels: dict[int, int]) -> list[tuple[int, CpuSet]]:
    """Groups of CPUs by label, ascending; a negative label means that the kernel knows none."""
    bits: dict[int, int] = {}
    for cpu, label in labels.items():
        known = max(label, -1)
        bits[known] = bits.get(known, 0) | 1 << cpu
    return [(label, CpuSet.from_bits(bits[label])) for label in sorted(bits)]


def _dies(machine: Machine, sockets: list[tuple[int, CpuSet]]) -> list[tuple[int, CpuSet]]:
    """The dies by socket; none where each socket has only die 0 (the default), or none is known."""
    if not set(machine.dies.values()) - {0, -1}:
        return []
    return [
        (label, cpus & members)
        for _, members in sockets or [(0, machine.online)]
        for label, cpus in _groups(machine.dies)
        if cpus & members
    ]


def _numa_node(node: NumaFacts) -> Flow:
    pages = {quantity_text(size * 1024): count for size, count in node.huge_pages.items() if count}
    values = {
        "id": node.id,
        "cpus": node.cpus.kernel_list(),
        "memory": None if node.memory is None else quantity_text(node.memory),
        "hugePages": pages,
        "distances": list(node.distances),
    }
    return Flow(_known(values))


def _device(device: DeviceFacts) -> Flow:
    values = {
        "address": device.address,
        "class": _device_class(device),
        "vendor": _line(device.vendor),
        "device": _line(device.device),
        "driver": _line(device.driver),
        "name": _line(device.interfaces[0]) if device.interfaces else None,
        "numaNode": device.numa_node,
        "functions": device.total_functions or None,
    }
    return Flow(_known(values))


def _line(text: str | None) -> str | None:
    """A text of firmware or of a driver, as documents take it: on one line, and visible."""
    return None if text is None else printable(text)[:_LONGEST_LINE]


def _device_class(device: DeviceFacts) -> str:
    """The kind of a device by its PCI class."""
    base = device.pci_class >> 16
    if base == 0x03 and device.vendor in _BMC_VENDORS:
        return "other"
    if base in _ACCELERATORS or device.pci_class >> 8 == _CO_PROCESSOR:
        return "accelerator"
    return _DEVICE_CLASSES.get(base, "other")
