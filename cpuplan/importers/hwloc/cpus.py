"""What a hwloc topology says of CPUs: cores, packages, dies, clusters, caches and kinds."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.importers.hwloc.objects import Document, Object, Reader, cache_type
from cpuplan.importers.machine import CacheFacts, by_first_cpu, cache_order, distinct

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
