"""What importers share: the facts of a machine, nodes, what an import results in, and formats."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cpuplan.base import naming
from cpuplan.base.cpuset import EMPTY, CpuSet, union
from cpuplan.diagnostics import Diagnostic

#: uname(1)'s names of the architectures that documents know.
ARCHITECTURES = frozenset({"x86_64", "aarch64", "ppc64le", "s390x", "riscv64", "loongarch64"})
#: Bytes of memory: no machine has more, and a document takes no more digits.
MAX_MEMORY = 1 << 56
#: Of CPUs and of huge pages, likewise.
MAX_COUNT = 1 << 32


class CacheFacts(NamedTuple):
    """One cache of level 2 or higher; `size` in bytes, `id` is the kernel's, unique by level."""

    level: int
    type: str
    size: int | None
    id: int | None
    cpus: CpuSet


class NumaFacts(NamedTuple):
    """One NUMA node of the kernel: memory in bytes, huge pages by size in kB, its distances."""

    id: int
    cpus: CpuSet
    memory: int | None
    distances: tuple[int, ...]
    huge_pages: dict[int, int]


class DeviceFacts(NamedTuple):
    """One PCI function; ids as the kernel writes them (`0x8086`)."""

    address: str
    pci_class: int
    vendor: str | None
    device: str | None
    numa_node: int | None
    driver: str | None = None
    interfaces: tuple[str, ...] = ()
    total_functions: int | None = None  # SR-IOV: how many virtual functions it can have, and has
    functions: int | None = None
    # of a virtual function: the address of the function that it belongs to
    physical_function: str | None = None


class KubeletFiles(NamedTuple):
    """What the kubelet reads of the kernel's files beside a machine's groups of CPUs."""

    # online CPUs by the links of the NUMA nodes; None where there are no links
    numa_links: dict[int, CpuSet] | None
    no_numa_nodes: bool
    # online CPUs without core_id or physical_package_id; on s390x, book_id or drawer_id
    unlabelled: CpuSet
    unread_caches: CpuSet  # online CPUs with a cache without id or size
    sockets: int  # by `physical id` in /proc/cpuinfo, else by physical_package_id
    books: dict[int, int]
    drawers: dict[int, int]


class Marks(NamedTuple):
    """What a machine's files show that software did to it: no facts of the hardware."""

    switched_off: CpuSet = EMPTY  # CPUs that set-cpus-offline.service switches off
    huge_pages: dict[tuple[int, int], int] = {}  # that units set aside, by NUMA node and size in kB
    smt_off: bool = False  # the kernel uses one thread of each core
    grub: str = ""  # boot arguments of cpuplan's drop-in for GRUB
    linked: dict[int, CpuSet] = {}  # offline CPUs that are linked to a NUMA node


class Machine(NamedTuple):
    """The facts of one machine. The dicts are by CPU and hold the labels that the kernel has."""

    architecture: str  # "" where the format has none
    vendor: str | None
    model: str | None
    model_number: int | None
    online: CpuSet
    offline: CpuSet  # present and not online
    siblings: tuple[CpuSet, ...]  # the cores, ascending by lowest CPU
    core_ids: dict[int, int]
    sockets: dict[int, int]
    dies: dict[int, int]
    clusters: tuple[CpuSet, ...]
    core_types: dict[int, str]
    caches: tuple[CacheFacts, ...]
    numa_nodes: tuple[NumaFacts, ...]
    huge_page_sizes: tuple[int, ...]  # kB
    devices: tuple[DeviceFacts, ...]
    boot_arguments: str | None
    kubelet: KubeletFiles | None = None  # where the format has the kernel's files
    marks: Marks = Marks()
    assumptions: tuple[str, ...] = ()  # what no source states, as sentences


#: How remarks on what was read say that something was assumed, not only left open.
_ASSUMED = re.compile(r"\b(assumed|treated as|counts? as|is used)\b")


def assumptions_in(remarks: Iterable[str]) -> tuple[str, ...]:
    """The remarks that state an assumption: they go into the document too."""
    return tuple(remark for remark in remarks if _ASSUMED.search(remark))


def bare_machine(cores: Iterable[CpuSet]) -> Machine:
    """A machine of which only the cores are known."""
    siblings = by_first_cpu(cores)
    return Machine(
        architecture="",
        vendor=None,
        model=None,
        model_number=None,
        online=union(siblings),
        offline=EMPTY,
        siblings=siblings,
        core_ids={},
        sockets={},
        dies={},
        clusters=(),
        core_types={},
        caches=(),
        numa_nodes=(),
        huge_page_sizes=(),
        devices=(),
        boot_arguments=None,
    )


def distinct(caches: Iterable[CacheFacts]) -> Iterator[CacheFacts]:
    """Each cache with the CPUs that no cache of its level and type before it has; no empty ones."""
    seen: dict[tuple[int, str], CpuSet] = {}
    for cache in caches:
        key = (cache.level, cache.type)
        cpus = cache.cpus - seen.get(key, EMPTY)
        seen[key] = seen.get(key, EMPTY) | cache.cpus
        if cpus:
            yield cache._replace(cpus=cpus)


