"""The caches of a machine as rows of a document."""

from collections.abc import Iterable, Iterator
from typing import Any

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.quantity import to_text
from cpuplan.importers.documents.cores import sequence
from cpuplan.importers.machine import CacheFacts

#: From this level on the kubelet distinguishes caches by their ids (uncore cache), so they are
#: kept.
_LEVEL_WITH_IDS = 3


def caches(
    facts: Iterable[CacheFacts], groups: dict[str, list[CpuSet]]
) -> Iterator[dict[str, Any]]:
    """A row for all caches of one level, type and size.

    `per` names the kind of `groups` of which each has one; other caches list their CPUs.
    """
    alike: dict[tuple[int, str, int], list[CacheFacts]] = {}
    for cache in facts:
        size = -1 if cache.size is None else cache.size
        alike.setdefault((cache.level, cache.type, size), []).append(cache)
    for (level, kind, size), members in sorted(alike.items()):
        sets = {cache.cpus for cache in members}
        per = next((name for name, cpus in groups.items() if set(cpus) == sets), None)
        yield {
            "level": level,
            "type": None if kind == "Unified" else kind,
            "size": None if size < 0 else to_text(size),
            "per": per,
            "cpus": None if per else [cache.cpus.kernel_list() for cache in members],
            "ids": _ids(level, members),
        }


def _ids(level: int, members: list[CacheFacts]) -> str | None:
    ids = [cache.id for cache in members if cache.id is not None and cache.id >= 0]
    return sequence(ids) if level >= _LEVEL_WITH_IDS and len(ids) == len(members) else None
