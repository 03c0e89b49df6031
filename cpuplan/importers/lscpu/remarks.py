"""What a table and a summary of lscpu leave open, in sentences."""

from collections.abc import Iterable, Iterator

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text
from cpuplan.importers import join
from cpuplan.importers.lscpu.summary import Summary
from cpuplan.importers.lscpu.table import Row, Table
from cpuplan.importers.machine import Machine, in_several


def of_summary(summary: Summary, rules: Iterable[str]) -> Iterator[str]:
    """What a summary leaves open or to guess; `rules` say how CPUs were grouped."""
    for rule in rules:
        yield f"it is unknown which CPUs belong together; it is assumed that {rule}"
    if any(kind.threads_per_core is None for kind in summary.kinds):
        yield "cores are missing: each CPU is treated as a core"
    if len(summary.kinds) > 1:
        count = len(summary.kinds)
        yield f"there are {count} kinds of cores, and it is unknown which CPUs belong to which"
    if summary.caches:
        yield (
            "only the total size of caches is known, not which CPUs share one: caches are left open"
        )


def of_table(
    table: Table, machine: Machine, rows: list[Row], summary: Summary | None
) -> Iterator[str]:
    """What this table leaves open or to guess."""
    coreless = CpuSet(row.cpu for row in rows if row.core is None)
    if coreless:
        told = (
            "cores are" if coreless == machine.online else f"the cores of {cpus_text(coreless)} are"
        )
        yield f"{told} missing: each CPU is treated as a core"
    guessed = CpuSet(row.cpu for row in table.rows if row.online is None) & machine.offline
    if guessed and summary is None:
        yield f"{cpus_text(guessed)}: no core is listed, so they count as offline"
    if machine.core_ids:
        yield (
            "cores have the kernel's ids: CPUs of one core_id in one socket and NUMA node "
            "are treated as siblings"
        )
    if machine.caches and all(cache.id is None for cache in machine.caches):
        yield "it is unknown whether the numbers of caches are the kernel's ids: they are left open"
    if machine.core_types:
        yield (
            "kinds of cores are numbered in the order of their CPUs: it is unknown which of "
            "them is faster"
        )
    if incomplete := CpuSet(table.incomplete) & machine.online:
        yield (
            f"{cpus_text(incomplete)}: fewer caches are listed than there are columns, so "
            "theirs are left open"
        )
    if not machine.offline and summary is None and "online" not in table.columns:
        yield "offline CPUs are not listed"
    if summary is None and "node" in table.columns:
        yield "NUMA nodes without CPUs are not listed"


def of_all(machine: Machine, summary: Summary | None) -> Iterator[str]:
    """What neither a table nor a summary told, and what was assumed for it."""
    has_model = machine.model or machine.architecture not in ("", "x86_64")
    sized = all(cache.size is not None for cache in machine.caches)
    claimed_twice = in_several(summary.numa_nodes.values()) if summary else EMPTY
    told = (
        (machine.architecture, join.ARCHITECTURE_MISSING, ""),
        (has_model, "the CPU model is missing", ""),
        (machine.sockets, "sockets are missing: one is assumed", ""),
        (machine.caches or (summary and summary.caches), "caches are missing", ""),
        (sized, "the sizes of caches are missing or incomplete", ""),
        (machine.numa_nodes, "NUMA nodes are missing: one is assumed", ""),
        (
            not claimed_twice,
            "CPUs {} are in several NUMA nodes: the lowest is used",
            claimed_twice,
        ),
        (False, "memory, huge pages, dies, PCI devices and boot arguments are missing", ""),
    )
    return (text.format(value) for known, text, value in told if not known)
