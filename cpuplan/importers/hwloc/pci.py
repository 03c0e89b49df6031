"""The PCI devices of a hwloc topology, with their network interfaces."""

import re

from cpuplan.importers.hwloc.objects import Document, Object
from cpuplan.importers.machine import DeviceFacts, NumaFacts
from cpuplan.importers.sysroot import pci

#: Class without programming interface, ids of the function and of its subsystem, revision; version
#: 3 ends with the programming interface (hwloc__xml_export_object_contents).
_TYPE = re.compile(
    r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\](?: \[[0-9a-f:]{9}\])?(?: [0-9a-f]{2}(?: "
    r"([0-9a-f]{2}))?)?"
)
#: The name of virtual functions in pci.ids; hwloc marks them in no other way.
_VIRTUAL = re.compile(r"\bVirtual Function\b", re.IGNORECASE)
#: `osdev_type` of a network interface by version: an enumeration, then bits.
_NETWORK = {1: "2", 2: "2", 3: "16"}


def devices(document: Document, nodes: tuple[NumaFacts, ...]) -> tuple[DeviceFacts, ...]:
    """Functions of the interesting classes, by address, except those named virtual functions."""
    interfaces = _interfaces(document)
    by_address: dict[str, DeviceFacts] = {}
    for place, function in enumerate(document.objects):
        if function.type != "PCIDev" or _VIRTUAL.search(function.infos.get("PCIDevice", "")):
            continue
        address = function.element.attributes.get("pci_busid", "")
        match = _TYPE.fullmatch(function.element.attributes.get("pci_type", ""))
        if not match or not pci.ADDRESS.fullmatch(address):
            continue
        pci_class = int(match[1] + (match[4] or "00"), 16)
        if pci_class >> 16 in pci.CLASSES:
            names = tuple(sorted(interfaces.get(place, ())))
            ids = f"0x{match[2]}", f"0x{match[3]}"
            by_address.setdefault(
                address, DeviceFacts(address, pci_class, *ids, _node(function, nodes), None, names)
            )
    return tuple(by_address[address] for address in sorted(by_address))


def _interfaces(document: Document) -> dict[int, list[str]]:
    """Network interfaces by the place of their PCI function in the list of objects."""
    wanted = _NETWORK.get(document.version, _NETWORK[3])
    names: dict[int, list[str]] = {}
    for device in document.objects:
        attributes = device.element.attributes
        if (
            device.type == "OSDev"
            and attributes.get("osdev_type") == wanted
            and attributes.get("name")
        ):
            names.setdefault(device.parent, []).append(attributes["name"])
    return names


def _node(function: Object, nodes: tuple[NumaFacts, ...]) -> int | None:
    """The NUMA node whose CPUs the function is near to; None for one that is near to all CPUs.

    hwloc knows the CPUs (local_cpus), not the node: where the kernel knows no node, they are all
    CPUs.
    """
    if not function.near or sum(1 for node in nodes if node.cpus) < 2:
        return None
    return next((node.id for node in nodes if function.near <= node.cpus), None)
