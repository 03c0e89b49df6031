"""A system root: /sys and /proc of a host, as folder or archive, and marks that software left.

Of the marks, cpuplan's units have the names and environment of the node tuning operator's, so both
are recognised.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from cpuplan.base.cpuset import EMPTY, MAX_CPU, CpuSet, CpuSetError
from cpuplan.base.naming import is_subdomain
from cpuplan.base.topology import MAX_NUMA_NODE
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.facts import platforms
from cpuplan.importers import join
from cpuplan.importers.base import (
    Imported,
    Machine,
    Marks,
    Node,
    NumaFacts,
    assumptions_in,
    node_name,
)
from cpuplan.importers.packed_files import ArchiveError
from cpuplan.importers.sysroot import cpuinfo, sysfs
from cpuplan.importers.sysroot.sysfs import DECIMAL, MAX_VALUE, Reader
from cpuplan.importers.trees import FolderTree, TarTree, Tree, system_root

UNITS = "etc/systemd/system"
OFFLINE_UNIT = "set-cpus-offline.service"
GRUB_DROP_IN = "etc/default/grub.d/50-cpuplan.cfg"
_PAGES_UNIT = re.compile(r"hugepages-allocation-[0-9]{1,9}kB-NUMA[0-9]{1,4}\.service")
_ENVIRONMENT = re.compile(r'^Environment="?(\w+)=([^"\n]*)"?$', re.MULTILINE)
_GRUB_LINE = re.compile(r'^GRUB_CMDLINE_LINUX="(?:\$GRUB_CMDLINE_LINUX )?(.*)"$', re.MULTILINE)


def read_marks(reader: Reader, machine: Machine) -> Marks:
    """The marks of the machine that `reader` reads; none where the tree lacks such files."""
    control = (reader.text(f"{sysfs.CPUS}/smt/control") or "").strip()
    grub = _GRUB_LINE.search(reader.text(GRUB_DROP_IN) or "")
    return Marks(
        switched_off=_switched_off(reader),
        huge_pages=dict(_huge_pages(reader)),
        smt_off=control in ("off", "forceoff"),
        grub=grub[1] if grub else "",
        linked=dict(_linked(reader, machine.offline)) if machine.offline else {},
    )


def _environment(reader: Reader, unit: str) -> dict[str, str]:
    return dict(_ENVIRONMENT.findall(reader.text(f"{UNITS}/{unit}") or ""))


def _switched_off(reader: Reader) -> CpuSet:
    try:
        return CpuSet.parse_kernel(_environment(reader, OFFLINE_UNIT).get("OFFLINE_CPUS", ""))
    except CpuSetError:
        return EMPTY


def _huge_pages(reader: Reader) -> Iterator[tuple[tuple[int, int], int]]:
    for unit in filter(_PAGES_UNIT.fullmatch, reader.tree.names(UNITS)):
        environment = _environment(reader, unit)
        values = [
            environment.get(key, "") for key in ("NUMA_NODE", "HUGEPAGES_SIZE", "HUGEPAGES_COUNT")
        ]
        if all(map(DECIMAL.fullmatch, values)):
            node, size, count = map(int, values)
            yield (node, size), count


def _linked(reader: Reader, offline: CpuSet) -> Iterator[tuple[int, CpuSet]]:
    for node in reader.numbered(sysfs.NODES, "node", MAX_NUMA_NODE):
        if cpus := CpuSet(reader.numbered(f"{sysfs.NODES}/node{node}", "cpu", MAX_CPU)) & offline:
            yield node, cpus


#: Folders that runtimes have on hosts.
_RUNTIMES = {"crio": ("etc/crio", "run/crio"), "containerd": ("etc/containerd", "run/containerd")}
_UNKNOWN = cpuinfo.CpuInfo(None, None, None, None)


def read(path: Path) -> Imported:
    """Read one machine, named after its host name if the tree has it, otherwise after the path."""
    try:
        tree: Tree = (
            FolderTree(system_root(path) or path, str(path))
            if os.path.isdir(path)
            else TarTree.open(path)
        )
    except ArchiveError as error:
        return Imported((), (), (error.diagnostic,))
    machine, remarks, diagnostics = read_machine(tree)
    if machine is None:
        return Imported((), (), tuple(diagnostics))
    name = _host_name(tree)
    if not name:
        name = node_name(path)
        remarks = [*remarks, f"there is no host name: the node is named {name}, after the file"]
    if platform := platforms.seen(partial(_is_there, tree)):
        use = f"platform: {platform.name} in its target"
        remarks = [*remarks, f"files of {platform.title} are there: use {use}"]
    node = Node(name, machine, {}, cluster_facts=_cluster_facts(tree))
    return Imported((node,), tuple(remarks), tuple(diagnostics))


def _is_there(tree: Tree, path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name in tree.names(folder)


def _cluster_facts(tree: Tree) -> dict[str, str]:
    """Version 1 of cgroups, which has a hierarchy for each controller; 2 is the default.

    The runtime too, if the host has files of a single one: without a kubelet, it is Docker's.
    """
    mounted = tree.names("sys/fs/cgroup")
    is_v1 = "cpuset" in mounted and "cgroup.controllers" not in mounted
    facts = {"cgroupMode": "v1"} if is_v1 else {}
    runtimes = [name for name, folders in _RUNTIMES.items() if any(map(tree.names, folders))]
    is_told = len(runtimes) == 1 and tree.names("var/lib/kubelet")
    return {**facts, "runtime": runtimes[0]} if is_told else facts


def _host_name(tree: Tree) -> str | None:
    for path in ("proc/sys/kernel/hostname", "etc/hostname"):
        name = (tree.read(path, MAX_VALUE) or "").strip().lower()
        if is_subdomain(name):
            return name
    return None


def read_machine(tree: Tree) -> tuple[Machine | None, list[str], list[Diagnostic]]:
    """The machine's facts, remarks on what the tree does not contain, and what is wrong with it."""
    reader = Reader(tree)
    try:
        machine, remarks = _read(reader)
    except ArchiveError as error:
        return None, [], [*tree.refused.diagnostics(), *reader.diagnostics, error.diagnostic]
    diagnostics = [*tree.refused.diagnostics(), *reader.diagnostics]
    if machine is None:
        diagnostics.append(diagnose("CP124", path=tree.name))
    return machine, remarks, diagnostics


