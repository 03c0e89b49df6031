"""machineinfo.json of cAdvisor: a machine as the kubelet sees it (google/cadvisor
info/v1/machine.go, sysinfo.go).
"""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cpuplan.cpuset import EMPTY, MAX_CPU, CpuSet, union
from cpuplan.importers import data
from cpuplan.importers.base import (
    CacheFacts,
    Imported,
    Machine,
    Node,
    NumaFacts,
    bare_machine,
    node_name,
)
from cpuplan.importers.data import Complaints, items, number
from cpuplan.importers.objects.node_object import MAX_COUNT, MAX_MEMORY
from cpuplan.importers.trees.archive import ArchiveError

MAX_ID = 1 << 31
#: Vendors of x86 CPUs by their CPUID (arch/x86/kernel/cpu); cAdvisor finds none on other
#: architectures but s390x.
_X86 = frozenset({"GenuineIntel", "AuthenticAMD", "HygonGenuine", "CentaurHauls", "Shanghai"})
_S390 = "IBM/S390"
_TYPES = ("Unified", "Data", "Instruction")


class _Cache(NamedTuple):
    level: int
    type: str
    size: int | None
    id: int


class _Core(NamedTuple):
    node: int
    core_id: int | None
    socket: int | None
    cpus: CpuSet
    own: tuple[_Cache, ...]
    uncore: tuple[_Cache, ...]


class _NodeRow(NamedTuple):
    facts: NumaFacts
    caches: tuple[_Cache, ...]


def read(path: Path) -> Imported:
    """The machine in the file; it is named after the file, which holds no name."""
    try:
        documents = data.read(path)
    except ArchiveError as error:
        return Imported((), (), (error.diagnostic,))
    complaints = Complaints(str(path))
    machine = machine_of(data.mapping(documents[0] if documents else None), complaints)
    if machine is None:
        return Imported((), (), tuple(complaints))
    name = node_name(path)
    remarks = [
        f"{path} has no host name: the node is called {name}, after the file",
        f"{path}: the kubelet's view does not tell offline CPUs, dies, clusters and kinds of cores",
        f"{path}: cores of one core id in a NUMA node and socket are one to the kubelet",
    ]
    return Imported((Node(name, machine, {}, partial=True),), tuple(remarks), tuple(complaints))


def machine_of(info: dict[str, Any], complaints: Complaints) -> Machine | None:
    """The machine of a MachineInfo; None if it has no CPUs."""
    cores: list[_Core] = []
    rows: dict[int, _NodeRow] = {}
    seen = EMPTY
    for node in items(info.get("topology")):
        label = number(node.get("node_id"), -1, MAX_ID)
        if label is None or label in rows:
            complaints.add(
                "topology", node.get("node_id"), "a node has a node_id, which no other has"
            )
            continue
        found = list(_cores(label, items(node.get("cores")), seen, complaints))
        seen |= union(core.cpus for core in found)
        cores += found
        rows[label] = _NodeRow(
            _numa(label, node, union(core.cpus for core in found)), tuple(_caches(node, "caches"))
        )
    if not cores:
        return None
    vendor = info.get("vendor_id")
    pages = _pages(info.get("hugepages"))
    nodes = _numa_nodes(info, [row.facts for row in rows.values()], cores, pages)
    return bare_machine(core.cpus for core in cores)._replace(
        architecture="x86_64" if vendor in _X86 else "s390x" if vendor == _S390 else "",
        vendor=vendor if isinstance(vendor, str) and vendor else None,
        core_ids={
            cpu: core.core_id for core in cores if core.core_id is not None for cpu in core.cpus
        },
        sockets={
            cpu: core.socket for core in cores if core.socket is not None for cpu in core.cpus
        },
        caches=_all_caches(cores, rows.values()),
        numa_nodes=nodes,
        huge_page_sizes=tuple(
            sorted({*pages, *(size for node in nodes for size in node.huge_pages)})
        ),
    )


def _cores(
    node: int, found: Iterable[dict[str, Any]], seen: CpuSet, complaints: Complaints
) -> Iterator[_Core]:
    for core in found:
        threads = core.get("thread_ids")
        cpus = [number(cpu, 0, MAX_CPU) for cpu in threads] if isinstance(threads, list) else [None]
        known = CpuSet(cpu for cpu in cpus if cpu is not None)
        if not known or len(known) != len(cpus) or known & seen:
            complaints.add(
                f"topology, node {node}", threads, "a core has a list of CPUs, which no other has"
            )
            continue
        seen |= known
        core_id, socket = (
            number(core.get("core_id"), 0, MAX_ID),
            number(core.get("socket_id"), -1, MAX_ID),
        )
        yield _Core(
            node,
            core_id,
            socket,
            known,
            tuple(_caches(core, "caches")),
            tuple(_caches(core, "uncore_caches")),
        )


