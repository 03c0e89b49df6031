"""A machine's facts as the `spec` of a Hardware document: all groups of CPUs, no default ids."""

from collections.abc import Iterable
from typing import Any

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.emit import Flow
from cpuplan.base.printable import printable
from cpuplan.base.quantity import to_text
from cpuplan.importers.documents.caches import caches
from cpuplan.importers.documents.cores import cores
from cpuplan.importers.documents.kubelet_block import kubelet_block
from cpuplan.importers.machine import DeviceFacts, Machine, NumaFacts

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
    sizes = [to_text(size * 1024) for size in machine.huge_page_sizes]
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
    pages = {to_text(size * 1024): count for size, count in node.huge_pages.items() if count}
    values = {
        "id": node.id,
        "cpus": node.cpus.kernel_list(),
        "memory": None if node.memory is None else to_text(node.memory),
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
