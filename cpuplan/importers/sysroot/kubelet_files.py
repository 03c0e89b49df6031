"""What only the kubelet reads of the kernel's files (cAdvisor, utils/sysinfo and utils/sysfs)."""

import re
from collections.abc import Iterable

from cpuplan.base.cpuset import EMPTY, MAX_CPU, CpuSet
from cpuplan.base.topology import MAX_NUMA_NODE
from cpuplan.importers.machine import CacheFacts, KubeletFiles, Machine
from cpuplan.importers.sysroot import numa as sysfs_numa
from cpuplan.importers.sysroot import sysfs
from cpuplan.importers.sysroot.values import Reader

_PHYSICAL_ID = re.compile(r"^physical id\s*:\s*([0-9]+)$", re.MULTILINE)
#: From this level on cAdvisor looks for caches that are shared by some cores of a NUMA node.
_UNCORE_LEVEL = 3


def read(reader: Reader, machine: Machine, cpuinfo: str) -> KubeletFiles:
    """The files of a machine whose other facts are known; `cpuinfo` is the text of that file."""
    online = machine.online
    on_z = machine.architecture == "s390x"
    books = sysfs.labels(reader, online, "book_id") if on_z else {}
    drawers = sysfs.labels(reader, online, "drawer_id") if on_z else {}
    labelled = machine.core_ids.keys() & machine.sockets.keys()
    if on_z:
        labelled &= books.keys() & drawers.keys()
    nodes = list(reader.numbered(sysfs_numa.NODES, "node", MAX_NUMA_NODE))
    return KubeletFiles(
        numa_links=_links(reader, nodes, online),
        no_numa_nodes=not nodes,
        unlabelled=online - CpuSet(labelled),
        unread_caches=_unread_caches(reader, machine.caches, online, with_ids=not on_z),
        sockets=len(set(_PHYSICAL_ID.findall(cpuinfo)))
        or len({machine.sockets.get(cpu, 0) for cpu in online}),
        books=books,
        drawers=drawers,
    )


def unread(machine: Machine) -> KubeletFiles:
    """The facts where sysfs was not collected: the kubelet would find no CPU in such files."""
    sockets = len(set(machine.sockets.values()))
    return KubeletFiles(None, False, machine.online, EMPTY, sockets, {}, {})


def _links(reader: Reader, nodes: Iterable[int], online: CpuSet) -> dict[int, CpuSet] | None:
    """The CPUs linked to each NUMA node; None if no node has a link, as in some dumps."""
    links = {}
    for node in nodes:
        links[node] = (
            CpuSet(reader.numbered(f"{sysfs_numa.NODES}/node{node}", "cpu", MAX_CPU)) & online
        )
    return links if any(links.values()) else None


def _unread_caches(
    reader: Reader, caches: Iterable[CacheFacts], online: CpuSet, *, with_ids: bool
) -> CpuSet:
    """CPUs with a cache without id or size, or without caches where others have an uncore cache.

    Whether small caches have ids is looked up at one CPU of each uncore cache: a kernel tells all
    or none of a level.
    """
    domains = [cache.cpus for cache in caches if cache.level >= _UNCORE_LEVEL]
    if not domains:
        return EMPTY
    lacking = seen = EMPTY
    for cache in caches:
        seen |= cache.cpus
        if cache.size is None or (with_ids and cache.id is None):
            lacking |= cache.cpus
    for cpus in domains:
        if not cpus <= lacking and not _readable(reader, cpus.first, with_ids=with_ids):
            lacking |= cpus
    return lacking | CpuSet(
        cpu for cpu in online - seen if not reader.tree.names(f"{sysfs.CPUS}/cpu{cpu}/cache")
    )


def _readable(reader: Reader, cpu: int, *, with_ids: bool) -> bool:
    folder = f"{sysfs.CPUS}/cpu{cpu}/cache"
    return all(
        reader.size(f"{folder}/{index}/size") is not None
        and not (with_ids and reader.number(f"{folder}/{index}/id") is None)
        for index in reader.tree.names(folder)
        if index.startswith("index")
    )
