"""A machine's facts as the `spec` of a Hardware document: every group of CPUs, and no id that would
be the default.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from cpuplan.cpuset import CpuSet
from cpuplan.emit import Flow
from cpuplan.importers.base import CacheFacts, DeviceFacts, Machine, NumaFacts
from cpuplan.importers.kubelet_block import kubelet_block
from cpuplan.quantity import to_text

#: From this level on the kubelet tells caches apart by their ids (uncore cache), so they are kept.
_LEVEL_WITH_IDS = 3
#: Graphics of management controllers: Matrox, ASPEED, Nuvoton, Huawei (pci.ids).
_BMC_VENDORS = frozenset({"0x102b", "0x1a03", "0x1050", "0x19e5"})


def hardware_spec(machine: Machine) -> dict[str, Any]:
    """The spec, with keys in reading order; what is not known is left out."""
    sizes = [to_text(size * 1024) for size in machine.huge_page_sizes]
    return _known(
        {
            "architecture": machine.architecture,
            "vendor": machine.vendor,
            "model": machine.model,
            "modelNumber": machine.model_number,
            "topology": _topology(machine),
            "hugePageSizes": Flow(sizes) if sizes else None,
            "devices": [
                _device(device) for device in machine.devices if device.physical_function is None
            ],
        }
    )


def _topology(machine: Machine) -> dict[str, Any]:
    sockets = _groups(machine.sockets)
    dies = _dies(machine, sockets)
    clusters = [] if set(machine.clusters) <= set(machine.siblings) else list(machine.clusters)
    groups = {
        "core": list(machine.siblings),
        "cluster": clusters,
        "die": [cpus for _, cpus in dies],
        "socket": [cpus for _, cpus in sockets],
        "numaNode": [
            node.cpus & machine.online for node in machine.numa_nodes if node.cpus & machine.online
        ],
    }
    return _known(
        {
            "offline": machine.offline.kernel_list(),
            "cores": _cores(machine),
            "sockets": [_group(label, cpus) for label, cpus in sockets],
            "dies": [_group(label, cpus) for label, cpus in dies],
            "clusters": _sets(clusters),
            "numaNodes": [_numa_node(node) for node in machine.numa_nodes],
            "caches": _caches(machine.caches, groups),
            "kubelet": kubelet_block(machine) if machine.kubelet else None,
        }
    )


def _known(data: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in data.items() if value is not None and value not in ([], "", {})
    }


def _group(label: int, cpus: CpuSet) -> Flow:
    return Flow({"id": label, "cpus": cpus.kernel_list()})


def _sets(sets: Iterable[CpuSet]) -> Flow | None:
    texts = [cpus.kernel_list() for cpus in sets]
    return Flow(texts) if texts else None


def _groups(labels: dict[int, int]) -> list[tuple[int, CpuSet]]:
    """Groups of CPUs by label, ascending by label; negative ones mean that the kernel knows
    none.
    """
    bits: dict[int, int] = {}
    for cpu, label in labels.items():
        known = max(label, -1)
        bits[known] = bits.get(known, 0) | 1 << cpu
    return [(label, CpuSet.from_bits(bits[label])) for label in sorted(bits)]


def _dies(machine: Machine, sockets: list[tuple[int, CpuSet]]) -> list[tuple[int, CpuSet]]:
    """The dies, by socket; none where each socket has one, 0, which is the default, or the kernel
    knows none.
    """
    if not set(machine.dies.values()) - {0, -1}:
        return []
    return [
        (label, cpus & members)
        for _, members in sockets or [(0, machine.online)]
        for label, cpus in _groups(machine.dies)
        if cpus & members
    ]


def _cores(machine: Machine) -> list[dict[str, Any]]:
    """Cores of one type and as many threads each go together as long as every list of threads
    ascends.
    """
    chains: list[tuple[str, list[tuple[int, ...]]]] = []
    for siblings in machine.siblings:
        core = tuple(siblings)
        kind = machine.core_types.get(core[0], "")
        for name, chain in chains:
            last = chain[-1]
            if (
                name == kind
                and len(last) == len(core)
                and all(a < b for a, b in zip(last, core, strict=True))
            ):
                chain.append(core)
                break
        else:
            chains.append((kind, [core]))
    default = _default_ids(machine)
    found = []
    for kind, chain in chains:
        threads = [CpuSet(cpus).kernel_list() for cpus in zip(*chain, strict=True)]
        ids = _core_ids(machine.core_ids, default, chain)
        found.append(
            _known({"type": kind, "threads": Flow(threads), "ids": Flow(ids) if ids else None})
        )
    return found


def _default_ids(machine: Machine) -> dict[int, int]:
    """What a core_id is taken to be where a document tells none: 0, 1, ... within each socket."""
    count: dict[int, int] = {}
    ids = {}
    for siblings in machine.siblings:
        socket = max(machine.sockets.get(siblings.first, 0), -1)
        ids.update(dict.fromkeys(siblings, count.get(socket, 0)))
        count[socket] = count.get(socket, 0) + 1
    return ids


def _core_ids(
    ids: dict[int, int], default: dict[int, int], chain: list[tuple[int, ...]]
) -> list[str]:
    """The ids of each list of threads; -1 where the kernel says so, or says nothing while it does
    of other cores.
    """
    if not any(cpu in ids for core in chain for cpu in core):
        return []
    rows = [[max(ids.get(cpu, -1), -1) for cpu in cpus] for cpus in zip(*chain, strict=True)]
    if all(ids.get(cpu) == default[cpu] for core in chain for cpu in core):
        return []
    return [sequence(row) for row in (rows if any(row != rows[0] for row in rows) else rows[:1])]


def sequence(numbers: Sequence[int]) -> str:
    """`0-2,0-2` for 0, 1, 2, 0, 1, 2."""
    starts = [
        0,
        *(at for at, (a, b) in enumerate(pairwise(numbers), start=1) if b != a + 1 or a < 0),
        len(numbers),
    ]
    runs = (numbers[start:end] for start, end in pairwise(starts))
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _numa_node(node: NumaFacts) -> Flow:
    pages = {to_text(size * 1024): count for size, count in node.huge_pages.items() if count}
    memory = None if node.memory is None else to_text(node.memory)
    distances = list(node.distances) or None
    values = {"id": node.id, "cpus": node.cpus.kernel_list(), "memory": memory, "hugePages": pages}
    return Flow(_known({**values, "distances": distances}))


def _caches(caches: Iterable[CacheFacts], groups: dict[str, list[CpuSet]]) -> list[Flow]:
    """Caches of one level, type and size go together; `per` says where they are if each group of a
    kind has one.
    """
    alike: dict[tuple[int, str, int], list[CacheFacts]] = {}
    for cache in caches:
        alike.setdefault(
            (cache.level, cache.type, -1 if cache.size is None else cache.size), []
        ).append(cache)
    return [
        _cache(level, kind, size, members, groups)
        for (level, kind, size), members in sorted(alike.items())
    ]


def _cache(
    level: int, kind: str, size: int, members: list[CacheFacts], groups: dict[str, list[CpuSet]]
) -> Flow:
    sets = {cache.cpus for cache in members}
    per = next((name for name, cpus in groups.items() if set(cpus) == sets), None)
    ids = [cache.id for cache in members if cache.id is not None and cache.id >= 0]
    kept = level >= _LEVEL_WITH_IDS and len(ids) == len(members)
    return Flow(
        _known(
            {
                "level": level,
                "type": None if kind == "Unified" else kind,
                "size": None if size < 0 else to_text(size),
                "per": per,
                "cpus": None if per else [cache.cpus.kernel_list() for cache in members],
                "ids": sequence(ids) if kept else None,
            }
        )
    )


def _device(device: DeviceFacts) -> Flow:
    return Flow(
        _known(
            {
                "address": device.address,
                "class": _device_class(device),
                "vendor": device.vendor,
                "device": device.device,
                "driver": device.driver,
                "name": device.interfaces[0] if device.interfaces else None,
                "numaNode": device.numa_node,
                "functions": device.total_functions or None,
            }
        )
    )


def _device_class(device: DeviceFacts) -> str:
    """The kind of a device by its PCI class (pci.ids)."""
    base = device.pci_class >> 16
    if base == 0x03 and device.vendor in _BMC_VENDORS:
        return "other"
    if device.pci_class >> 8 == 0x0B40 or base in (0x10, 0x12, 0x40):
        return "accelerator"
    return {0x01: "storage", 0x02: "network", 0x03: "gpu", 0x0D: "network"}.get(base, "other")
