"""What a hwloc topology says of CPUs: cores, packages, dies, clusters, caches and kinds."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cpuplan.cpuset import CpuSet, union
from cpuplan.importers.hwloc.objects import Document, Object, Reader, cache_type
from cpuplan.importers.machine import CacheFacts
from cpuplan.importers.sysroot import sysfs

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
    found = [*(each.cpus for each in document.of_type("Core")), *(CpuSet((cpu,)) for cpu in online)]
    return tuple(sorted(_disjoint(found, online), key=lambda cpus: cpus.first))


def core_ids(document: Document, online: CpuSet) -> dict[int, int]:
    """The kernel's core_id by CPU."""
    cores = document.of_type("Core")
    return {
        cpu: each.number for each in cores if each.number is not None for cpu in each.cpus & online
    }


def sockets(document: Document, online: CpuSet) -> dict[int, int]:
    """The package by CPU. One that has no number is the machine: the kernel knows no packages."""
    packages = document.of_type("Package")
    if len(packages) == 1 and packages[0].number is None:
        return {}
    return _labels(packages, online)


def dies(document: Document, online: CpuSet) -> dict[int, int]:
    """The die by CPU, numbered within each package."""
    found: dict[int, int] = {}
    dies = [
        each
        for each in document.objects
        if each.type == "Die"
        or (each.type == "Group" and each.subtype == "Die" and document.version == 1)
    ]
    packages = document.of_type("Package")
    for package in packages:
        found |= _labels([die for die in dies if die.cpus <= package.cpus], online)
    return found if packages else _labels(dies, online)


def is_numbered(objects: Sequence[Object]) -> bool:
    """Whether each has a number that no other has."""
    return len({each.number for each in objects} - {None}) == len(objects)


def _labels(objects: Sequence[Object], online: CpuSet) -> dict[int, int]:
    """The kernel's number by CPU; hwloc's own order where a number is missing or repeated."""
    own = is_numbered(objects)
    labels: dict[int, int] = {}
    for number, each in enumerate(objects):
        label = each.number if own and each.number is not None else number
        labels |= {cpu: label for cpu in each.cpus & online if cpu not in labels}
    return labels


def clusters(document: Document, online: CpuSet) -> tuple[CpuSet, ...]:
    """The clusters that the kernel numbers; hwloc merges those with the CPUs of another object.

    A cluster without a number is a quadrant of a Xeon Phi, which is a NUMA node.
    """
    groups = document.of_type("Group")
    found = [each.cpus for each in groups if each.subtype == "Cluster" and each.number is not None]
    return tuple(sorted(_disjoint(found, online), key=lambda cpus: cpus.first))


def caches(document: Document, reader: Reader, online: CpuSet) -> tuple[CacheFacts, ...]:
    """The caches of level 2 and up, by level, type and lowest CPU; os_index is the kernel's id."""
    found = [
        CacheFacts(
            each.level,
            cache_type(each),
            reader.number(each.element, "cache_size") or None,
            each.number,
            each.cpus & online,
        )
        for each in document.of_type("Cache")
        if each.level >= 2 and each.cpus & online
    ]
    found.sort(key=lambda cache: (cache.level, cache.type, cache.cpus.first))
    return tuple(sysfs.distinct(found))


def kinds(document: Document, reader: Reader, online: CpuSet) -> list[Kind]:
    """The kinds of CPUs that hwloc tells apart (versions 2 and 3), the least capable first."""
    found = []
    for place, element in enumerate(document.root.named("cpukind")):
        infos = {
            info.attributes.get("name", ""): info.attributes.get("value", "")
            for info in element.named("info")
        }
        cpus = reader.set(element, "cpuset") & online
        efficiency = reader.number(element, "forced_efficiency")
        if cpus:
            found.append(Kind(place if efficiency is None else efficiency, cpus, infos))
    return sorted(found, key=lambda kind: kind.efficiency)


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
    found: list[CpuSet] = []
    rest = cpus
    for each in sets:
        if part := each & rest:
            found.append(part)
            rest -= part
    return found


def in_packages(document: Document) -> CpuSet:
    """The CPUs of all packages."""
    return union(each.cpus for each in document.of_type("Package"))