def _read(reader: Reader) -> tuple[Machine | None, list[str]]:
    tree = reader.tree
    present, online = sysfs.present_and_online(reader)
    text = tree.read("proc/cpuinfo") or ""
    info = cpuinfo.parse(text) if text else _UNKNOWN
    if not online and text:
        # sysfs was not collected, which says nothing of what the kubelet finds there
        machine, files = _from_cpuinfo(reader, info, text), None
    else:
        machine = _from_sysfs(reader, info, present, online, text) if online else None
        files = sysfs.read_kubelet_files(reader, machine, text) if machine else None
    if machine is None:
        return None, []
    if any(node.memory is None for node in machine.numa_nodes):
        machine = _with_machineinfo(tree, machine)
    machine = machine._replace(kubelet=files, marks=read_marks(reader, machine))
    remarks = _remarks(reader, machine, info)
    return machine._replace(assumptions=assumptions_in(remarks)), remarks


def _from_sysfs(
    reader: Reader, info: cpuinfo.CpuInfo, present: CpuSet, online: CpuSet, cpuinfo_text: str
) -> Machine:
    architecture = info.architecture or _guess_architecture(reader, online)
    core_ids = sysfs.labels(reader, online, "core_id")
    sockets = sysfs.labels(reader, online, "physical_package_id")
    dies = sysfs.labels(reader, online, "die_id")
    if not core_ids and not sockets:  # a dump without `topology` folders
        core_ids, sockets = _ids(
            processor for processor in cpuinfo.processors(cpuinfo_text) if processor.cpu in online
        )
    cores = sysfs.siblings(reader, online)
    if architecture == "x86_64" and not sysfs.tells_siblings(reader, online.first):
        cores = _cores_by_ids(online, sockets, dies, core_ids)
    return Machine(
        architecture=architecture,
        vendor=info.vendor,
        model=info.model,
        model_number=info.model_number,
        online=online,
        offline=present - online,
        siblings=cores,
        core_ids=core_ids,
        sockets=sockets,
        dies=dies,
        clusters=sysfs.clusters(reader, online),
        core_types=sysfs.core_types(reader, online),
        caches=sysfs.caches(reader, online, cores),
        numa_nodes=_numa_nodes(reader, present),
        huge_page_sizes=_huge_page_sizes(reader),
        devices=sysfs.pci_devices(reader),
        boot_arguments=_boot_arguments(reader),
    )


def _with_machineinfo(tree: Tree, machine: Machine) -> Machine:
    """Memory of cAdvisor's view: gather-sysinfo collected it before it collected nodes' meminfo."""
    text = tree.read("machineinfo.json")
    if text is None:
        return machine
    from cpuplan.importers import data, machineinfo

    try:
        documents = data.parse(text)
    except data.DataError:
        return machine
    view = machineinfo.machine_of(
        data.mapping(documents[0] if documents else None), data.Complaints(tree.name)
    )
    nodes = () if view is None or view.online != machine.online else view.numa_nodes
    return machine._replace(numa_nodes=join.filled(machine.numa_nodes, nodes))


