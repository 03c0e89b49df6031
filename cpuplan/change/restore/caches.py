"""The caches of a machine as they are with CPUs online that were off."""

from collections.abc import Iterator, Sequence

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Topology
from cpuplan.change.restore.wholes import UnknownError, Whole, by_label, dies, parts
from cpuplan.fleet.kubelet_files import UNCORE_LEVEL
from cpuplan.importers.machine import CacheFacts, Machine


def restored(machine: Machine, online: CpuSet, whole: Whole) -> Iterator[CacheFacts]:
    """The caches of each level and type, by lowest CPU, as they are with all CPUs online."""
    kinds: dict[tuple[int, str], list[CacheFacts]] = {}
    for cache in machine.caches:
        kinds.setdefault((cache.level, cache.type), []).append(cache)
    for (level, kind), known in kinds.items():
        listed = [cache for cache in whole.caches if (cache.level, cache.type) == (level, kind)]
        yield from _of_kind(known, machine.online, online, listed, whole.topology)


def _of_kind(
    known: list[CacheFacts],
    before: CpuSet,
    online: CpuSet,
    listed: list[CacheFacts],
    topology: Topology,
) -> list[CacheFacts]:
    shown = {cache.cpus for cache in known}
    domains = _domains(known[0].level, shown, before, [cache.cpus for cache in listed], topology)
    ids = _ids(known, domains)
    by_cpus = {cache.cpus: cache for cache in known}
    of_document = {cache.cpus & online: cache for cache in listed}
    caches = []
    for number, cpus in enumerate(sorted(parts(domains, online), key=lambda cpus: cpus.first)):
        mine = by_cpus.get(cpus & before)
        if mine is None:
            identity = ids[number] if ids else None
            mine = _of_others(known, of_document.get(cpus), identity)
        caches.append(mine._replace(cpus=cpus))
    return caches


def _of_others(
    known: Sequence[CacheFacts], listed: CacheFacts | None, identity: int | None
) -> CacheFacts:
    """A cache whose CPUs are all off, from the document and the known caches of its kind."""
    sizes = {cache.size for cache in known}
    size = known[0].size if len(sizes) == 1 else None
    if listed and listed.size:
        size = listed.size
    if listed and listed.id is not None:
        identity = listed.id
    if (size is None and sizes != {None}) or (identity is None and _needs_id(known)):
        raise UnknownError("the sizes and ids of their caches")
    return known[0]._replace(size=size, id=identity)


def _needs_id(known: Sequence[CacheFacts]) -> bool:
    return known[0].level >= UNCORE_LEVEL and all(cache.id is not None for cache in known)


def _domains(
    level: int, known: set[CpuSet], online: CpuSet, listed: Sequence[CpuSet], topology: Topology
) -> Sequence[CpuSet]:
    """The CPUs of each cache of a kind.

    They are as a document lists them, else the only kind of groups of which each has one cache.
    """
    by_cluster = by_label({cpu.cpu: cpu.cluster for cpu in topology.cpus}).values()
    uncore = topology.uncore_caches.values()
    sizes = (topology.cores.values(), by_cluster, dies(topology), topology.numa_nodes.values())
    exact = (listed, uncore) if level == UNCORE_LEVEL else (listed,)
    fitting = [groups for groups in exact if parts(groups, online) == known]
    # one of a lower level may not be everybody's
    if not fitting and (level >= UNCORE_LEVEL or len(known) > 1):
        fitting = [
            groups
            for groups in (*sizes, uncore, topology.sockets.values())
            if parts(groups, online) == known
        ]
    if len(set(map(frozenset, fitting))) != 1:
        raise UnknownError("their caches")
    return list(fitting[0])


def _ids(known: Sequence[CacheFacts], domains: Sequence[CpuSet]) -> list[int] | None:
    """The ids of all caches by lowest CPU, if the known ids are evenly spaced in that order."""
    order = sorted(domains, key=lambda cpus: cpus.first)
    places = {
        at: cache.id for at, cpus in enumerate(order) for cache in known if cache.cpus <= cpus
    }
    numbered = sorted((at, number) for at, number in places.items() if number is not None)
    if len(numbered) < 2 or len(numbered) < len(known):
        return None
    (first, start), (second, after) = numbered[:2]
    step, rest = divmod(after - start, second - first)
    if rest or any(number != start + step * (at - first) for at, number in numbered):
        return None
    return [start + step * (at - first) for at in range(len(order))]
