"""hwloc's XML, as `lstopo machine.xml` writes it: the machine, its CPUs, NUMA nodes and devices.

hwloc groups CPUs by masks and has its own rules (https://hwloc.readthedocs.io, "Frequently Asked
Questions"), so its packages, caches and NUMA nodes may differ from the kernel's. They are kept as
they are written.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, MAX_CPU, CpuSet, union
from cpuplan.base.naming import is_subdomain
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers import packed_files
from cpuplan.importers.base import (
    CacheFacts,
    DeviceFacts,
    Imported,
    Machine,
    Node,
    NumaFacts,
    assumptions_in,
    by_first_cpu,
    cache_order,
    distinct,
    node_name,
)
from cpuplan.importers.hwloc import xml
from cpuplan.importers.hwloc.xml import Document, Element, Object, Reader, cache_type
from cpuplan.importers.packed_files import ArchiveError
from cpuplan.importers.sysroot import cpuinfo, sysfs

#: `CoreType` of the CPU kinds of Intel's hybrids, and what their cores are called here.
_CORE_TYPES = {"IntelCore": "performance", "IntelAtom": "efficient", "IntelLowPower": "lowPower"}
#: Infos that a kernel tells kinds of cores apart by. Kinds that differ in frequency only may be
#: favoured cores.
_KIND_INFOS = frozenset({"CoreType", "LinuxCapacity", "CPUPart"})
_MAX_KIND = 9


class Kind(NamedTuple):
    """A kind of CPUs that hwloc knows: its efficiency, the lower the less power."""

    efficiency: int
    cpus: CpuSet
    infos: dict[str, str]


def cores(document: Document, online: CpuSet) -> tuple[CpuSet, ...]:
    """The cores; a PU that is in none is one by itself."""
    sets = [core.cpus for core in document.of_type("Core")]
    sets += [CpuSet((cpu,)) for cpu in online]
    return by_first_cpu(_disjoint(sets, online))


def core_ids(document: Document, online: CpuSet) -> dict[int, int]:
    """The kernel's core_id by CPU."""
    ids: dict[int, int] = {}
    for core in document.of_type("Core"):
        if core.number is not None:
            ids |= dict.fromkeys(core.cpus & online, core.number)
    return ids


def sockets(document: Document, online: CpuSet) -> dict[int, int]:
    """The package by CPU. One that has no number is the machine: the kernel knows no packages."""
    packages = document.of_type("Package")
    if len(packages) == 1 and packages[0].number is None:
        return {}
    return _labels(packages, online)


def dies(document: Document, online: CpuSet) -> dict[int, int]:
    """The die by CPU, numbered within each package."""
    labels: dict[int, int] = {}
    dies = document.of_type("Die")
    if document.version == 1:
        dies += [group for group in document.of_type("Group") if group.subtype == "Die"]
    packages = document.of_type("Package")
    for package in packages:
        labels |= _labels([die for die in dies if die.cpus <= package.cpus], online)
    return labels if packages else _labels(dies, online)


def is_numbered(objects: Sequence[Object]) -> bool:
    """Whether each has a number that no other has."""
    return len({member.number for member in objects} - {None}) == len(objects)


def _labels(objects: Sequence[Object], online: CpuSet) -> dict[int, int]:
    """The kernel's number by CPU; hwloc's own order where a number is missing or repeated."""
    own = is_numbered(objects)
    labels: dict[int, int] = {}
    for number, member in enumerate(objects):
        label = member.number if own and member.number is not None else number
        for cpu in member.cpus & online:
            labels.setdefault(cpu, label)
    return labels


def clusters(document: Document, online: CpuSet) -> tuple[CpuSet, ...]:
    """The clusters that the kernel numbers; hwloc merges those with the CPUs of another object.

    A cluster without a number is a quadrant of a Xeon Phi, which is a NUMA node.
    """
    clusters = [group for group in document.of_type("Group") if group.subtype == "Cluster"]
    sets = [cluster.cpus for cluster in clusters if cluster.number is not None]
    return by_first_cpu(_disjoint(sets, online))