def cache_order(cache: CacheFacts) -> tuple[int, str, int]:
    """What caches are sorted by: level, type and lowest CPU."""
    return cache.level, cache.type, cache.cpus.first


def in_several(groups: Iterable[CpuSet]) -> CpuSet:
    """The CPUs that are in more than one of the groups."""
    seen = twice = EMPTY
    for cpus in groups:
        twice |= seen & cpus
        seen |= cpus
    return twice


def by_first_cpu(groups: Iterable[CpuSet]) -> tuple[CpuSet, ...]:
    """Groups of CPUs, ascending by lowest CPU."""
    return tuple(sorted(groups, key=lambda cpus: cpus.first))


_SUFFIX = re.compile(r"\.(tar|tgz|txz|tbz2?|gz|xz|bz2|json|txt|xml|yaml|yml)\Z")
#: What collectors call their files, or people after a command; the rest of the name, or the folder,
#: names the machine.
_GENERIC = re.compile(
    r"(^|[-_.])(sysroot|sysinfo|(ghw-)?snapshot|sys|root|lscpu(-[a-z0-9.]+)*|numactl(-[a-z]+)?|hwloc(-[a-z0-9]+)?"
    r"|lstopo|topology|machineinfo|ironic(-numa)?|nrt(-[a-z]+)?)\Z"
)


class Node(NamedTuple):
    """One node: its machine's facts, and what the cluster knows of it.

    The format of a `partial` node leaves much open; `join.open_points` lists what is left open in
    the end.
    """

    name: str
    machine: Machine
    labels: dict[str, str]
    cluster: str | None = None
    partial: bool = False
    cluster_from: str = ""  # what the cluster's name was derived from, where nobody gave it
    #: Fields of the Cluster document of its cluster.
    cluster_facts: Mapping[str, Any] = {}
    #: All labels of its Node object, also those that no inventory gets; None without an object.
    told_labels: Mapping[str, str] | None = None
    #: The collection of one cluster's nodes that it is from, and how its cluster is called where
    #: nobody says the name.
    origin: str = ""
    home: str = ""
    #: CPUs at work that its inventory has offline (`change.restore`).
    online_again: CpuSet = EMPTY


class Zone(NamedTuple):
    """A NUMA node in a cluster's object: its sizes, and how many CPUs it has, but not which.

    Memory in bytes, huge pages by size in kB, distances by NUMA node.
    """

    id: int
    cpus: int | None
    memory: int | None
    huge_pages: dict[int, int]
    distances: dict[int, int]


class NodeObject(NamedTuple):
    """A node in a cluster's objects: labels that people select by, architecture as in uname(1).

    The capacity is that of a Node object (CPUs online, memory in bytes, huge pages by size in kB),
    the zones are a NodeResourceTopology's.
    """

    name: str
    labels: dict[str, str]
    architecture: str | None = None
    cluster: str | None = None
    cpus: int | None = None
    memory: int | None = None
    huge_pages: dict[int, int] = {}
    zones: tuple[Zone, ...] = ()
    core_types: dict[int, str] = {}
    #: Fields of the Cluster document of its cluster.
    cluster_facts: Mapping[str, Any] = {}
    #: All labels; None of an object that is no Node object.
    told_labels: Mapping[str, str] | None = None
    origin: str = ""  # as in Node


class Imported(NamedTuple):
    """What was read. `remarks` are sentences on what the input does not contain."""

    nodes: tuple[Node, ...]
    remarks: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    objects: tuple[NodeObject, ...] = ()


def _holds_none(_folder: Path) -> bool:
    return False


class Format(NamedTuple):
    """A format: what it looks like, and how it is read.

    `read` raises nothing: what is wrong with an input is among the diagnostics. A module that
    defines a format is imported for its look, so `read` imports the parser when it is called.
    """

    name: str
    summary: str  # for the help of `cpuplan import`
    read: Callable[[Path], Imported]
    text: re.Pattern[str] | None = None  # how a text begins
    is_folder: Callable[[Path], bool] = _holds_none
    packs_files: bool = False  # a tar archive is taken for one
    #: Reads the files that give a node one name, which are parts of it.
    read_parts: Callable[[Sequence[Path]], Imported] | None = None


def node_name(path: Path) -> str:
    """worker-0 for `worker-0.tgz`, `worker-0/sysinfo.tgz` and `worker-0.lscpu.json`."""
    path = path.absolute()
    stem = path.name
    while short := _SUFFIX.sub("", stem):
        if short == stem:
            break
        stem = short
    stem = _GENERIC.sub("", stem) or path.parent.name
    return naming.name_from(stem, "host", naming.LONGEST_NODE)
