"""The importer of hwloc's XML against recorded machines: it gives what hwloc sees, which `views`
tells.

A view has only the keys in which hwloc differs from the kernel's files; for the others the kernel's
truth counts. What a file does not hold, such as memory in one made from a dump without it, must not
be in the document either.
"""

import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cpuplan import importers
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.text import quantity_bytes
from cpuplan.base.topology import UNKNOWN, Topology
from cpuplan.fleet import hardware
from cpuplan.importers.base import Machine
from cpuplan.language.model.inventory import HardwareSpec, Layout
from tests.conformance.comparing import differ, grouped, texts
from tests.conformance.round_trip import read_machine

#: Keys of `views` by the name of a file, the first one that is there.
_VIEWS = {
    "hwloc-v1.xml": ("hwloc-v1.xml", "hwloc 2.9.0", "hwloc"),
    "hwloc-v2.xml": ("hwloc 2.9.0", "hwloc"),
    "hwloc-v2-disallowed.xml": ("hwloc 2.9.0 --disallowed",),
    "hwloc-v3.xml": ("hwloc 3.0.0a1", "hwloc"),
}
_CORE_TYPES = {"IntelCore": "performance", "IntelAtom": "efficient", "IntelLowPower": "lowPower"}
#: PCI base classes that say something about where CPUs should be.
_PCI_CLASSES = frozenset({0x01, 0x02, 0x03, 0x0B, 0x0D, 0x10, 0x12, 0x40})

Facts = dict[str, Any]
#: Size and id by level, type and CPUs.
Caches = dict[tuple[int, str, str], tuple[int | None, int | None]]


def check(path: Path, expected: Facts) -> Iterator[str]:
    """What of the machine in the file `path` is not as hwloc sees it."""
    imported = importers.run(None, [path], "corpus")
    made = read_machine(imported)
    yield from made.problems
    spec, topology = made.hardware[0] if made.hardware else (None, None)
    if spec is None or spec.topology is None or topology is None:
        yield "no topology"
        return
    view = _view(path, expected)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    yield from _check_cpus(expected, view, spec.topology, topology)
    yield from _check_types(path, expected, topology)
    yield from _check_numa(expected, view, spec.topology, topology, data)
    yield from _check_caches(expected, view, spec.topology, topology)
    yield from _check_infos(expected, spec, data)
    tree = ElementTree.fromstring(data)  # noqa: S314
    yield from _check_devices(expected, imported.nodes[0].machine, spec, tree)


def _view(path: Path, expected: Facts) -> Facts:
    views: dict[str, Facts] = expected["views"]
    found = next(
        (views[name] for name in _VIEWS[path.name.removesuffix(".gz")] if name in views), {}
    )
    return {**views.get("hwloc 2.9.0", {}), **found} if path.name.startswith("hwloc-v1") else found


def _check_cpus(expected: Facts, view: Facts, layout: Layout, topology: Topology) -> Iterator[str]:
    """CPUs, and their groups: as sets, and where these are the kernel's, by its labels too."""
    cpus = {cpu["cpu"]: cpu for cpu in expected["cpus"]}
    shown = (
        _set(view["cpus"]) if "cpus" in view else CpuSet(cpu for cpu in cpus if cpus[cpu]["online"])
    )
    present = _set(view["complete_cpus"]) if "complete_cpus" in view else CpuSet(cpus)
    yield from differ("online", shown, topology.online)
    yield from differ("offline", present - shown, topology.offline)
    if topology.online != shown:
        return
    kernel = {
        "cores": {cpu: cpus[cpu]["siblings"] for cpu in shown},
        "sockets": {
            cpu: tuple(cpus[cpu].get(key) for key in ("drawer", "book", "socket")) for cpu in shown
        },
        "dies": {
            cpu: (cpus[cpu]["socket"], cpus[cpu]["die"])
            for cpu in shown
            if cpus[cpu]["die"] is not None
        },
    }
    found: dict[str, dict[int, object]] = {
        "cores": {cpu.cpu: cpu.core for cpu in topology.cpus},
        "sockets": {cpu.cpu: cpu.socket for cpu in topology.cpus},
        "dies": {cpu.cpu: (cpu.socket, cpu.die) for cpu in topology.cpus},
    }
    for key, groups in kernel.items():
        if key in view:
            wanted = [CpuSet(_set(text)) for text in view[key]]
        else:
            wanted = _groups(groups)
        if key == "cores":  # a CPU without a core is one by itself
            wanted += [CpuSet((cpu,)) for cpu in shown if not any(cpu in core for core in wanted)]
        if wanted:  # hwloc leaves a level out that says nothing: one die in each package
            yield from differ(key, texts(wanted), texts(_groups(found[key])))
    yield from _check_labels(cpus, view, topology)
    clusters = {
        cpu: (kernel["sockets"][cpu], cpus[cpu]["die"], cpus[cpu].get("cluster")) for cpu in shown
    }
    if strangers := set(texts(layout.clusters)) - set(texts(_groups(clusters))):
        yield f"clusters {strangers} are none"


