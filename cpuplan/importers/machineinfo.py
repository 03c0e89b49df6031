"""machineinfo.json of cAdvisor: a machine as the kubelet sees it.

(google/cadvisor, info/v1/machine.go and sysinfo.go.)
"""

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.base.topology import MAX_NUMA_NODE
from cpuplan.importers import data
from cpuplan.importers.base import (
    MAX_COUNT,
    MAX_MEMORY,
    CacheFacts,
    Format,
    Imported,
    Machine,
    Node,
    NumaFacts,
    bare_machine,
    cache_order,
    node_name,
)
from cpuplan.importers.data import Complaints, cpus_of, items, number
from cpuplan.importers.packed_files import ArchiveError

_MAX_ID = 1 << 31
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

    def facts(self, cpus: CpuSet, *, with_id: bool) -> CacheFacts:
        return CacheFacts(self.level, self.type, self.size, self.id if with_id else None, cpus)


#: Caches with the CPUs that share them.
_Shared = list[tuple[_Cache, CpuSet]]


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
    remarks = (
        f"{path} has no host name: the node is named {name}, after the file",
        (
            f"{path}: the kubelet's view does not contain offline CPUs, dies, clusters and kinds "
            "of cores"
        ),
        f"{path}: the kubelet treats cores of one core id in a NUMA node and socket as one",
    )
    return Imported((Node(name, machine, {}, partial=True),), remarks, tuple(complaints))


def machine_of(info: dict[str, Any], complaints: Complaints) -> Machine | None:
    """The machine of a MachineInfo; None if it has no CPUs."""
    cores, rows = _topology(info, complaints)
    if not cores:
        return None
    vendor = info.get("vendor_id")
    pages = _pages(info.get("hugepages"))
    nodes = _numa_nodes(info, [row.facts for row in rows], cores, pages)
    sizes = {size for node in nodes for size in node.huge_pages}
    return bare_machine(core.cpus for core in cores)._replace(
        architecture=_architecture(vendor),
        vendor=vendor if isinstance(vendor, str) and vendor else None,
        core_ids=_labels((core.cpus, core.core_id) for core in cores),
        sockets=_labels((core.cpus, core.socket) for core in cores),
        caches=_caches(cores, rows),
        numa_nodes=nodes,
        huge_page_sizes=tuple(sorted(sizes | pages.keys())),
    )


def _architecture(vendor: object) -> str:
    if vendor == _S390:
        return "s390x"
    return "x86_64" if vendor in _X86 else ""


def _labels(labelled: Iterable[tuple[CpuSet, int | None]]) -> dict[int, int]:
    """Labels by CPU, where there is one."""
    return {cpu: label for cpus, label in labelled if label is not None for cpu in cpus}


def _topology(
    info: dict[str, Any], complaints: Complaints
) -> tuple[list[_Core], Collection[_NodeRow]]:
    """The cores of all nodes, and the nodes."""
    cores: list[_Core] = []
    rows: dict[int, _NodeRow] = {}
    seen = EMPTY
    for node in items(info.get("topology")):
        label = number(node.get("node_id"), -1, MAX_NUMA_NODE)
        if label is None or label in rows:
            problem = "a node needs a node_id that no other node has"
            complaints.add("topology", node.get("node_id"), problem)
            continue
        of_node = list(_cores(label, items(node.get("cores")), seen, complaints))
        cpus = union(core.cpus for core in of_node)
        seen |= cpus
        cores += of_node
        rows[label] = _NodeRow(_numa_facts(label, node, cpus), _cache_list(node, "caches"))
    return cores, rows.values()


def _cores(
    node: int, rows: Iterable[dict[str, Any]], seen: CpuSet, complaints: Complaints
) -> Iterator[_Core]:
    for row in rows:
        threads = row.get("thread_ids")
        cpus = cpus_of(threads)
        if cpus is None or cpus & seen:
            problem = "a core needs a list of CPUs that no other core has"
            complaints.add(f"topology, node {node}", threads, problem)
            continue
        seen |= cpus
        yield _Core(
            node,
            number(row.get("core_id"), 0, _MAX_ID),
            number(row.get("socket_id"), -1, _MAX_ID),
            cpus,
            _cache_list(row, "caches"),
            _cache_list(row, "uncore_caches"),
        )


def _cache_list(holder: dict[str, Any], key: str) -> tuple[_Cache, ...]:
    caches = []
    for cache in items(holder.get(key)):
        level, identity = number(cache.get("level"), 1, 9), number(cache.get("id"), 0, _MAX_ID)
        kind = cache.get("type")
        if level is not None:
            size = number(cache.get("size"), 1, MAX_MEMORY)
            caches.append(_Cache(level, kind if kind in _TYPES else "Unified", size, identity or 0))
    return tuple(caches)


def _caches(cores: list[_Core], rows: Iterable[_NodeRow]) -> tuple[CacheFacts, ...]:
    """The caches of level 2 and up.

    cAdvisor lists a cache at the node if as many CPUs share it as the node has, at the core if as
    many as the core has, and else, from level 3 on, at each core as an uncore cache, told apart by
    id. Releases before ids, and all on s390x, write 0 for each: then uncore caches are left open.
    """
    lists = [*(core.own + core.uncore for core in cores), *(row.caches for row in rows)]
    with_id = any(cache.id for caches in lists for cache in caches)
    own = [(cache, core.cpus) for core in cores for cache in core.own]
    uncore = _uncore(cores) if with_id else {}
    of_nodes: _Shared = []
    for row in rows:
        for cache in row.caches:
            held = _held([*own, *uncore.items(), *of_nodes], cache)
            # seen from a core with an offline CPU, the cache of some cores is as large as the node
            if cache in uncore:
                uncore[cache] |= row.facts.cpus - held
            else:
                of_nodes.append((cache, row.facts.cpus - held))
    facts = [
        cache.facts(cpus, with_id=with_id)
        for cache, cpus in [*own, *uncore.items(), *of_nodes]
        if cache.level > 1 and cpus
    ]
    return tuple(sorted(facts, key=cache_order))


def _uncore(cores: Iterable[_Core]) -> dict[_Cache, CpuSet]:
    shared: dict[_Cache, CpuSet] = {}
    for core in cores:
        for cache in core.uncore:
            shared[cache] = shared.get(cache, EMPTY) | core.cpus
    return shared


def _held(known: _Shared, wanted: _Cache) -> CpuSet:
    """The CPUs that have a cache of the level and type of `wanted` already."""
    kind = (wanted.level, wanted.type)
    return union(cpus for cache, cpus in known if (cache.level, cache.type) == kind)


def _numa_facts(label: int, node: dict[str, Any], cpus: CpuSet) -> NumaFacts:
    row = node.get("distances")
    distances = [number(item, 0, 255) for item in row] if isinstance(row, list) else []
    known = tuple(item for item in distances if item is not None)
    whole = known if len(known) == len(distances) else ()
    memory = number(node.get("memory"), 0, MAX_MEMORY)
    return NumaFacts(label, cpus, memory, whole, _pages(node.get("hugepages")))


def _pages(rows: object) -> dict[int, int]:
    """Pages by size in kB, ascending."""
    pages = {}
    for row in items(rows):
        size = number(row.get("page_size"), 1, _MAX_ID)
        count = number(row.get("num_pages"), 0, MAX_COUNT)
        if size is not None and count is not None:
            pages[size] = count
    return dict(sorted(pages.items()))


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


FORMAT = Format(
    name="machineinfo",
    summary="of cAdvisor",
    text=re.compile(r'\s*\{.*?"num_cores"\s*:', re.DOTALL),
    read=read,
)