def caches(document: Document, reader: Reader, online: CpuSet) -> tuple[CacheFacts, ...]:
    """The caches of level 2 and up, by level, type and lowest CPU; os_index is the kernel's id."""
    facts = []
    for cache in document.of_type("Cache"):
        cpus = cache.cpus & online
        if cache.level >= 2 and cpus:
            size = reader.number(cache.element, "cache_size") or None
            facts.append(CacheFacts(cache.level, cache_type(cache), size, cache.number, cpus))
    return tuple(distinct(sorted(facts, key=cache_order)))


def cpu_kinds(document: Document, reader: Reader, online: CpuSet) -> list[Kind]:
    """The kinds of CPUs that hwloc tells apart (versions 2 and 3), the least capable first."""
    kinds = []
    for place, element in enumerate(document.root.named("cpukind")):
        infos = {
            info.attributes.get("name", ""): info.attributes.get("value", "")
            for info in element.named("info")
        }
        cpus = reader.set(element, "cpuset") & online
        efficiency = reader.number(element, "forced_efficiency")
        if cpus:
            kinds.append(Kind(place if efficiency is None else efficiency, cpus, infos))
    return sorted(kinds, key=lambda kind: kind.efficiency)


def core_types(kinds: Sequence[Kind]) -> dict[int, str]:
    """The core type by CPU, where kinds differ in more than their frequencies."""
    known = [kind for kind in kinds if not _KIND_INFOS.isdisjoint(kind.infos)]
    if len(known) < 2:
        return {}
    names = [_CORE_TYPES.get(kind.infos.get("CoreType", "")) for kind in known]
    if None in names or len(set(names)) < len(names):
        names = [f"kind{min(rank, _MAX_KIND)}" for rank in range(len(known))]
    types: dict[int, str] = {}
    for kind, name in zip(known, names, strict=True):
        types |= dict.fromkeys(kind.cpus, name or "")
    return types


def _disjoint(sets: Iterable[CpuSet], cpus: CpuSet) -> list[CpuSet]:
    """The parts of `sets` that are in `cpus` and in none before; no empty ones."""
    parts: list[CpuSet] = []
    rest = cpus
    for cpus_of_set in sets:
        if part := cpus_of_set & rest:
            parts.append(part)
            rest -= part
    return parts


_LATENCY = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
#: hwloc_distances_kind_e: reported by the system, and a latency.
_FROM_SYSTEM = 1
_MEANS_LATENCY = 4

#: Distances by the numbers of two NUMA nodes.
Matrix = dict[tuple[int, int], int]


def numa_nodes(document: Document, reader: Reader, present: CpuSet) -> tuple[NumaFacts, ...]:
    """The NUMA nodes, ascending. Each CPU, also an offline or hidden one, is in at most one node.

    hwloc gives a memory-only node the CPUs that it is near to, so a CPU can be in several: of those
    it is in the node of ordinary memory (subtype DRAM), else in the smallest, and of equals in the
    first. hwloc 1 shows nodes without memory too, and takes them out of the node sets. A CPU whose
    own node is left out, since it has no memory, is in none.
    """
    shown = {
        node.number: node for node in reversed(document.of_type("NUMANode")) if _is_shown(node)
    }
    if not shown:
        machine = document.of_type("Machine")
        return tuple(_facts(node, 0, present, None, reader) for node in machine[:1])
    told = any(_memory(node, reader) is not None for node in shown.values())
    numbers = sorted(number for number in shown if number is not None)
    distances = _distances(document, numbers)
    rest = present - _without_node(document, reader)
    nodes = []
    for number in sorted(numbers, key=lambda number: _order(shown[number])):
        node = shown[number]
        cpus = node.cpus | reader.set(node.element, "complete_cpuset")
        nodes.append(_facts(node, number, cpus & rest, 0 if told else None, reader))
        rest -= cpus
    return tuple(
        node._replace(distances=distances.get(node.id, ()))
        for node in sorted(nodes, key=lambda n: n.id)
    )


def lending_nodes(document: Document, nodes: tuple[NumaFacts, ...]) -> list[int]:
    """The nodes that hwloc shows with CPUs which are all in other nodes."""
    shown = {node.number for node in document.of_type("NUMANode") if node.cpus}
    return [node.id for node in nodes if node.id in shown and not node.cpus]


def _without_node(document: Document, reader: Reader) -> CpuSet:
    """CPUs whose own NUMA node is left out, which `complete_nodeset` has and `nodeset` lacks.

    The kernel numbers the nodes of CPUs before those of memory only, so it is the lowest.
    """
    without = []
    for unit in document.of_type("PU"):
        near = reader.set(unit.element, "complete_nodeset")
        if near and near.first not in unit.nodes and unit.number is not None:
            without.append(unit.number)
    return CpuSet(without)


