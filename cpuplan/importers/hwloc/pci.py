"""The PCI devices of a hwloc topology, with their network interfaces."""

import re

from cpuplan.importers.hwloc.objects import Document, Object
from cpuplan.importers.machine import DeviceFacts, NumaFacts
from cpuplan.importers.sysroot import pci

#: Class without programming interface, ids of the function and of its subsystem, revision; version
#: 3 ends with the programming interface (hwloc__xml_export_object_contents).
_TYPE = re.compile(
    r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\](?: \[[0-9a-f:]{9}\])?(?: [0-9a-f]{2}(?: ([0-9a-f]{2}))?)?"
)
#: How pci.ids calls virtual functions; hwloc tells them no other way.
_VIRTUAL = re.compile(r"\bVirtual Function\b", re.IGNORECASE)
#: `osdev_type` of a network interface by version: an enumeration, then bits.
_NETWORK = {1: "2", 2: "2", 3: "16"}


def devices(document: Document, nodes: tuple[NumaFacts, ...]) -> tuple[DeviceFacts, ...]:
    """Functions of the interesting classes, by address, except those named virtual functions."""
    interfaces = _interfaces(document)
    found: dict[str, DeviceFacts] = {}
    for place, each in enumerate(document.objects):
        if each.type != "PCIDev" or _VIRTUAL.search(each.infos.get("PCIDevice", "")):
            continue
        address = each.element.attributes.get("pci_busid", "")
        match = _TYPE.fullmatch(each.element.attributes.get("pci_type", ""))
        if not match or not pci.ADDRESS.fullmatch(address):
            continue
        pci_class = int(match[1] + (match[4] or "00"), 16)
        if pci_class >> 16 in pci.CLASSES:
            names = tuple(sorted(interfaces.get(place, ())))
            ids = f"0x{match[2]}", f"0x{match[3]}"
            found.setdefault(
                address, DeviceFacts(address, pci_class, *ids, _node(each, nodes), None, names)
            )
    return tuple(found[address] for address in sorted(found))


def _interfaces(document: Document) -> dict[int, list[str]]:
    """Network interfaces by the place of their PCI function in the list of objects."""
    wanted = _NETWORK.get(document.version, _NETWORK[3])
    found: dict[int, list[str]] = {}
    for each in document.objects:
        attributes = each.element.attributes
        if (
            each.type == "OSDev"
            and attributes.get("osdev_type") == wanted
            and attributes.get("name")
        ):
            found.setdefault(each.parent, []).append(attributes["name"])
    return found


def _node(each: Object, nodes: tuple[NumaFacts, ...]) -> int | None:
    """The NUMA node whose CPUs the function is near to; None for one that is near to all CPUs.

    hwloc knows the CPUs (local_cpus), not the node: where the kernel knows no node, they are all
    CPUs.
    """
    if not each.near or sum(1 for node in nodes if node.cpus) < 2:
        return None
    return next((node.id for node in nodes if each.near <= node.cpus), None)
