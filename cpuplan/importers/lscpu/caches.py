"""The caches of lscpu's tables: the CPUs that share them, their ids, and their sizes."""

from collections.abc import Iterable, Sequence

from cpuplan.base.cpuset import CpuSet
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


def doubtful(
    rows: Sequence[Row], siblings: Iterable[CpuSet], summary: Summary | None, *, repeats: bool
) -> dict[str, list[CpuSet]]:
    """Cores that may be several, by what shows it, or by what is missing to show the contrary.

    `repeats`: numbers of cores start again somewhere on such a machine, for each kind of CPU or in
    each book.
    """
    doubts: dict[str, list[CpuSet]] = {}
    by_cpu = {row.cpu: row for row in rows}
    most = _most_threads(summary)
    for cpus in siblings:
        core = [by_cpu[cpu] for cpu in cpus]
        problem = _doubt(core, most, repeats=repeats) if len(cpus) > 1 else ""
        if problem:
            doubts.setdefault(problem, []).append(cpus)
    return doubts


def _doubt(core: Sequence[Row], most: int | None, *, repeats: bool) -> str:
    """Why the CPUs of a core may be several cores; empty if nothing speaks against them.

    Threads of a core share its caches; AMD's compute units, whose CPUs have data caches of their
    own, share the others.
    """
    caches = [_close_caches(row) for row in core]
    if all(caches) and not set.intersection(*caches):
        return "they have no first- or second-level cache in common"
    if len(core) not in _THREADS:
        return "no core has as many threads"
    if most is not None and len(core) > most:
        return f"by the summary, a core has at most {most} threads"
    is_shown = all(caches) or all(row.model for row in core) or most is not None
    if repeats and not is_shown:
        return "the table has neither their caches nor their models"
    return ""


def _most_threads(summary: Summary | None) -> int | None:
    """The threads of the widest core, where a summary counts them."""
    counts = [kind.threads_per_core for kind in summary.kinds] if summary else []
    return max((count for count in counts if count is not None), default=None)
