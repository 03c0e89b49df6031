"""What importers share: the facts of a machine as its kernel tells them, and what an import comes
to.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from cpuplan import naming
from cpuplan.cpuset import EMPTY, CpuSet, union
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.quantity import to_text

#: A sysinfo.tgz of 2,000 CPUs has about 4 MB, its /proc/cpuinfo 3.
MAX_FILE = 64 * 1024 * 1024
_MAX_SHOWN = 120  # characters of a path in a message
_MAX_KEPT = 10_000  # paths that are counted
_SUFFIX = re.compile(r"\.(tar|tgz|txz|tbz2?|gz|xz|bz2|json|txt|xml|yaml|yml)\Z")
#: What collectors call their files, or people after a command: before or after it, or in the
#: folder, is the machine.
_GENERIC = re.compile(
    r"(^|[-_.])(sysroot|sysinfo|(ghw-)?snapshot|sys|root|lscpu(-[a-z0-9.]+)*|hwloc(-[a-z0-9]+)?|lstopo|topology|"
    r"machineinfo|ironic(-numa)?|nrt(-[a-z]+)?)\Z"
)


class CacheFacts(NamedTuple):
    """One cache of level 2 or higher. `size` in bytes; `id` is the kernel's, unique within the
    level.
    """

    level: int
    type: str
    size: int | None
    id: int | None
    cpus: CpuSet


class NumaFacts(NamedTuple):
    """One NUMA node that the kernel lists: memory in bytes, huge pages by size in kB, its row of
    distances.
    """

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
    """What the kubelet reads beside a machine's groups of CPUs, as the kernel's files have it."""

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
    """What a machine's files say that software did to it: no facts of the hardware."""

    switched_off: CpuSet = EMPTY  # CPUs that set-cpus-offline.service switches off
    huge_pages: dict[tuple[int, int], int] = {}  # that units set aside, by NUMA node and size in kB
    smt_off: bool = False  # the kernel was told to use one thread of each core
    grub: str = ""  # boot arguments of cpuplan's drop-in for GRUB
    linked: dict[int, CpuSet] = {}  # offline CPUs that are linked to a NUMA node


class Machine(NamedTuple):
    """The facts of one machine. The dicts are by CPU and hold the kernel's labels, where it tells
    them.
    """

    architecture: str  # "" where the format does not tell
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


class Node(NamedTuple):
    """One node: its machine's facts, and what the cluster knows of it.

    The format of a `partial` node leaves much open; what of it is so in the end is said by
    `join.open_points`.
    """

    name: str
    machine: Machine
    labels: dict[str, str]
    cluster: str | None = None
    partial: bool = False
    cluster_from: str = ""  # what the cluster's name was derived from, where nobody gave it


class Zone(NamedTuple):
    """What a cluster's object tells of a NUMA node: sizes, and how many CPUs, but not which.

    Memory in bytes, huge pages by size in kB, distances by NUMA node.
    """

    id: int
    cpus: int | None
    memory: int | None
    huge_pages: dict[int, int]
    distances: dict[int, int]


class NodeObject(NamedTuple):
    """What a cluster's objects tell of a node: the labels that people select by, and uname(1)'s
    architecture.

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


class Imported(NamedTuple):
    """What an importer found. `remarks` are sentences on what the input does not tell."""

    nodes: tuple[Node, ...]
    remarks: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    objects: tuple[NodeObject, ...] = ()


class Importer(Protocol):
    """A module of this package that reads one format."""

    def read(self, path: Path) -> Imported:
        """The nodes at `path`. What is wrong with it is among the diagnostics; nothing is
        raised.
        """
        ...


class PartsImporter(Protocol):
    """A module of this package whose format may take several files for one node."""

    def read_parts(self, paths: Sequence[Path]) -> Imported:
        """The node that the files at `paths`, at least one, describe together; as Importer.read."""
        ...


class Refused:
    """What of a tree is not read, by the reason."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._members: dict[str, set[str]] = {}
        self._files: dict[int, set[str]] = {}

    def add(self, reason: str, path: str) -> None:
        """Note `path`, which `reason` is the noun for: `a device or pipe`."""
        _keep(self._members.setdefault(reason, set()), path)

    def add_large(self, limit: int, path: str) -> None:
        """Note a file of more than `limit` bytes."""
        _keep(self._files.setdefault(limit, set()), path)

    def diagnostics(self) -> list[Diagnostic]:
        """One for each reason, with the first path and how many there are."""
        found = [
            diagnose("CP122", path=self._name, problem=f"{reason}: {_first_of(paths)}")
            for reason, paths in self._members.items()
        ]
        for limit, paths in self._files.items():
            place = f"{self._name}: {_first_of(paths)}"
            found.append(diagnose("CP123", path=place, limit=to_text(limit), what="bytes per file"))
        return found


def _keep(paths: set[str], path: str) -> None:
    if len(paths) < _MAX_KEPT:
        paths.add(path if len(path) <= _MAX_SHOWN else f"{path[:_MAX_SHOWN]}...")


def _first_of(paths: set[str]) -> str:
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    return min(paths) + more + (" at least" if len(paths) == _MAX_KEPT else "")


class Tree(Protocol):
    """Files under one root: a folder or an archive. Paths are relative, with `/`; nothing outside
    is ever read.

    Symbolic links are followed as if the root were `/`. What is missing, unreadable or refused
    reads as None or [].
    """

    name: str
    refused: Refused

    def read(self, path: str, limit: int = MAX_FILE) -> str | None:
        """The text of a file; None for one of more than `limit` bytes too."""
        ...

    def read_bytes(self, path: str, limit: int = MAX_FILE) -> bytes | None: ...

    def names(self, path: str) -> list[str]:
        """What is in a folder, sorted."""
        ...

    def link(self, path: str) -> str | None:
        """The target of a symbolic link, as written."""
        ...


def bare_machine(cores: Iterable[CpuSet]) -> Machine:
    """A machine of which only the cores are known."""
    siblings = tuple(sorted(cores, key=lambda cpus: cpus.first))
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


def node_name(path: Path) -> str:
    """A node's name made from a path: worker-0 of `worker-0.tgz`, `worker-0/sysinfo.tgz` and
    `worker-0.lscpu.json`.
    """
    path = path.absolute()
    stem = path.name
    while short := _SUFFIX.sub("", stem):
        if short == stem:
            break
        stem = short
    stem = _GENERIC.sub("", stem) or path.parent.name
    return naming.name_from(stem, "host", naming.LONGEST_NODE)
