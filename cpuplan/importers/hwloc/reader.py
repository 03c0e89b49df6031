"""hwloc's XML, versions 1 to 3, as `lstopo machine.xml` writes it: the machine that hwloc sees.

hwloc groups CPUs by masks and has its own rules (https://hwloc.readthedocs.io, "Frequently Asked
Questions"), so its packages, caches and NUMA nodes may differ from the kernel's. They are kept as
they are written.
"""

import re
from pathlib import Path

from cpuplan.base.cpuset import EMPTY, MAX_CPU, CpuSet, union
from cpuplan.base.naming import is_subdomain
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.importers import packed_files
from cpuplan.importers.base import Imported, Node, node_name
from cpuplan.importers.hwloc import cpus as hwloc_cpus
from cpuplan.importers.hwloc import numa as hwloc_numa
from cpuplan.importers.hwloc import pci as hwloc_pci
from cpuplan.importers.hwloc import xml as hwloc_xml
from cpuplan.importers.hwloc.objects import Document, Reader
from cpuplan.importers.hwloc.objects import read as read_objects
from cpuplan.importers.machine import Machine
from cpuplan.importers.packed_files import ArchiveError
from cpuplan.importers.sysroot import cpuinfo

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
        document = read_objects(hwloc_xml.parse(data, str(path)), reader)
    except (ArchiveError, hwloc_xml.XmlError) as error:
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
    kinds = hwloc_cpus.kinds(document, reader, online)
    architecture = _architecture(infos)
    implementer = cpuinfo.to_number(infos.get("CPUImplementer", "")) or 0
    nodes = hwloc_numa.numa_nodes(document, reader, online | offline)
    machine = Machine(
        architecture=architecture,
        vendor=infos.get("CPUVendor") or cpuinfo.ARM_VENDORS.get(implementer),
        model=infos.get("CPUModel"),
        model_number=cpuinfo.to_number(infos.get("CPUModelNumber", ""))
        if architecture == "x86_64"
        else None,
        online=online,
        offline=offline,
        siblings=hwloc_cpus.cores(document, online),
        core_ids=hwloc_cpus.core_ids(document, online),
        sockets=hwloc_cpus.sockets(document, online),
        dies=hwloc_cpus.dies(document, online),
        clusters=hwloc_cpus.clusters(document, online),
        core_types=hwloc_cpus.core_types(kinds),
        caches=hwloc_cpus.caches(document, reader, online),
        numa_nodes=nodes,
        huge_page_sizes=tuple(sorted({size for node in nodes for size in node.huge_pages})),
        devices=hwloc_pci.devices(document, nodes),
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


def _cpu_remarks(
    document: Document, machine: Machine, kinds: list[hwloc_cpus.Kind]
) -> tuple[Remark, ...]:
    packages = document.of_type("Package")
    numbered = len(packages) < 2 or hwloc_cpus.is_numbered(packages)
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
    lenders = ", ".join(map(str, hwloc_numa.lenders(document, nodes)))
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