def _from_cpuinfo(reader: Reader, info: cpuinfo.CpuInfo, text: str) -> Machine | None:
    """A machine without sysfs: x86 prints package and core ids, and a core is a pair of them."""
    processors = [
        processor for processor in cpuinfo.processors(text) if 0 <= processor.cpu <= MAX_CPU
    ]
    cpus = CpuSet(processor.cpu for processor in processors)
    if not cpus:
        return None
    core_ids, sockets = _ids(processors)
    return Machine(
        architecture=info.architecture or "",
        vendor=info.vendor,
        model=info.model,
        model_number=info.model_number,
        online=cpus,
        offline=EMPTY,
        siblings=_cores_by_ids(cpus, sockets, {}, core_ids),
        core_ids=core_ids,
        sockets=sockets,
        dies={},
        clusters=(),
        core_types={},
        caches=(),
        numa_nodes=_numa_nodes(reader, cpus),
        huge_page_sizes=_huge_page_sizes(reader),
        devices=sysfs.pci_devices(reader),
        boot_arguments=_boot_arguments(reader),
    )


def _ids(processors: Iterable[cpuinfo.Processor]) -> tuple[dict[int, int], dict[int, int]]:
    """Core ids and sockets by CPU, as x86 prints them."""
    known = list(processors)
    core_ids = {
        processor.cpu: processor.core_id for processor in known if processor.core_id is not None
    }
    return core_ids, {
        processor.cpu: processor.socket for processor in known if processor.socket is not None
    }


def _cores_by_ids(
    cpus: CpuSet, sockets: Mapping[int, int], dies: Mapping[int, int], core_ids: Mapping[int, int]
) -> tuple[CpuSet, ...]:
    """The cores of x86 by socket, die and core id; a CPU with an unknown id is a core by itself."""
    cores: dict[tuple[int, int, int], CpuSet] = {}
    for cpu in cpus:
        known = cpu in sockets and cpu in core_ids
        key = (sockets[cpu], dies.get(cpu, 0), core_ids[cpu]) if known else (-1, -1, cpu)
        cores[key] = cores.get(key, EMPTY) | CpuSet((cpu,))
    return tuple(sorted(cores.values(), key=lambda siblings: siblings.first))


def _numa_nodes(reader: Reader, present: CpuSet) -> tuple[NumaFacts, ...]:
    """The NUMA nodes. A kernel without NUMA has one, and its memory is the machine's."""
    nodes = sysfs.numa_nodes(reader, present)
    if len(nodes) > 1 or (nodes and nodes[0].memory is not None):
        return nodes
    match = re.search(
        r"^MemTotal:[ \t]*([0-9]{1,15}) kB", reader.text("proc/meminfo") or "", re.MULTILINE
    )
    memory = int(match[1]) * 1024 if match else None
    if nodes:
        return (nodes[0]._replace(memory=memory),)
    return (NumaFacts(0, present, memory, (), sysfs.huge_pages(reader)),)


def _huge_page_sizes(reader: Reader) -> tuple[int, ...]:
    """Sizes in kB that the kernel has pools for."""
    return tuple(sysfs.huge_pages(reader)) or tuple(
        sorted({size for node in sysfs.numa_nodes(reader, EMPTY) for size in node.huge_pages})
    )


def _boot_arguments(reader: Reader) -> str | None:
    return (reader.text("proc/cmdline") or "").strip() or None


def _guess_architecture(reader: Reader, online: CpuSet) -> str:
    if reader.text(f"{sysfs.CPUS}/cpu{online.first}/regs/identification/midr_el1") is not None:
        return "aarch64"
    return ""


def _remarks(reader: Reader, machine: Machine, info: cpuinfo.CpuInfo) -> list[str]:
    """Facts that the tree does not contain, and the assumptions for them."""
    tree = reader.tree
    has_model = info.model or machine.architecture not in ("", "x86_64")
    tells_online = reader.text(f"{sysfs.CPUS}/online") or reader.text(f"{sysfs.CPUS}/offline")
    twice = sysfs.claimed_twice(reader)
    told = (
        (machine.architecture, join.ARCHITECTURE_MISSING, ""),
        (has_model, "the CPU model is missing", ""),
        (
            tells_online is not None,
            "offline CPUs are not listed: only CPUs that are marked offline count as offline",
            "",
        ),
        (machine.core_ids, "cores are missing: each CPU is treated as a core", ""),
        (machine.sockets, "sockets are missing: one is assumed", ""),
        (machine.caches, "caches are missing", ""),
        (
            tree.names(sysfs.NODES),
            "there are no NUMA nodes: all CPUs are treated as node 0",
            "",
        ),
        (
            all(node.memory is not None for node in machine.numa_nodes),
            "the memory of NUMA nodes is missing",
            "",
        ),
        (tree.names("sys/bus/pci/devices"), "PCI devices are missing", ""),
        (not twice, "CPUs {} are in several NUMA nodes: the lowest is used", twice),
    )
    return [text.format(value) for known, text, value in told if not known]
