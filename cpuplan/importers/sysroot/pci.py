"""/sys/bus/pci: the functions that matter for placing CPUs (ABI/testing/sysfs-bus-pci)."""

import re

from cpuplan.importers.machine import DeviceFacts
from cpuplan.importers.sysroot.values import Reader
from cpuplan.importers.trees import Tree

_DEVICES = "sys/bus/pci/devices"
ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
#: The end of the link of a network interface.
_INTERFACE = re.compile(rf"/({ADDRESS.pattern})(?:/virtio[0-9]+)?/net/[^/]+\Z")
_ID = re.compile(r"0x[0-9a-fA-F]{4,8}")
#: Base classes (pci.ids, "List of known device classes"): storage, network, display, processors,
#: wireless, crypto, accelerators, coprocessors. Bridges, system peripherals and performance
#: counters are left out.
CLASSES = frozenset({0x01, 0x02, 0x03, 0x0B, 0x0D, 0x10, 0x12, 0x40})


def devices(reader: Reader) -> tuple[DeviceFacts, ...]:
    """Functions by address; a virtual one is on the NUMA node of its physical one."""
    tree = reader.tree
    interfaces = _interfaces(tree)
    by_address: dict[str, DeviceFacts] = {}
    for address in filter(ADDRESS.fullmatch, tree.names(_DEVICES)):
        pci_class = reader.number(f"{_DEVICES}/{address}/class")
        if pci_class is not None and pci_class >> 16 in CLASSES:
            by_address[address] = _device(reader, address, pci_class, interfaces.get(address, ()))
    for address, device in by_address.items():
        owner = by_address.get(device.physical_function or "")
        if owner and device.numa_node is None:
            by_address[address] = device._replace(numa_node=owner.numa_node)
    return tuple(by_address.values())


def _device(
    reader: Reader, address: str, pci_class: int, interfaces: tuple[str, ...]
) -> DeviceFacts:
    tree, folder = reader.tree, f"{_DEVICES}/{address}"
    node = reader.number(f"{folder}/numa_node")
    return DeviceFacts(
        address=address,
        pci_class=pci_class,
        vendor=_id(reader, f"{folder}/vendor"),
        device=_id(reader, f"{folder}/device"),
        numa_node=None if node is None or node < 0 else node,
        driver=_last(tree.link(f"{folder}/driver")),
        interfaces=interfaces or _interfaces_in(tree, folder),
        total_functions=_count(reader, f"{folder}/sriov_totalvfs"),
        functions=_count(reader, f"{folder}/sriov_numvfs"),
        physical_function=_last(tree.link(f"{folder}/physfn")),
    )


def _interfaces(tree: Tree) -> dict[str, tuple[str, ...]]:
    """Network interfaces by PCI address, from links `../../devices/pci.../0000:31:00.0/net/ens1f0`.

    Snapshots have these links and not the folders that they lead to. A virtio device stands
    between: `0000:00:03.0/virtio0/net/eth0`.
    """
    names: dict[str, tuple[str, ...]] = {}
    for name in tree.names("sys/class/net"):
        match = _INTERFACE.search(tree.link(f"sys/class/net/{name}") or "")
        if match:
            address = match[1]
            names[address] = (*names.get(address, ()), name)
    return names


def _interfaces_in(tree: Tree, folder: str) -> tuple[str, ...]:
    """The interfaces of a PCI function and of its virtio devices, by its folder."""
    names = tree.names(f"{folder}/net")
    for name in tree.names(folder):
        if name.startswith("virtio"):
            names += tree.names(f"{folder}/{name}/net")
    return tuple(names)


def _id(reader: Reader, path: str) -> str | None:
    """`0x8086`, as the kernel writes it."""
    text = (reader.text(path) or "").strip()
    if text and not _ID.fullmatch(text):
        reader.complain(path, text, "it is not an id such as 0x8086")
        return None
    return text or None


def _count(reader: Reader, path: str) -> int | None:
    """A number of virtual functions; the field has 16 bits (PCIe, "SR-IOV Extended Capability")."""
    number = reader.number(path)
    return None if number is None else min(max(number, 0), 0xFFFF)


def _last(target: str | None) -> str | None:
    return target.rstrip("/").rpartition("/")[2] if target else None
