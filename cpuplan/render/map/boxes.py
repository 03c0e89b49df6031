"""A machine as nested boxes of cores: what text and picture both draw."""

from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.topology import UNKNOWN
from cpuplan.render.map.marks import Mark


class Core(NamedTuple):
    """The online siblings of one core, by mark: one part unless the core is split.

    `cluster` is the lowest CPU of its cluster, if clusters are drawn.
    """

    siblings: CpuSet
    parts: tuple[tuple[Mark, CpuSet], ...]
    cluster: int = UNKNOWN
    hint: str = ""  # what a picture shows when the core is pointed at


class Group(NamedTuple):
    """Cores of one kind that share a last-level cache; no title if a box has only one group."""

    title: str
    cores: tuple[Core, ...]

    def by_mark(self) -> dict[Mark, CpuSet]:
        """The CPUs of the cores by mark, in the order of legends."""
        parts: dict[Mark, list[CpuSet]] = {}
        for core in self.cores:
            for mark, cpus in core.parts:
                parts.setdefault(mark, []).append(cpus)
        marks = sorted(parts, key=lambda mark: (mark.rank, mark.name))
        return {mark: union(parts[mark]) for mark in marks}

    @property
    def plain(self) -> bool:
        """Whether its cores are in no pools."""
        return not any(mark.letter for core in self.cores for mark, _ in core.parts)

    def by_thread(self) -> str:
        """`0-27 + 56-83`: first threads, then second ones; cores with more threads first."""
        texts = []
        for count in sorted({len(core.siblings) for core in self.cores}, reverse=True):
            cores = [core.siblings for core in self.cores if len(core.siblings) == count]
            threads = [CpuSet(cpus).kernel_list() for cpus in zip(*cores, strict=True)]
            texts.append(" + ".join(threads))
        return ", ".join(texts)

    def by_cluster(self) -> list[list[Core]]:
        """Runs of cores of one cluster; one run of all cores if clusters are not drawn."""
        runs: list[list[Core]] = []
        for core in self.cores:
            if runs and runs[-1][-1].cluster == core.cluster:
                runs[-1].append(core)
            else:
                runs.append([core])
        return runs


class Box(NamedTuple):
    """A socket or NUMA node: boxes in it, or groups of cores; and sentences on what else it has."""

    title: str
    boxes: tuple["Box", ...] = ()
    groups: tuple[Group, ...] = ()
    notes: tuple[str, ...] = ()


class Entry(NamedTuple):
    """A line of the legend, below the heading of its section."""

    mark: Mark
    cpus: CpuSet
    section: str = ""


class Table(NamedTuple):
    """Numbers with a head above each column and one before each row."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[int, ...]], ...]


class Map(NamedTuple):
    """All that a map shows, from top to bottom."""

    title: str
    about: str  # what it is a picture of
    lines: tuple[str, ...]
    boxes: tuple[Box, ...]
    last_cpu: int
    memory: tuple[Box, ...] = ()  # NUMA nodes without CPUs
    notes: tuple[str, ...] = ()
    table: Table | None = None
    legend: tuple[Entry, ...] = ()
    splits_cores: bool = False
    over: tuple[Entry, ...] = ()  # sets over the pools: a picture has them below the CPUs
    condensed: bool = False  # ranges of CPUs instead of cores if there is little room