def _check_labels(cpus: dict[int, Facts], view: Facts, topology: Topology) -> Iterator[str]:
    packages = {cpu: cpus[cpu]["socket"] for cpu in topology.online}
    unlike = "sockets" in view and texts(map(_set, view["sockets"])) != texts(_groups(packages))
    for cpu in topology.cpus:
        known = cpus[cpu.cpu]
        siblings = _set(known["siblings"]) if known["siblings"] else CpuSet()
        if (
            known["core"] is not None
            and known["core"] >= 0
            and siblings
            and siblings.first == cpu.cpu
        ):
            yield from differ(f"cpu {cpu.cpu} core", known["core"], cpu.core_id)
        if known["socket"] is not None and known["socket"] >= 0 and not unlike:
            yield from differ(f"cpu {cpu.cpu} socket", known["socket"], cpu.socket)


def _check_types(path: Path, expected: Facts, topology: Topology) -> Iterator[str]:
    """Kinds of cores: version 1 has none, and hwloc 2.9 splits a kind (GB10) by its capacities."""
    kinds = [] if path.name.startswith("hwloc-v1") else (expected.get("hwloc_cpukinds") or [])
    found: dict[str, CpuSet] = {}
    for cpu in topology.cpus:
        found[cpu.core_type] = found.get(cpu.core_type, CpuSet()) | CpuSet((cpu.cpu,))
    if len(kinds) < 2:
        yield from differ("types", [""], sorted(found))
        return
    names = [_CORE_TYPES.get(kind["info"].get("CoreType"), "") for kind in kinds]
    for kind, name in zip(kinds, names, strict=True):
        inside = sorted(each for each in found if found[each] <= _set(kind["cpus"]))
        members = CpuSet(cpu for each in inside for cpu in found[each])
        yield from differ(f"kind of {kind['cpus']}", kind["cpus"], str(members))
        if name or path.name.startswith("hwloc-v3"):
            yield from differ(
                f"types of {kind['cpus']}", [name or f"kind{kinds.index(kind)}"], inside
            )


def _check_numa(
    expected: Facts, view: Facts, layout: Layout, topology: Topology, data: bytes
) -> Iterator[str]:
    """A CPU that hwloc shows in several nodes (memory-only ones lie near it) is in the one that the
    kernel says.
    """
    kernel = {node["id"]: node for node in expected["numa"]}
    shown = {int(key): _set(text) for key, text in view["numa"].items()} if "numa" in view else None
    if shown is None:
        shown = {number: _set(node["cpus"]) for number, node in kernel.items()}
    nodes = {node.id: node for node in layout.numa_nodes}
    yield from differ("numa ids", sorted(shown), sorted(nodes))
    cpus = {cpu["cpu"]: cpu for cpu in expected["cpus"]}
    for cpu in topology.cpus:
        several = [number for number, members in shown.items() if cpu.cpu in members]
        wanted = several[0] if len(several) == 1 else cpus[cpu.cpu]["numa"] if several else UNKNOWN
        yield from differ(f"cpu {cpu.cpu} numa", wanted, cpu.numa_node)
    for number in nodes.keys() & kernel.keys():
        node, truth = nodes[number], kernel[number]
        memory = truth["memory_bytes"] if b"local_memory=" in data else None
        yield from differ(
            f"node {number} memory", memory, quantity_bytes(node.memory) if node.memory else None
        )
        pages = {
            int(size) * 1024: count for size, count in truth.get("hugepages", {}).items() if count
        }
        if "hugepages" in truth:
            wanted = pages if b"<page_type" in data else {}
            yield from differ(
                f"node {number} pages",
                wanted,
                {quantity_bytes(s): n for s, n in node.huge_pages.items()},
            )
        yield from differ(
            f"node {number} distances", _row(truth, kernel, nodes, data), node.distances
        )


def _row(
    truth: Facts, kernel: dict[int, Facts], nodes: dict[int, Any], data: bytes
) -> tuple[int, ...]:
    """The distances to the nodes that are shown; hwloc writes none for a single node."""
    if len(nodes) < 2 or b"<distances" not in data or len(truth["distances"] or ()) != len(kernel):
        return ()
    return tuple(
        row
        for number, row in zip(sorted(kernel), truth["distances"], strict=True)
        if number in nodes
    )


def _check_caches(
    expected: Facts, view: Facts, layout: Layout, topology: Topology
) -> Iterator[str]:
    found: Caches = {}
    for cache in layout.caches:
        domains = hardware.cache_domains(layout, cache)
        ids = hardware.numbers(cache.ids) if cache.ids is not None else [None] * len(domains)
        for cpus, label in zip(domains, ids, strict=True):
            found[cache.level, cache.type, str(cpus)] = (
                quantity_bytes(cache.size) if cache.size else None,
                label,
            )
    if "l3" in view:
        third = [_set(cpus) for level, _, cpus in found if level == 3]
        yield from differ("l3", texts(map(_set, view["l3"])), texts(third))
    if "caches" not in expected:  # known from hwloc only: its third level is all that was recorded
        known = {cpu["cpu"]: cpu["l3_id"] for cpu in expected["cpus"]}
        for (level, _, members), (_, number) in found.items():
            if level == 3:
                yield from differ(f"L3 of {members} id", known[_set(members).first], number)
        return
    yield from _check_recorded_caches(expected["caches"], view, found, topology.online)


