"""The files that only the kubelet reads, as the key `kubelet` of a topology: what does not follow
from its groups.
"""

from collections.abc import Mapping
from typing import Any

from cpuplan.cpuset import EMPTY, CpuSet
from cpuplan.emit import Flow
from cpuplan.importers.base import KubeletFiles, Machine


def kubelet_block(machine: Machine) -> dict[str, Any] | None:
    """None where the files of `machine.kubelet` say nothing that the rest of the document does
    not.
    """
    files = machine.kubelet
    if files is None:
        return None
    unread = (files.unread_caches - _taken_as_unread(machine)) & _with_uncore_cache(machine)
    values = {
        "noNumaNodes": files.no_numa_nodes or None,
        "numaNodes": _links(machine, files),
        "unlabelled": files.unlabelled.kernel_list() or None,
        "unreadCaches": unread.kernel_list() or None,
        "sockets": None if files.sockets == _documented_sockets(machine) else files.sockets,
        "books": _groups(files.books),
        "drawers": _groups(files.drawers),
    }
    return {key: value for key, value in values.items() if value is not None} or None


def _links(machine: Machine, files: KubeletFiles) -> list[Flow] | None:
    """The NUMA nodes by links, where a link is not to a CPU of the node's list or the other way
    round.
    """
    links = files.numa_links
    listed = {node.id: node.cpus & machine.online for node in machine.numa_nodes}
    if links is None or all(links.get(node, EMPTY) == cpus for node, cpus in listed.items()):
        return None
    return [
        Flow({"id": node, "cpus": cpus.kernel_list()})
        for node, cpus in sorted(links.items())
        if cpus
    ]


def _with_uncore_cache(machine: Machine) -> CpuSet:
    """All CPUs where any has an uncore cache: reading stops at the first core whose caches cannot
    be read.
    """
    return machine.online if any(cache.level > 2 for cache in machine.caches) else EMPTY


def _taken_as_unread(machine: Machine) -> CpuSet:
    """CPUs whose caches a document tells as unread by leaving their ids out
    (`fleet.kubelet_files.facts`).
    """
    if machine.architecture in ("x86_64", "s390x"):
        return EMPTY
    return CpuSet(
        cpu
        for cache in machine.caches
        if cache.level > 2 and cache.id is None
        for cpu in cache.cpus
    )


def _documented_sockets(machine: Machine) -> int:
    labels = {max(label, -1) for label in machine.sockets.values()}
    if not labels:
        return 1
    return len(labels | ({-1} if machine.sockets.keys() < set(machine.online) else set()))


def _groups(labels: Mapping[int, int]) -> list[Flow] | None:
    """Groups of CPUs by label; None where all have one, or the machine tells of none."""
    cpus: dict[int, list[int]] = {}
    for cpu, label in labels.items():
        cpus.setdefault(max(label, -1), []).append(cpu)
    if len(cpus) < 2:
        return None
    return [
        Flow({"id": label, "cpus": CpuSet(cpus[label]).kernel_list()}) for label in sorted(cpus)
    ]
