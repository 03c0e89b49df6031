"""The files that the kubelet reads, as a Hardware document describes them.

They are the facts that `kubelet.machineinfo` needs.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.topology import KubeletFacts, SharedCache
from cpuplan.language.model.inventory import Group, KubeletFiles, LinkedNode

#: The level whose caches are the "uncore caches" of the kubelet and the CCXs of AMD.
UNCORE_LEVEL = 3
#: Caches of one kind: level, the CPUs of each ascending by lowest CPU, and their ids where the
#: document has them.
Caches: TypeAlias = tuple[int, Sequence[CpuSet], Sequence[int] | None]


def facts(
    architecture: str, online: CpuSet, caches: Iterable[Caches], files: KubeletFiles | None = None
) -> KubeletFacts:
    """The facts of a machine. Cache ids that the document lacks are as usual on the architecture.

    x86 kernels have an id for every cache since Linux 4.11, from CPUID; other architectures rarely
    have one (drivers/base/cacheinfo.c). On s390x cAdvisor does not read it and uses 0.
    """
    files = files or KubeletFiles()
    shared = []
    unread = files.unread_caches or EMPTY
    for level, domains, ids in caches:
        for number, cpus in enumerate(domains):
            members = cpus & online
            if not members:
                continue
            identity = ids[number] if ids is not None else _usual_id(architecture, members)
            shared.append(SharedCache(level, members, identity))
            if identity is None:
                unread |= members
    drawer = {cpu: group.id for group in files.drawers for cpu in group.cpus}
    book = {cpu: group.id for group in files.books for cpu in group.cpus}
    return KubeletFacts(
        caches=tuple(sorted(shared, key=lambda cache: (cache.level, cache.cpus.first))),
        unread_caches=unread & online,
        unlabelled=(files.unlabelled or EMPTY) & online,
        numa_nodes={group.id: group.cpus & online for group in files.numa_nodes} or None,
        no_numa_nodes=files.no_numa_nodes,
        sockets=files.sockets,
        places={
            cpu: (book.get(cpu, 0), drawer.get(cpu, 0))
            for cpu in sorted(book.keys() | drawer.keys())
        },
    )


def _usual_id(architecture: str, cpus: CpuSet) -> int | None:
    if architecture == "s390x":
        return 0
    return cpus.first if architecture == "x86_64" else None


def groups(
    files: KubeletFiles | None,
) -> Iterator[tuple[str, str, list[tuple[int | None, CpuSet]]]]:
    """(key, noun, label and CPUs of each) of the groups that must divide the machine's CPUs."""
    if files is None:
        return
    kinds: tuple[tuple[str, str, tuple[Group | LinkedNode, ...]], ...] = (
        ("numaNodes", "NUMA nodes", files.numa_nodes),
        ("books", "books", files.books),
        ("drawers", "drawers", files.drawers),
    )
    for key, what, members in kinds:
        yield key, what, [(None if key == "books" else group.id, group.cpus) for group in members]
