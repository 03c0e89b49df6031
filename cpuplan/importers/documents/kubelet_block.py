"""The key `kubelet` of a topology: files that only the kubelet reads, where groups do not tell."""

from collections.abc import Mapping
from typing import Any

from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.base.emit import Flow
from cpuplan.importers.machine import KubeletFiles, Machine


def kubelet_block(machine: Machine) -> dict[str, Any] | None:
    """None where the files say nothing that does not follow from the rest of the document."""
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
    """The NUMA nodes by links; None where links and lists of CPUs agree."""
    links = files.numa_links
    listed = {node.id: node.cpus & machine.online for node in machine.numa_nodes}
    if links is None or all(links.get(node, EMPTY) == cpus for node, cpus in listed.items()):
        return None
    return [_group(node, links[node]) for node in sorted(links) if links[node]]


def _group(number: int, cpus: CpuSet) -> Flow:
    return Flow({"id": number, "cpus": cpus.kernel_list()})


def _with_uncore_cache(machine: Machine) -> CpuSet:
    """All CPUs where any has an uncore cache: the kubelet stops at the first unreadable core."""
    return machine.online if any(cache.level > 2 for cache in machine.caches) else EMPTY


def _taken_as_unread(machine: Machine) -> CpuSet:
    """CPUs of caches without ids, which `fleet.kubelet_files.facts` takes for unreadable anyway."""
    if machine.architecture in ("x86_64", "s390x"):
        return EMPTY
    return union(cache.cpus for cache in machine.caches if cache.level > 2 and cache.id is None)


def _documented_sockets(machine: Machine) -> int:
    labels = {max(label, -1) for label in machine.sockets.values()}
    if labels and machine.sockets.keys() < set(machine.online):
        labels.add(-1)
    return len(labels) or 1


def _groups(labels: Mapping[int, int]) -> list[Flow] | None:
    """Groups of CPUs by label; None if all have one, or the machine reports none."""
    cpus: dict[int, list[int]] = {}
    for cpu, label in labels.items():
        cpus.setdefault(max(label, -1), []).append(cpu)
    if len(cpus) < 2:
        return None
    return [_group(label, CpuSet(cpus[label])) for label in sorted(cpus)]
