"""Which devices of a node its device plugins offer to pods, as which resource.

Hardware documents say it. What the plugins of vendors of GPUs offer is known without.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.facts.device_plugins import CLASSES, KNOWN, Known
from cpuplan.language.model.inventory import Device, DevicePlugin, HardwareSpec
from cpuplan.language.read.documents import Document, Documents
from cpuplan.plan import NodeClass
from cpuplan.upstream.kubelet.devicemanager import pod_devices as kubelet
from cpuplan.upstream.kubelet.devicemanager.pod_devices import Plugin


def plugins_of(node_class: NodeClass) -> tuple[Plugin, ...]:
    """What all nodes of a class offer; a resource of which they offer unlike devices is left out.

    A resource of which the Hardware says nothing is offered as its vendor's plugin offers it.
    """
    sets = [_of_devices(devices, node_class.device_plugins) for devices in node_class.device_sets]
    common = set.intersection(*(set(offered.values()) for offered in sets))
    return tuple(plugin for plugin in sets[0].values() if plugin in common)


def stated(node_class: NodeClass) -> set[str]:
    """The resources of which the Hardware says which devices they are."""
    return {row.resource for row in node_class.device_plugins}


def check(documents: Documents) -> Iterator[Diagnostic]:
    """Rows of Hardware documents that select no device of any node."""
    for document in documents.of_kind("Hardware"):
        spec: HardwareSpec = document.spec
        devices = [*spec.devices, *_of_groups(documents, document)] if spec.device_plugins else []
        for index, row in enumerate(spec.device_plugins):
            if not any(selects(row, device) for device in devices):
                place = document.at("devicePlugins", index, "resource")
                yield diagnose(
                    "CP2585", place, resource=row.resource, problem=_problem(row, devices)
                )


def _of_groups(documents: Documents, hardware: Document) -> Iterator[Device]:
    """The devices that only some of the nodes with this hardware have."""
    for document in documents.of_kind("Nodes"):
        for group in document.spec.nodes:
            if (group.hardware or document.spec.hardware) == hardware.name:
                yield from group.devices


def _problem(row: DevicePlugin, devices: Sequence[Device]) -> str:
    """Why nothing is selected, with what could be."""
    if not devices:
        return "the hardware has no devices"
    for key, wanted in _selectors(row):
        if not any(_matches(key, wanted, device) for device in devices):
            has = sorted({text for device in devices for text in _values(key, device)})
            known = f"the devices have {', '.join(has[:4])}" if has else "no device says it"
            return f"{key} is {', '.join(wanted)}, but {known}"
    if row.functions:
        return "no device that matches has a number of virtual functions (functions)"
    return "no device matches all of its selectors"


def selects(row: DevicePlugin, device: Device) -> bool:
    """Whether a row is about a device, and a device of it can be given out."""
    if row.functions and not device.functions:
        return False
    return all(_matches(key, wanted, device) for key, wanted in _selectors(row))


def _selectors(row: DevicePlugin) -> Iterator[tuple[str, Sequence[str]]]:
    """The selectors that are given, by their keys."""
    selectors: dict[str, Sequence[str]] = {
        "class": (row.device_class,) if row.device_class else (),
        "vendors": row.vendors,
        "devices": row.devices,
        "drivers": row.drivers,
        "names": row.names,
        "addresses": row.addresses,
    }
    yield from ((key, wanted) for key, wanted in selectors.items() if wanted)


def _values(key: str, device: Device) -> tuple[str, ...]:
    values: dict[str, str | None] = {
        "class": device.device_class,
        "vendors": device.vendor,
        "devices": device.device,
        "drivers": device.driver,
        "names": device.name,
        "addresses": device.address,
    }
    value = values[key]
    return () if value is None else (value,)


def _matches(key: str, wanted: Collection[str], device: Device) -> bool:
    """Whether a device has one of the values; the ids of PCI are written in several ways."""
    if key not in ("vendors", "devices"):
        return not {*wanted}.isdisjoint(_values(key, device))
    return not {*map(pci_id, wanted)}.isdisjoint(map(pci_id, _values(key, device)))


def pci_id(text: str) -> str:
    """`0x10DE` is `10de`."""
    return text.lower().removeprefix("0x")


def _of_devices(devices: Sequence[Device], rows: Sequence[DevicePlugin]) -> dict[str, Plugin]:
    """By resource."""
    offered: dict[str, Plugin] = {}
    for row in rows:
        own = [part for device in devices if selects(row, device) for part in _parts(row, device)]
        known = offered.get(row.resource)
        before = known.devices if known else ()
        fresh = tuple(part for part in own if part not in before)
        may_prefer = row.preferred_allocation or bool(known and known.may_prefer)
        offered[row.resource] = Plugin(row.resource, (*before, *fresh), may_prefer)
    for known_plugin in KNOWN:
        own_devices = tuple(_device(device) for device in devices if _is_of(known_plugin, device))
        if own_devices and known_plugin.resource not in offered:
            offered[known_plugin.resource] = Plugin(known_plugin.resource, own_devices)
    return {resource: plugin for resource, plugin in offered.items() if plugin.devices}


def _is_of(known: Known, device: Device) -> bool:
    vendor = (device.vendor or "").lower()
    is_vendor = pci_id(vendor) == known.vendor or vendor.startswith(known.vendor_name)
    is_driven = device.driver is None or device.driver in known.drivers
    return is_vendor and is_driven and device.device_class in CLASSES


def _parts(row: DevicePlugin, device: Device) -> Iterable[kubelet.Device]:
    """The devices that a plugin makes of one."""
    whole = _device(device, with_nodes=row.numa_nodes)
    if row.count == 1 and not row.functions:
        return (whole,)
    number = (device.functions or 0) if row.functions else row.count
    return (whole._replace(id=f"{whole.id}/{part}") for part in range(number))


def _device(device: Device, *, with_nodes: bool = True) -> kubelet.Device:
    """As a plugin reports it: without a word on NUMA nodes where the kernel knows none."""
    known = with_nodes and device.numa_node is not None
    return kubelet.Device(
        device.address, (device.numa_node,) if known and device.numa_node is not None else None
    )