def _check_recorded_caches(
    caches: list[Facts], view: Facts, found: Caches, online: CpuSet
) -> Iterator[str]:
    """The caches that the kernel tells. hwloc fills in maps that are empty, and where it sees other
    cores (Bulldozer's compute units) it puts their caches together.
    """
    unmapped = {(cache["level"], cache["type"]) for cache in caches if not cache["cpus"]}
    joined = set()
    for cache in caches:
        cpus = _set(cache["cpus"]) & online
        level, kind = cache["level"], cache["type"]
        if not cpus or (level == 3 and "l3" in view and str(cpus) not in view["l3"]):
            continue
        key = (level, kind, str(cpus))
        if key not in found and "cores" in view:
            key = next(
                (each for each in found if each[:2] == (level, kind) and cpus <= _set(each[2])), key
            )
        joined.add(key)
        size, label = found.get(key, (-1, None))
        yield from differ(f"L{level} of {cpus}", cache["size_bytes"], size)
        if level >= 3:
            yield from differ(f"L{level} of {cpus} id", cache["id"], label)
    for key in found.keys() - joined:
        if key[:2] not in unmapped and not (key[0] == 3 and "l3" in view):
            yield f"cache {key} is none"


def _check_infos(expected: Facts, spec: HardwareSpec, data: bytes) -> Iterator[str]:
    if b'name="CPUModel"' in data and expected["model"] and spec.architecture == "x86_64":
        yield from differ("model", " ".join(expected["model"].split()), spec.model)
    if b'name="Architecture"' in data:
        yield from differ(
            "architecture",
            {"ppc64": "ppc64le"}.get(expected["arch"], expected["arch"]),
            spec.architecture,
        )


def _check_devices(
    expected: Facts, machine: Machine, spec: HardwareSpec, root: ElementTree.Element
) -> Iterator[str]:
    near = dict(_functions(root, CpuSet()))
    wanted = {
        pci["address"]: pci
        for pci in expected["pci"]
        if pci["address"] in near and _class(pci) in _PCI_CLASSES
    }
    devices = {device.address: device for device in machine.devices}
    if expected["pci"]:  # some dumps have devices that only hwloc finds
        yield from differ("pci addresses", sorted(wanted), sorted(devices))
    for address in wanted.keys() & devices.keys():
        pci, device = wanted[address], devices[address]
        local = near[address]
        if "class_and_ids" in pci:
            words = pci["class_and_ids"].split()
            ids = (
                f"{int(words[0], 16):x}",
                "[" + f"{device.vendor}:{device.device}".replace("0x", "") + "]",
            )
            yield from differ(f"pci {address} ids", (f"{device.pci_class >> 8:x}", words[1]), ids)
            yield from differ(f"pci {address} cpus", _set(pci["cpus"]), local)
        else:
            yield from differ(
                f"pci {address} class", int(pci["class"], 16) >> 8, device.pci_class >> 8
            )
            yield from differ(
                f"pci {address} ids", (pci["vendor"], pci["device"]), (device.vendor, device.device)
            )
        places = [node.id for node in machine.numa_nodes if local and local <= node.cpus]
        several = sum(1 for node in machine.numa_nodes if node.cpus) > 1
        yield from differ(
            f"pci {address} numa", places[0] if places and several else None, device.numa_node
        )
        if device.numa_node is not None and (pci.get("numa") or -1) >= 0:
            yield from differ(f"pci {address} kernel's numa", pci["numa"], device.numa_node)
        if device.interfaces and pci.get("net"):
            yield from differ(f"pci {address} interfaces", tuple(pci["net"]), device.interfaces)
    yield from differ(
        "written devices", sorted(devices), sorted(device.address for device in spec.devices)
    )


def _class(pci: Facts) -> int:
    return (
        int(pci["class_and_ids"][:2], 16) if "class_and_ids" in pci else int(pci["class"], 16) >> 16
    )


def _functions(element: ElementTree.Element, near: CpuSet) -> Iterator[tuple[str, CpuSet]]:
    """PCI functions and the CPUs of what they hang on; hidden ones where all of them are."""
    if element.get("cpuset") is not None:
        near = _bitmap(element.get("cpuset")) or _bitmap(element.get("complete_cpuset"))
    if element.get("type") == "PCIDev":
        yield element.get("pci_busid", ""), near
    for child in element:
        yield from _functions(child, near)


def _bitmap(text: str | None) -> CpuSet:
    words = (text or "0x0").split(",")
    digits = "".join((word or "0").removeprefix("0x").zfill(8) for word in words)
    return CpuSet.from_bits(int(digits, 16))


def _groups(labels: Mapping[int, object]) -> list[CpuSet]:
    """CPUs by equal label, which must not be None."""
    return grouped((cpu, label) for cpu, label in labels.items() if label is not None)


def _set(text: str) -> CpuSet:
    return CpuSet.parse_kernel(text)
