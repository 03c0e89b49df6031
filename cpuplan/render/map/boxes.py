"""A machine as nested boxes of cores, with their marks and titles: text and picture draw them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product, repeat
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.text import counted, quantity_bytes
from cpuplan.base.topology import UNKNOWN, Topology
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.language.model.pools import POOLS, QOS_SETS


class Mark(NamedTuple):
    """The name of some CPUs in a legend, the letter on them, and their style."""

    name: str
    letter: str
    style: str  # of `ansi.STYLES` and `svg.colours`
    rank: int = 0  # the place in legends


_LETTERS = {"reserved": "R", "shared": "S", "isolated": "I", "isolcpus": "K", "offlined": "O"}
#: What is in no pool: CPUs that are offline, and those that a layout forgot.
OFFLINE, NO_POOL = Mark("offline", ".", "offline", 900), Mark("no pool", "?", "none", 901)
#: More partitions and containers than these repeat styles, but never letters.
PARTITION_STYLES, OWNER_STYLES = 12, 6
_TAKEN = {*_LETTERS.values()}
#: Small letters that cannot be mistaken for the capital of a pool, or for a 1.
_SMALL = [letter for letter in ascii_lowercase if letter.upper() not in _TAKEN and letter != "l"]
_OWNER_LETTERS = [letter for letter in ascii_uppercase if letter not in _TAKEN]


def kind_mark(core_type: str) -> Mark:
    """Cores outside of pools: their kind has a colour and is in a title, without a letter."""
    return Mark(core_type or "plain", "", core_type or "plain")


def pool_marks(names: Iterable[str]) -> dict[str, Mark]:
    """Pools by name."""
    marks = {}
    for rank, name in enumerate(names):
        letter = _LETTERS.get(name, name[:1].upper() or "?")
        style = name if name in POOLS else "other"
        marks[name] = Mark(name or NO_POOL.name, letter, style, 100 + rank)
    return marks


def partition_marks(names: Sequence[str]) -> dict[str, Mark]:
    """Partitions by name, `isolated.dpdk`: the first letter of theirs that is free."""
    letters = _own_letters([name.partition(".")[2] for name in names])
    marks = {}
    for index, (name, letter) in enumerate(zip(names, letters, strict=True)):
        marks[name] = Mark(name, letter, f"partition{index % PARTITION_STYLES}", 200 + index)
    return marks


def set_marks(names: Iterable[str]) -> dict[str, Mark]:
    """QoS sets, which lie over the pools, without letters."""
    return {name: Mark(name, "", name, 300) for name in names if name in QOS_SETS}


def owner_marks(names: Sequence[str]) -> list[Mark]:
    """Containers with exclusive CPUs, in their order: A, B, C, ..., AA, AB, ..."""
    pairs = map("".join, product(_OWNER_LETTERS, repeat=2))
    letters = chain(_OWNER_LETTERS, pairs, repeat("*"))
    return [
        Mark(name, letter, f"owner{index % OWNER_STYLES}", 1 + index)
        for index, (name, letter) in enumerate(zip(names, letters, strict=False))
    ]


def equally_wide(marks: Mapping[str, Mark]) -> dict[str, Mark]:
    """The marks with letters of one width, so that columns stay columns."""
    widest = max((len(mark.letter) for mark in marks.values()), default=0)
    return {
        name: mark._replace(letter=mark.letter and mark.letter.ljust(widest))
        for name, mark in marks.items()
    }


def _own_letters(names: Sequence[str]) -> list[str]:
    """A small letter for each name, unique if possible; pairs if there are many names."""
    letters: list[str] = []
    pairs = map("".join, product(_SMALL, repeat=2))
    for name in names:
        own = [letter for letter in name if letter in _SMALL]
        free = [letter for letter in (*own, *_SMALL) if letter not in letters]
        letters.append(free[0] if free else next(pairs))
    return letters


_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def numa_title(topology: Topology, node: int) -> str:
    """`NUMA node 0, 256 GiB`; without the memory if it is not known."""
    size = topology.numa_facts[node].memory
    return f"NUMA node {node}" if size is None else f"NUMA node {node}, {memory_text(size)}"


def type_words(core_type: str) -> str:
    """A core type as people say it: `lowPower` is low power."""
    return "low power" if core_type == "lowPower" else core_type


def memory_text(size: int) -> str:
    """Bytes as people say them, to one decimal: `255.6 GiB`."""
    exponent = _exponent(size)
    number = f"{size / 1024**exponent:.1f}".removesuffix(".0")
    return f"{number} {_UNITS[exponent]}"


def cache_text(size: str) -> str:
    """A cache's size, exactly: 1280 KiB is not 1.2 MiB."""
    exact = quantity_bytes(size)
    text = memory_text(exact)
    is_exact = float(text.split()[0]) * 1024 ** _exponent(exact) == exact
    return text if is_exact else f"{exact // 1024} KiB"


def counts(topology: Topology) -> str:
    """`112 CPUs, 56 cores, 2 sockets, 2 NUMA nodes, 2 last-level caches`, without unknown ones."""
    sizes = (
        (len(topology.cpus), "CPU"),
        (len(topology.cores), "core"),
        (len(topology.sockets.keys() - {UNKNOWN}), "socket"),
        (len(topology.numa_facts.keys() - {UNKNOWN}), "NUMA node"),
        (len(topology.uncore_caches), "last-level cache"),
    )
    return ", ".join(counted(count, noun) for count, noun in sizes if count)


def cache_words(spec: HardwareSpec) -> Iterator[str]:
    """All caches of the document: `L2 1 MiB per core`, `L3 24 x 32 MiB`."""
    regular = spec.regular
    if regular and regular.caches_per_socket:
        yield f"L3{_multiplied(regular.caches_per_socket, regular.cache_size)} per socket"
    for cache in spec.topology.caches if spec.topology else ():
        kind = "" if cache.type == "Unified" else f" {cache.type.lower()}"
        per = "NUMA node" if cache.per == "numaNode" else cache.per
        place = f" per {per}" if per else ""
        yield f"L{cache.level}{kind}{_multiplied(len(cache.cpus), cache.size)}{place}"


def _multiplied(count: int, size: str | None) -> str:
    """` 24 x 32 MiB`, ` 32 MiB`, ` x 24`, or nothing."""
    text = f" {cache_text(size)}" if size else ""
    if count <= 1:
        return text
    return f" {count} x{text}" if text else f" x {count}"


def _exponent(size: int) -> int:
    """The index of the largest unit that is not larger than `size`."""
    fitting = [exponent for exponent in range(len(_UNITS)) if size >= 1024**exponent]
    return fitting[-1] if fitting else 0


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
