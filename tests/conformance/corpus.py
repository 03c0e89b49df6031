"""The hardware importers against recorded machines: `expected.json` says what is true about each.

A machine is imported by the public functions, written as documents, read back by the reader of
every other document, and built into a Topology. What the machine's files do not say (null there) is
not compared, and labels that the kernel gives for "unknown" (-1, and 65535 as a cluster) count as
not said.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from cpuplan import importers
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.text import quantity_bytes
from cpuplan.base.topology import UNKNOWN, Cpu, Topology
from cpuplan.fleet import hardware
from cpuplan.importers.base import Machine
from cpuplan.language.model.inventory import HardwareSpec, Layout
from tests.conformance import corpus_hwloc, corpus_kubelet, corpus_lscpu, corpus_objects
from tests.conformance.comparing import differ, grouped, judged, texts
from tests.conformance.round_trip import read_machine

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
#: expected.json has short names for the kinds of Intel's cores.
_CORE_TYPES = {"P": "performance", "E": "efficient", "LPE": "lowPower"}
#: PCI base classes that say nothing about where CPUs should be: bridges, timers, counters, buses
#: and the like.
_PCI_IGNORED = frozenset(
    {0x00, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0C, 0x0E, 0x11, 0x13, 0xFF}
)
#: expected.json has the interfaces of a function itself, not those of its virtio device.
_VIRTIO = "0x1af4"

Facts = dict[str, Any]
#: What is wrong with a file, given the machine's facts.
Check = Callable[[Path, Facts], Iterable[str]]


def run(paths: Iterable[Path] = ()) -> Iterator[tuple[str, list[str]]]:
    """(case, what differs) for every file that a check is for, of the machines at `paths`.

    A path is the folder of a machine, or a folder of such folders.
    """
    for folder in _machines(sorted(paths) or [CORPUS]):
        for pattern, check_file in CHECKS:
            for path in sorted(folder.glob(pattern)):
                failures = judged(path.name, partial(_failures, path, check_file))
                yield f"{folder.name}/{path.name}", failures


def _machines(folders: Iterable[Path]) -> Iterator[Path]:
    """The folders that have an expected.json, and those that have no such folder in them."""
    for folder in folders:
        below = sorted(path.parent for path in folder.glob("*/expected.json"))
        yield from [folder] if (folder / "expected.json").exists() or not below else below


def _failures(path: Path, check_file: Check) -> Iterator[str]:
    expected = json.loads(path.with_name("expected.json").read_text())
    for failure in check_file(path, expected):
        yield f"{path.name}: {failure}"


def check(archive: Path, expected: Facts, *, whole: bool = True) -> Iterator[str]:
    """What of the machine in `archive` is not as expected; a snapshot that is not `whole` may say
    less.
    """
    imported = importers.run(None, [archive], "corpus")
    made = read_machine(imported)
    yield from made.problems
    for spec, topology in made.hardware:
        if topology is not None and spec.topology is not None:
            yield from _compare(expected, spec, spec.topology, topology)
            yield from _compare_facts(expected, imported.nodes[0].machine, spec, whole=whole)
            yield from corpus_kubelet.compare(expected, topology)


def _check_snapshot(archive: Path, expected: Facts) -> Iterator[str]:
    """A snapshot holds the same files as the sysroot, less what its collector leaves out."""
    return check(archive, expected, whole=False)


#: What checks the files of a name.
CHECKS: tuple[tuple[str, Check], ...] = (
    ("sysroot.tar.*", check),
    ("sysinfo.tgz", _check_snapshot),
    ("ghw-snapshot.tar.gz", _check_snapshot),
    ("hwloc-v*.xml*", corpus_hwloc.check),
    ("lscpu-p.txt", corpus_lscpu.check_table),
    ("lscpu-p.txt", corpus_lscpu.check_together),
    ("lscpu-e*.json*", corpus_lscpu.check_table),
    ("lscpu-p-physical.txt", corpus_lscpu.check_ids),
    ("lscpu.json", corpus_lscpu.check_summary),
    ("lscpu-hier.json", corpus_lscpu.check_summary),
    ("lscpu.txt", corpus_lscpu.check_summary),
    ("nrt-koordinator.yaml", corpus_objects.check_koordinator),
    ("nrt-rte.yaml", corpus_objects.check_exporter),
    ("node.yaml", corpus_objects.check_node),
    ("machineinfo.json", corpus_objects.check_machineinfo),
    ("ironic-numa.json", corpus_objects.check_ironic),
)


def _compare(
    expected: Facts, spec: HardwareSpec, layout: Layout, topology: Topology
) -> Iterator[str]:
    cpus: list[Facts] = expected["cpus"]
    online = CpuSet(cpu["cpu"] for cpu in cpus if cpu["online"])
    yield from differ("online", online, topology.online)
    yield from differ("offline", CpuSet(cpu["cpu"] for cpu in cpus) - online, topology.offline)
    if topology.online != online:
        return
    one_node = not expected["numa"]
    for cpu in cpus:
        if cpu["online"]:
            yield from _compare_cpu(cpu, topology[cpu["cpu"]], topology, one_node=one_node)
    yield from _partition("cluster", cpus, topology)
    yield from _compare_numa(expected, layout, topology)
    yield from _compare_caches(expected["caches"], layout, topology)
    for key, name in (("model", spec.model), ("arch", spec.architecture)):
        if key == "arch" and name != "other":
            yield from differ(key, _architecture(expected["arch"]), name)
        if key == "model" and spec.architecture == "x86_64" and expected["model"]:
            yield from differ(key, " ".join(expected["model"].split()), name)


def _compare_cpu(expected: Facts, cpu: Cpu, topology: Topology, *, one_node: bool) -> Iterator[str]:
    number = expected["cpu"]
    if expected["siblings"]:
        yield from differ(
            f"cpu {number} siblings", expected["siblings"], str(topology.siblings(number))
        )
    for key, found in (("core", cpu.core_id), ("socket", cpu.socket), ("die", cpu.die)):
        if expected[key] is not None and expected[key] >= 0:
            yield from differ(f"cpu {number} {key}", expected[key], found)
    node = 0 if one_node else UNKNOWN if expected["numa"] is None else expected["numa"]
    yield from differ(f"cpu {number} numa", node, cpu.numa_node)
    # The lowest CPU of a domain may be offline; a Topology has online CPUs only.
    domain = UNKNOWN if expected["l3"] is None else expected["l3"]
    if domain in topology.online or domain == UNKNOWN:
        yield from differ(f"cpu {number} l3", domain, cpu.uncore_cache)
    kind = expected.get("type") or ""
    yield from differ(f"cpu {number} type", _CORE_TYPES.get(kind, kind), cpu.core_type)


def _partition(key: str, cpus: list[Facts], topology: Topology) -> Iterator[str]:
    """Clusters are compared as sets: their ids are not kept."""
    known = [
        cpu
        for cpu in cpus
        if cpu["online"] and cpu.get(key) is not None and cpu[key] not in (-1, 0xFFFF)
    ]

    def label(cpu: Facts) -> tuple[int, int, int]:
        return cpu["socket"], cpu["die"] or 0, cpu[key]

    wanted = grouped((cpu["cpu"], label(cpu)) for cpu in known)
    found = grouped((cpu["cpu"], topology[cpu["cpu"]].cluster) for cpu in known)
    yield from differ(f"{key}s", texts(wanted), texts(found))


def _compare_numa(expected: Facts, layout: Layout, topology: Topology) -> Iterator[str]:
    nodes = {node.id: node for node in layout.numa_nodes}
    wanted: list[Facts] = expected["numa"]
    yield from differ("numa ids", sorted(node["id"] for node in wanted) or [0], sorted(nodes))
    present = topology.online | topology.offline
    claimed = CpuSet()
    for node in wanted:
        if node["id"] not in nodes:
            continue
        found = nodes[node["id"]]
        what = f"numa node {node['id']}"
        # Lists have CPUs that are not there (0-35 on a machine of 32); of a CPU that several claim,
        # the first has it.
        cpus = (CpuSet.parse_kernel(node["cpus"]) & present) - claimed
        claimed |= cpus
        yield from differ(f"{what} cpus", cpus, found.cpus or CpuSet())
        if node["memory_bytes"] is not None:
            yield from differ(
                f"{what} memory",
                node["memory_bytes"],
                found.memory and quantity_bytes(found.memory),
            )
        yield from differ(f"{what} distances", tuple(node["distances"] or ()), found.distances)
        pages = {int(size) * 1024: count for size, count in node["hugepages"].items() if count}
        yield from differ(
            f"{what} huge pages",
            pages,
            {quantity_bytes(size): n for size, n in found.huge_pages.items()},
        )


def _compare_caches(wanted: list[Facts], layout: Layout, topology: Topology) -> Iterator[str]:
    """Level, type, size and sharing CPUs, and ids of level 3 and up. A cache whose map is empty is
    each CPU's own.
    """
    everything = {
        (
            cache["level"],
            cache["type"],
            cache["size_bytes"],
            cache["id"] if cache["level"] >= 3 else None,
            cpus,
        )
        for cache in wanted
        if (cpus := str(CpuSet.parse_kernel(cache["cpus"]) & topology.online))
    }
    unmapped = {(cache["level"], cache["type"]) for cache in wanted if not cache["cpus"]}
    found = set()
    for cache in layout.caches:
        if (cache.level, cache.type) in unmapped:
            continue
        domains = hardware.cache_domains(layout, cache)
        ids = hardware.numbers(cache.ids) if cache.ids is not None else [None] * len(domains)
        size = cache.size and quantity_bytes(cache.size)
        found |= {
            (cache.level, cache.type, size, label, str(cpus))
            for cpus, label in zip(domains, ids, strict=True)
        }
    yield from (f"cache {cache} is missing" for cache in sorted(everything - found, key=str))
    yield from (f"cache {cache} is none" for cache in sorted(found - everything, key=str))


def _compare_facts(
    expected: Facts, machine: Machine, spec: HardwareSpec, *, whole: bool
) -> Iterator[str]:
    """What the importer knows beside the topology."""
    if expected["cmdline"]:
        yield from differ("boot arguments", expected["cmdline"].strip(), machine.boot_arguments)
    sizes = sorted(int(size) * 1024 for size in expected["hugepages"])
    if whole and sizes:
        yield from differ(
            "huge page sizes", sizes, sorted(map(quantity_bytes, spec.huge_page_sizes))
        )
    wanted = {
        pci["address"]: pci
        for pci in expected["pci"]
        if int(pci["class"], 16) >> 16 not in _PCI_IGNORED
    }
    devices = {device.address: device for device in machine.devices}
    yield from differ("pci addresses", sorted(wanted), sorted(devices))
    for address in wanted.keys() & devices.keys():
        pci, device = wanted[address], devices[address]
        node = pci["numa"] if pci["numa"] is not None and pci["numa"] >= 0 else None
        for key, truth, seen in (
            ("class", int(pci["class"], 16), device.pci_class),
            ("ids", (pci["vendor"], pci["device"]), (device.vendor, device.device)),
            ("numa", node, device.numa_node),
        ):
            yield from differ(f"pci {address} {key}", truth, seen)
        if whole:
            rest = (device.total_functions, device.functions, device.physical_function)
            keys = ("sriov_totalvfs", "sriov_numvfs", "physfn")
            yield from differ(f"pci {address} functions", tuple(map(pci.get, keys)), rest)
            if pci.get("net") or device.vendor != _VIRTIO:
                yield from differ(
                    f"pci {address} interfaces", pci.get("net") or [], list(device.interfaces)
                )
    physical = {address for address, device in devices.items() if device.physical_function is None}
    yield from differ(
        "written devices", sorted(physical), sorted(device.address for device in spec.devices)
    )
    numa = {device.address: device.numa_node for device in spec.devices}
    yield from differ(
        "written devices' nodes",
        {address: devices[address].numa_node for address in physical},
        numa,
    )


def _architecture(name: str) -> str:
    """The corpus tells 32-bit and big-endian kernels apart; documents know what Kubernetes runs
    on.
    """
    return {"ppc64": "ppc64le"}.get(name, name)
