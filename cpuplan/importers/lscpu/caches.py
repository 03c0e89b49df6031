"""The caches of lscpu's tables: the CPUs that share them, their ids, and their sizes."""

from collections.abc import Iterable, Sequence

from cpuplan.cpuset import CpuSet
from cpuplan.importers.lscpu.summary import Summary, cache_size
from cpuplan.importers.lscpu.table import CacheKind, Row, Table
from cpuplan.importers.machine import CacheFacts, cache_order

_THREADS = (1, 2, 4, 8)
_MIN_LEVEL = 2  # documents have no first-level caches: they are one core's


def of(
    table: Table,
    rows: Sequence[Row],
    siblings: Sequence[CpuSet],
    summary: Summary | None,
    *,
    tells_ids: bool,
) -> tuple[CacheFacts, ...]:
    """The caches of level 2 and up, by level, type and lowest CPU.

    lscpu prints the kernel's id of a cache, and numbers that count from 0 if there is none. On x86
    there is one since Linux 4.11 (`tells_ids`); elsewhere only numbers that do not count are ids
    for sure.
    """
    shared = _shared(rows)
    counted = all(list(numbers) == list(range(len(numbers))) for numbers in shared.values())
    tells_ids = tells_ids or not counted
    models = {row.model for row in rows}
    widths = {len(core) for core in siblings}
    alike = not table.incomplete and len(models) == 1 and len(widths) == 1
    online = CpuSet(row.cpu for row in rows)
    facts = []
    for kind in sorted(shared):
        groups = {number: CpuSet(cpus) for number, cpus in shared[kind].items()}
        size = _size(kind, groups.values(), online, summary) if alike and summary else None
        if kind[0] >= _MIN_LEVEL:
            for number, cpus in groups.items():
                facts.append(CacheFacts(*kind, size, number if tells_ids else None, cpus))
    return tuple(sorted(facts, key=cache_order))


def _shared(rows: Iterable[Row]) -> dict[CacheKind, dict[int, list[int]]]:
    """CPUs by number of each kind of cache, numbers in the order of their CPUs."""
    shared: dict[CacheKind, dict[int, list[int]]] = {}
    for row in rows:
        for kind, number in row.caches.items():
            shared.setdefault(kind, {}).setdefault(number, []).append(row.cpu)
    return shared


def _size(
    kind: CacheKind, groups: Iterable[CpuSet], online: CpuSet, summary: Summary
) -> int | None:
    """The size of each cache of a kind if all have as many CPUs; those of unlike CPUs differ."""
    counts = [len(cpus) for cpus in groups]
    if (
        kind not in summary.caches
        or len(summary.kinds) > 1
        or len(set(counts)) > 1
        or sum(counts) != len(online)
    ):
        return None
    return cache_size(summary.caches[kind], len(counts))


def _close_caches(row: Row) -> set[tuple[CacheKind, int]]:
    """The first- and second-level caches of a CPU."""
    return {(kind, number) for kind, number in row.caches.items() if kind[0] <= _MIN_LEVEL}


def doubtful(rows: Iterable[Row], siblings: Iterable[CpuSet]) -> dict[str, list[CpuSet]]:
    """Cores that must be several, by what shows it.

    Threads of a core share its caches; AMD's compute units, whose CPUs have data caches of their
    own, share the others.
    """
    doubts: dict[str, list[CpuSet]] = {}
    caches = {row.cpu: _close_caches(row) for row in rows}
    for cpus in siblings:
        sets = [caches[cpu] for cpu in cpus]
        if len(cpus) > 1 and all(sets) and not set.intersection(*sets):
            doubts.setdefault("they have no first- or second-level cache in common", []).append(
                cpus
            )
        elif len(cpus) not in _THREADS:
            doubts.setdefault("no core has as many threads", []).append(cpus)
    return doubts