def _is_shown(node: Object) -> bool:
    return node.number is not None and (
        node.number in node.nodes or "nodeset" not in node.element.attributes
    )


def _order(node: Object) -> tuple[int, int, int]:
    index = node.number or 0
    if node.subtype == "DRAM":
        return 0, 0, index
    return (2 if node.subtype else 1), len(node.cpus), index


def _facts(
    node: Object, number: int, cpus: CpuSet, memory: int | None, reader: Reader
) -> NumaFacts:
    known = _memory(node, reader)
    return NumaFacts(
        number, cpus, memory if known is None else known, (), _huge_pages(node.element, reader)
    )


def _memory(node: Object, reader: Reader) -> int | None:
    """Bytes; hwloc leaves them out where there are none, or none are known."""
    return reader.number(node.element, "local_memory")


def _huge_pages(element: Element, reader: Reader) -> dict[int, int]:
    """Pages by size in kB; the smallest size is that of ordinary pages."""
    pages: dict[int, int] = {}
    for page in element.named("page_type"):
        size, count = reader.number(page, "size"), reader.number(page, "count")
        if size and size % 1024 == 0 and count is not None:
            pages[size // 1024] = count
    return {size: pages[size] for size in sorted(pages)[1:]}


def _distances(document: Document, numbers: list[int]) -> dict[int, tuple[int, ...]]:
    """Rows by node, columns ascending by node; {} without a matrix of exactly these nodes."""
    matrix = _matrix_1(document) if document.version == 1 else _matrix(document)
    if {number for number, _ in matrix} != set(numbers):
        return {}
    rows = {}
    for row in numbers:
        rows[row] = tuple(matrix[row, column] for column in numbers)
    return rows


def _matrix(document: Document) -> Matrix:
    """Versions 2 and 3: `distances2`; matrices of the system precede those that users added."""
    members = document.of_type("NUMANode")
    by_gp = {node.element.attributes.get("gp_index"): node.number for node in members}
    matrices: list[tuple[bool, Matrix]] = []
    for element in document.root.named("distances2"):
        kind = element.attributes.get("kind", "")
        bits = int(kind) if kind.isascii() and kind.isdecimal() and len(kind) < 9 else 0
        if element.attributes.get("type") != "NUMANode" or not bits & _MEANS_LATENCY:
            continue
        nodes = _numbers(element, "indexes")
        if element.attributes.get("indexing") == "gp":
            nodes = [by_gp.get(str(number)) or 0 for number in nodes]
        matrix = _square(nodes, _numbers(element, "u64values"))
        matrices.append((not bits & _FROM_SYSTEM, matrix))
    return min(matrices, key=lambda item: item[0])[1] if matrices else {}


def _matrix_1(document: Document) -> Matrix:
    """Version 1: latencies relative to a base, between all objects of one depth in their order."""
    nodes = [member.number or 0 for member in document.of_type("NUMANode")]
    for member in document.objects:
        for element in member.element.named("distances"):
            values = [item.attributes.get("value", "") for item in element.named("latency")]
            base = element.attributes.get("latency_base", "1")
            if len(values) == len(nodes) ** 2 and all(map(_LATENCY.fullmatch, [base, *values])):
                return _square(nodes, [round(float(base) * float(value)) for value in values])
    return {}


def _square(nodes: list[int], values: list[int]) -> Matrix:
    if len(values) != len(nodes) ** 2:
        return {}
    pairs = ((row, column) for row in nodes for column in nodes)
    return dict(zip(pairs, values, strict=True))


def _numbers(element: Element, name: str) -> list[int]:
    """The numbers in the text of all elements called `name`; [] if one of them is none."""
    words = " ".join(child.text for child in element.named(name)).split()
    known = all(word.isascii() and word.isdecimal() and len(word) < 10 for word in words)
    return [int(word) for word in words] if known else []


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


def pci_devices(document: Document, nodes: tuple[NumaFacts, ...]) -> tuple[DeviceFacts, ...]:
    """Functions of the interesting classes, by address, except those named virtual functions."""
    interfaces = _interfaces(document)
    by_address: dict[str, DeviceFacts] = {}
    for place, function in enumerate(document.objects):
        if function.type != "PCIDev" or _VIRTUAL.search(function.infos.get("PCIDevice", "")):
            continue
        address = function.element.attributes.get("pci_busid", "")
        match = _TYPE.fullmatch(function.element.attributes.get("pci_type", ""))
        if not match or not sysfs.PCI_ADDRESS.fullmatch(address):
            continue
        pci_class = int(match[1] + (match[4] or "00"), 16)
        if pci_class >> 16 in sysfs.PCI_CLASSES:
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


_ARCHITECTURES = frozenset({"x86_64", "aarch64", "ppc64le", "s390x", "riscv64", "loongarch64"})
#: What uname(1) calls 32-bit and big-endian kernels of an architecture.
_RELATED = {
    **dict.fromkeys(("i386", "i586", "i686", "amd64"), "x86_64"),
    **dict.fromkeys(("ppc", "ppc64"), "ppc64le"),
    "s390": "s390x",
}
#: Words of model names, where uname's is not there; the first that fits.
_MODELS = (
    (re.compile(r"itanium|sparc", re.IGNORECASE), "other"),
    (re.compile(r"\bpower[0-9]|\bppc9|cell broadband", re.IGNORECASE), "ppc64le"),
    (re.compile(r"loongson", re.IGNORECASE), "loongarch64"),
    (re.compile(r"intel|amd|zhaoxin|hygon|centaur|qemu virtual", re.IGNORECASE), "x86_64"),
)
_NEWEST = 3

#: Whether a fact is known; if not, the remark, and the value in it.
Remark = tuple[object, str, object]


def read(path: Path) -> Imported:
    """Read one machine, named after its host name if the file has it, otherwise after the file."""
    try:
        data = packed_files.unpack(packed_files.read_file(path), str(path))
        reader = Reader(str(path))
        document = xml.read(xml.parse_xml(data, str(path)), reader)
    except (ArchiveError, xml.XmlError) as error:
        return Imported((), (), (error.diagnostic,))
    machine, remarks = machine_of(document, reader)
    if machine is None:
        return Imported((), (), (*reader.diagnostics, diagnose("CP124", path=path)))
    name = document.infos.get("HostName", "").lower()
    if not is_subdomain(name) or name.startswith("localhost"):
        name = node_name(path)
        remarks.append(f"there is no host name: the node is named {name}, after the file")
    return _imported(name, machine, remarks, reader.diagnostics)


def _imported(
    name: str, machine: Machine, remarks: list[str], diagnostics: list[Diagnostic]
) -> Imported:
    machine = machine._replace(assumptions=assumptions_in(remarks))
    node = Node(name, machine, {}, partial=True)
    return Imported(
        (node,), tuple(f"node {name}: {remark}" for remark in remarks), tuple(diagnostics)
    )


def machine_of(document: Document, reader: Reader) -> tuple[Machine | None, list[str]]:
    """The machine's facts, and remarks on what the file does not contain."""
    online, offline = _cpus(document, reader)
    if not online:
        return None, []
    packages = document.of_type("Package")
    infos = {
        key: value for package in reversed(packages) for key, value in package.infos.items()
    } | document.infos
    kinds = cpu_kinds(document, reader, online)
    architecture = _architecture(infos)
    implementer = cpuinfo.to_number(infos.get("CPUImplementer", "")) or 0
    nodes = numa_nodes(document, reader, online | offline)
    machine = Machine(
        architecture=architecture,
        vendor=infos.get("CPUVendor") or cpuinfo.ARM_VENDORS.get(implementer),
        model=infos.get("CPUModel"),
        model_number=cpuinfo.to_number(infos.get("CPUModelNumber", ""))
        if architecture == "x86_64"
        else None,
        online=online,
        offline=offline,
        siblings=cores(document, online),
        core_ids=core_ids(document, online),
        sockets=sockets(document, online),
        dies=dies(document, online),
        clusters=clusters(document, online),
        core_types=core_types(kinds),
        caches=caches(document, reader, online),
        numa_nodes=nodes,
        huge_page_sizes=tuple(sorted({size for node in nodes for size in node.huge_pages})),
        devices=pci_devices(document, nodes),
        boot_arguments=None,
    )
    remarks = (
        *_cpu_remarks(document, machine, kinds),
        *_hidden_remarks(document, reader, machine),
        *_other_remarks(document, machine),
    )
    return machine, [text.format(value) for known, text, value in remarks if not known]


def _cpus(document: Document, reader: Reader) -> tuple[CpuSet, CpuSet]:
    """The CPUs that are shown, and those that are there (`complete_cpuset`) and are not shown.

    These are offline, or a cgroup hid them, which only hwloc 1 tells apart (`online_cpuset`). In
    each case their cores are unknown, so all count as offline.
    """
    numbers = []
    for unit in document.of_type("PU"):
        if unit.number is None or unit.number > MAX_CPU:
            reader.complain(
                unit.element,
                str(unit.number),
                f"the `os_index` of a PU is not a CPU up to {MAX_CPU}",
            )
        else:
            numbers.append(unit.number)
    shown = CpuSet(numbers)
    machines = [machine.element for machine in document.of_type("Machine")]
    present = shown | union(reader.set(element, "complete_cpuset") for element in machines)
    listed = union(reader.set(element, "online_cpuset") for element in machines)
    online = shown & listed or shown
    return online, present - online


def _architecture(infos: dict[str, str]) -> str:
    """The architecture as in uname(1), else by implementer or model name; "" if unknown."""
    told = infos.get("Architecture", "").lower()
    if told:
        name = _RELATED.get(told, told)
        return name if name in _ARCHITECTURES else "other"
    if "CPUImplementer" in infos:
        return "aarch64" if infos.get("CPUArchitecture", "8") in cpuinfo.ARM_64 else "other"
    model = f"{infos.get('CPUVendor', '')} {infos.get('CPUModel', '')}"
    return next((name for words, name in _MODELS if words.search(model)), "")


def _cpu_remarks(document: Document, machine: Machine, kinds: list[Kind]) -> tuple[Remark, ...]:
    packages = document.of_type("Package")
    numbered = len(packages) < 2 or is_numbered(packages)
    unlike = len(kinds) if len(kinds) > 1 and not machine.core_types else 0
    return (
        (document.of_type("Core"), "cores are missing: each CPU is treated as a core", ""),
        (numbered, "packages have no numbers, or share them: they are numbered in order", ""),
        (not unlike, "{} kinds of CPUs differ only in frequency: they are treated as one", unlike),
    )


def _hidden_remarks(document: Document, reader: Reader, machine: Machine) -> tuple[Remark, ...]:
    """Remarks on CPUs that a cgroup hid from hwloc, or may have hidden.

    A file that shows CPUs which are not allowed shows all.
    """
    machines = [machine.element for machine in document.of_type("Machine")]
    allowed = union(reader.set(element, "allowed_cpuset") for element in machines)
    listed = union(reader.set(element, "online_cpuset") for element in machines)
    hidden = listed & machine.offline
    confined = document.infos.get("LinuxCgroup", "/") != "/"
    unsure = (
        machine.offline
        if confined and not hidden and (not allowed or machine.online <= allowed)
        else EMPTY
    )
    return (
        (
            not hidden,
            "a cgroup hid CPUs {}: they count as offline, lstopo --disallowed shows them",
            hidden,
        ),
        (
            not unsure,
            "CPUs {} are offline, or a cgroup hid them: lstopo --disallowed shows which",
            unsure,
        ),
    )


def _other_remarks(document: Document, machine: Machine) -> tuple[Remark, ...]:
    nodes = machine.numa_nodes
    lenders = ", ".join(map(str, lending_nodes(document, nodes)))
    homeless = machine.online - union(node.cpus for node in nodes)
    loose = machine.online - CpuSet(machine.sockets) if machine.sockets else EMPTY
    return (
        (
            document.version <= _NEWEST,
            "version {} of the format is newer than this importer",
            document.version,
        ),
        (
            not lenders,
            "NUMA nodes {} have CPUs of others: they are treated as memory-only nodes",
            lenders,
        ),
        (not homeless, "CPUs {} are in no NUMA node", homeless),
        (
            not loose,
            "CPUs {} are in no package: hwloc omits packages that overlap a NUMA node in part",
            loose,
        ),
        (
            not machine.devices,
            "drivers, SR-IOV, and the NUMA nodes of devices near all CPUs are missing",
            "",
        ),
    )
