"""A machine as nested boxes of cores: what the terminal map and the picture both draw."""

from typing import NamedTuple

from cpuplan.cpuset import CpuSet, union
from cpuplan.model.topology import UNKNOWN, Topology
from cpuplan.render.map.marks import Mark
from cpuplan.text import counted

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


class Core(NamedTuple):
    """The online siblings of one core, by mark: one part unless the core is split.

    `cluster` is the lowest CPU of its cluster, where clusters are drawn.
    """

    siblings: CpuSet
    parts: tuple[tuple[Mark, CpuSet], ...]
    cluster: int = UNKNOWN
    told: str = ""  # what the picture tells of it when pointed at


class Group(NamedTuple):
    """Cores of one kind that share a last-level cache; no title where a box has only one group."""

    title: str
    cores: tuple[Core, ...]

    def by_mark(self) -> dict[Mark, CpuSet]:
        """The CPUs of the cores by mark, in the order of legends."""
        parts = [part for core in self.cores for part in core.parts]
        marks = sorted({mark for mark, _ in parts}, key=lambda mark: (mark.rank, mark.name))
        return {mark: union(cpus for other, cpus in parts if other == mark) for mark in marks}

    @property
    def plain(self) -> bool:
        """Whether its cores are in no pools."""
        return not any(mark.letter for core in self.cores for mark, _ in core.parts)

    def by_thread(self) -> str:
        """`0-27 + 56-83`: the first threads of the cores, then their second ones; cores of more
        threads first.
        """
        texts = []
        for count in sorted({len(core.siblings) for core in self.cores}, reverse=True):
            threads = zip(
                *(core.siblings for core in self.cores if len(core.siblings) == count), strict=True
            )
            texts.append(" + ".join(CpuSet(cpus).kernel_list() for cpus in threads))
        return ", ".join(texts)

    def by_cluster(self) -> list[list[Core]]:
        """Runs of cores of one cluster; a run of all cores where none are drawn."""
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
    """All that a map or picture shows, from above to below."""

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
    # the sets that lie over the pools, drawn below the CPUs of a picture
    over: tuple[Entry, ...] = ()
    condensed: bool = False  # ranges of CPUs instead of cores, where there is little room


def numa_title(topology: Topology, node: int) -> str:
    """`NUMA node 0, 256 GiB`; without the memory where it is not known."""
    size = topology.numa_facts[node].memory
    return f"NUMA node {node}" if size is None else f"NUMA node {node}, {memory_text(size)}"


def type_words(core_type: str) -> str:
    """A core type as people say it: `lowPower` is low power."""
    return "low power" if core_type == "lowPower" else core_type


def memory_text(size: int) -> str:
    """Bytes as people say them, to one decimal: `255.6 GiB`."""
    unit = next((unit for unit in range(len(UNITS) - 1, 0, -1) if size >= 1024**unit), 0)
    number = f"{size / 1024**unit:.1f}".removesuffix(".0")
    return f"{number} {UNITS[unit]}"


def counts(topology: Topology) -> str:
    """`112 CPUs, 56 cores, 2 sockets, 2 NUMA nodes, 2 last-level caches`; what is not known is left
    out.
    """
    sizes = (
        (len(topology.cpus), "CPU"),
        (len(topology.cores), "core"),
        (len(topology.sockets.keys() - {UNKNOWN}), "socket"),
        (len(topology.numa_facts.keys() - {UNKNOWN}), "NUMA node"),
        (len(topology.uncore_caches), "last-level cache"),
    )
    return ", ".join(counted(count, noun) for count, noun in sizes if count)
