"""What a hwloc topology says of CPUs: cores, packages, dies, clusters, caches and kinds."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cpuplan.cpuset import CpuSet, union
from cpuplan.importers.hwloc.objects import Document, Object, Reader, cache_type
from cpuplan.importers.machine import CacheFacts, cache_order, distinct

#: `CoreType` of the CPU kinds of Intel's hybrids, and what their cores are called here.
_CORE_TYPES = {"IntelCore": "performance", "IntelAtom": "efficient", "IntelLowPower": "lowPower"}
#: Infos that a kernel tells kinds of cores apart by. Kinds that differ in frequency only may be
#: favoured cores.
_KIND_INFOS = ("CoreType", "LinuxCapacity", "CPUPart")
_MAX_KIND = 9


class Kind(NamedTuple):
    """A kind of CPUs that hwloc knows: its efficiency, the lower the less power."""

    efficiency: int
    cpus: CpuSet
    infos: dict[str, str]


def cores(document: Document, online: CpuSet) -> tuple[CpuSet, ...]:
    """The cores; a PU that is in none is one by itself."""
    sets = [*(core.cpus for core in document.of_type("Core")), *(CpuSet((cpu,)) for cpu in online)]
    return tuple(sorted(_disjoint(sets, online), key=lambda cpus: cpus.first))


def core_ids(document: Document, online: CpuSet) -> dict[int, int]:
    """The kernel's core_id by CPU."""
    cores = document.of_type("Core")
    return {
        cpu: core.number for core in cores if core.number is not None for cpu in core.cpus & online
    }


def sockets(document: Document, online: CpuSet) -> dict[int, int]:
    """The package by CPU. One that has no number is the machine: the kernel knows no packages."""
    packages = document.of_type("Package")
    if len(packages) == 1 and packages[0].number is None:
        return {}
    return _labels(packages, online)


def dies(document: Document, online: CpuSet) -> dict[int, int]:
    """The die by CPU, numbered within each package."""
    labels: dict[int, int] = {}
    dies = [
        group
        for group in document.objects
        if group.type == "Die"
        or (group.type == "Group" and group.subtype == "Die" and document.version == 1)
    ]
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
        labels |= {cpu: label for cpu in member.cpus & online if cpu not in labels}
    return labels


def clusters(document: Document, online: CpuSet) -> tuple[CpuSet, ...]:
    """The clusters that the kernel numbers; hwloc merges those with the CPUs of another object.

    A cluster without a number is a quadrant of a Xeon Phi, which is a NUMA node.
    """
    groups = document.of_type("Group")
    sets = [
        group.cpus for group in groups if group.subtype == "Cluster" and group.number is not None
    ]
    return tuple(sorted(_disjoint(sets, online), key=lambda cpus: cpus.first))


def caches(document: Document, reader: Reader, online: CpuSet) -> tuple[CacheFacts, ...]:
    """The caches of level 2 and up, by level, type and lowest CPU; os_index is the kernel's id."""
    facts = [
        CacheFacts(
            cache.level,
            cache_type(cache),
            reader.number(cache.element, "cache_size") or None,
            cache.number,
            cache.cpus & online,
        )
        for cache in document.of_type("Cache")
        if cache.level >= 2 and cache.cpus & online
    ]
    return tuple(distinct(sorted(facts, key=cache_order)))


def kinds(document: Document, reader: Reader, online: CpuSet) -> list[Kind]:
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
    known = [kind for kind in kinds if any(name in kind.infos for name in _KIND_INFOS)]
    if len(known) < 2:
        return {}
    names = [_CORE_TYPES.get(kind.infos.get("CoreType", "")) for kind in known]
    if None in names or len(set(names)) < len(names):
        names = [f"kind{min(rank, _MAX_KIND)}" for rank in range(len(known))]
    return {cpu: name for kind, name in zip(known, names, strict=True) for cpu in kind.cpus if name}


def _disjoint(sets: Iterable[CpuSet], cpus: CpuSet) -> list[CpuSet]:
    """The parts of `sets` that are in `cpus` and in none before; no empty ones."""
    parts: list[CpuSet] = []
    rest = cpus
    for cpus_of_set in sets:
        if part := cpus_of_set & rest:
            parts.append(part)
            rest -= part
    return parts


def in_packages(document: Document) -> CpuSet:
    """The CPUs of all packages."""
    return union(package.cpus for package in document.of_type("Package"))