def _caches(holder: dict[str, Any], key: str) -> Iterator[_Cache]:
    for cache in items(holder.get(key)):
        level, identity = number(cache.get("level"), 1, 9), number(cache.get("id"), 0, MAX_ID)
        kind = cache.get("type")
        if level is not None:
            size = number(cache.get("size"), 1, MAX_MEMORY)
            yield _Cache(level, kind if kind in _TYPES else "Unified", size, identity or 0)


def _all_caches(cores: list[_Core], rows: Collection[_NodeRow]) -> tuple[CacheFacts, ...]:
    """The caches of level 2 and up.

    cAdvisor lists a cache at the node if as many CPUs share it as the node has, at the core if as
    many as the core has, and else, from level 3 on, at each core as an uncore cache, told apart by
    id. Releases before ids, and all on s390x, write 0 for each: then uncore caches are left open.
    """
    lists = [*(core.own + core.uncore for core in cores), *(row.caches for row in rows)]
    tells_ids = any(cache.id for caches in lists for cache in caches)
    shared: dict[_Cache, CpuSet] = {}
    for core in cores if tells_ids else ():
        for cache in core.uncore:
            shared[cache] = shared.get(cache, EMPTY) | core.cpus
    own = [(cache, core.cpus) for core in cores for cache in core.own]
    of_nodes: list[tuple[_Cache, CpuSet]] = []
    for cpus_of_node, cache in ((row.facts.cpus, cache) for row in rows for cache in row.caches):
        alike = [*own, *shared.items(), *of_nodes]
        others = union(
            cpus for other, cpus in alike if (other.level, other.type) == (cache.level, cache.type)
        )
        # seen from a core with an offline CPU, the cache of some cores is as large as the node
        if cache in shared:
            shared[cache] |= cpus_of_node - others
        else:
            of_nodes.append((cache, cpus_of_node - others))
    found = [*own, *shared.items(), *of_nodes]
    kept = [
        _facts(cache, cpus, tells_ids=tells_ids)
        for cache, cpus in found
        if cache.level > 1 and cpus
    ]
    return tuple(sorted(kept, key=lambda cache: (cache.level, cache.type, cache.cpus.first)))


def _facts(cache: _Cache, cpus: CpuSet, *, tells_ids: bool) -> CacheFacts:
    return CacheFacts(cache.level, cache.type, cache.size, cache.id if tells_ids else None, cpus)


def _numa(label: int, node: dict[str, Any], cpus: CpuSet) -> NumaFacts:
    row = node.get("distances")
    distances = [number(item, 0, 255) for item in row] if isinstance(row, list) else []
    known = tuple(item for item in distances if item is not None)
    memory = number(node.get("memory"), 0, MAX_MEMORY)
    return NumaFacts(
        label,
        cpus,
        memory,
        known if len(known) == len(distances) else (),
        _pages(node.get("hugepages")),
    )


def _pages(found: object) -> dict[int, int]:
    """Pages by size in kB."""
    pairs = (
        (number(i.get("page_size"), 1, MAX_ID), number(i.get("num_pages"), 0, MAX_COUNT))
        for i in items(found)
    )
    return dict(
        sorted((size, count) for size, count in pairs if size is not None and count is not None)
    )


def _numa_nodes(
    info: dict[str, Any], nodes: list[NumaFacts], cores: Iterable[_Core], pages: dict[int, int]
) -> tuple[NumaFacts, ...]:
    """The NUMA nodes, ascending.

    Where the kernel has none, cAdvisor takes sockets for them, which shows: they have no memory, no
    distances, no huge pages. Such a machine has one NUMA node, with all of its memory.
    """
    sockets = all(core.node == core.socket for core in cores)
    bare = not any(node.memory or node.distances or node.huge_pages for node in nodes)
    if (sockets and bare) or any(node.id < 0 for node in nodes):
        memory = number(info.get("memory_capacity"), 1, MAX_MEMORY)
        return (NumaFacts(0, union(node.cpus for node in nodes), memory, (), pages),)
    if not all(len(node.distances) == len(nodes) for node in nodes):
        nodes = [node._replace(distances=()) for node in nodes]
    if not any(node.memory for node in nodes):  # 0 also stands for a missing meminfo
        nodes = [node._replace(memory=None) for node in nodes]
    return tuple(sorted(nodes, key=lambda node: node.id))
