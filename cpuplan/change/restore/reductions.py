"""What took CPUs or memory from an imported machine: a project's plan, or boot arguments."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cpuplan import pipeline
from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.topology import Topology
from cpuplan.components import cmdline, hugepages
from cpuplan.facts.settings.kernel import DEFAULT_HUGEPAGESZ
from cpuplan.fleet import groups
from cpuplan.fleet.lock import Starts
from cpuplan.importers.base import Node
from cpuplan.importers.documents import cluster_of
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.plan import NodeClass

_SIZE = re.compile(r"([0-9]{1,15})([KMGTkmgt]?)")
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
#: Arguments that end in `,nosmt` where a vulnerable CPU is to run one thread of each core.
_WITH_NOSMT = ("mitigations", "l1tf", "mds", "tsx_async_abort", "mmio_stale_data", "retbleed")


def values(line: str) -> list[tuple[str, str]]:
    """(name, value) of every word, in order; the value of an argument without one is empty."""
    return [(name, value or "") for name, value in cmdline.pairs(line)]


def one_thread(line: str) -> str:
    """The word that leaves each core one thread; empty where none does."""
    for name, value in values(line):
        if name == "nosmt":
            return "nosmt"
        if name in _WITH_NOSMT and "nosmt" in value.split(","):
            return f"{name}={value}"
    return ""


def cpus_off(line: str, topology: Topology) -> Iterator[tuple[str, CpuSet]]:
    """Each word that keeps CPUs of the machine `topology` from coming up, and these CPUs.

    maxcpus= counts what boots, in the order of the numbers; nr_cpus= and possible_cpus= bound
    numbers.
    """
    word = one_thread(line)
    if word:
        yield word, topology.online - CpuSet(topology.cores)
    present = sorted(topology.online | topology.offline)
    for name, value in values(line):
        if name == "nosmp":
            yield name, CpuSet(present[1:])
        if name not in ("maxcpus", "nr_cpus", "possible_cpus") or not re.fullmatch(
            "[0-9]{1,5}", value
        ):
            continue
        limit = max(int(value), 1)
        gone = present[limit:] if name == "maxcpus" else [cpu for cpu in present if cpu >= limit]
        yield f"{name}={value}", CpuSet(gone)


def limits_cpus(line: str) -> str:
    """The words that keep CPUs from coming up, whatever the machine; empty where there are none."""
    words = [one_thread(line)]
    for name, value in values(line):
        if name in ("nosmp", "maxcpus", "nr_cpus", "possible_cpus"):
            words.append(f"{name}={value}" if value else name)
    return " ".join(filter(None, words))


def memory_limit(line: str) -> int | None:
    """Bytes that `mem=` leaves; None without it. Of several the last counts."""
    sizes = [
        to_bytes(value) for name, value in values(line) if name == "mem" and _SIZE.fullmatch(value)
    ]
    return sizes[-1] if sizes else None


def memory_taken(line: str) -> int:
    """Bytes that crashkernel= and memmap= take at most: of crashkernel's ranges, the largest."""
    taken = 0
    for name, value in values(line):
        if name == "crashkernel":
            taken += max((to_bytes(size) for size in _crash_sizes(value)), default=0)
        elif name == "memmap":
            areas = (re.split(r"[$!#@]", area) for area in value.split(","))
            taken += sum(
                to_bytes(area[0]) for area in areas if len(area) == 2 and _SIZE.fullmatch(area[0])
            )
    return taken


def _crash_sizes(value: str) -> Sequence[str]:
    """`512M`, `512M@16M`, `256M,high`, `1G-4G:192M,4G-:512M`: the sizes."""
    parts = value.partition("@")[0].split(",")
    sizes = [part.rpartition(":")[2] for part in parts]
    return [size for size in sizes if _SIZE.fullmatch(size)]


def huge_pages(line: str) -> dict[int, int]:
    """Pages that the line asks for, by size in kB; 0 is the default size.

    The counts of NUMA nodes (`0:2,1:4`) are added up.
    """
    pages: dict[int, int] = {}
    size = 0
    for name, value in values(line):
        if name == "hugepagesz" and _SIZE.fullmatch(value):
            size = to_bytes(value) // 1024
        elif name == "hugepages":
            counts = (part.rpartition(":")[2] for part in value.split(","))
            pages[size] = pages.get(size, 0) + sum(
                int(count) for count in counts if re.fullmatch("[0-9]{1,9}", count)
            )
            size = 0
    default = [
        to_bytes(value) // 1024 for name, value in values(line) if name == DEFAULT_HUGEPAGESZ.key
    ]
    if default and 0 in pages:
        pages[default[-1]] = pages.get(default[-1], 0) + pages.pop(0)
    return pages


def to_bytes(text: str) -> int:
    """Bytes of a size as the kernel reads it (memparse); 0 for any other text."""
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _UNITS[match[2].upper()] if match else 0


class Planned(NamedTuple):
    """What a project has on a node; empty if it does not know the node."""

    hardware: str = ""
    spec: HardwareSpec | None = None
    offlined: CpuSet = EMPTY
    arguments: tuple[str, ...] = ()  # extra boot arguments of its intent
    #: By NUMA node (None: the machine) and size in kB.
    huge_pages: dict[tuple[int | None, int], int] = {}  # noqa: RUF012 - never changed


class Plans:
    """What is known of the nodes of a project, by cluster and name."""

    def __init__(self, nodes: dict[tuple[str, str], Planned]) -> None:
        self._nodes = nodes
        self._clusters: dict[str, list[str]] = {}
        for cluster, name in nodes:
            self._clusters.setdefault(name, []).append(cluster)

    def of(self, node: Node) -> Planned:
        """The plan of a node.

        A node whose input names no cluster has one if only one node of the project has its name.
        """
        cluster = cluster_of(node)
        clusters = self._clusters.get(node.name, [])
        if node.cluster is None and len(clusters) == 1:
            cluster = clusters[0]
        return self._nodes.get((cluster, node.name), Planned())


def read(root: Path) -> Plans:
    """The plans of the project at `root`, from its inventory, its intents and its lock.

    Problems of the project are not reported here: a part that cannot be read counts as missing.
    """
    if not any((root / name).is_dir() for name in ("inventories", "intents")):
        return Plans({})
    project = pipeline.load(root)
    specs: dict[str, HardwareSpec] = {
        document.name: document.spec for document in project.documents.of_kind("Hardware")
    }
    nodes = {
        (group.cluster, name): Planned(group.hardware, specs.get(group.hardware))
        for group in groups.build_groups(project.documents, [])
        for name in group.names
    }
    known_layouts = pipeline.starts(project)
    for node_class in project.classes:
        planned = _planned(known_layouts, node_class)
        for name in node_class.nodes:
            known = nodes[node_class.cluster, name]
            nodes[node_class.cluster, name] = planned._replace(
                hardware=known.hardware, spec=known.spec
            )
    return Plans(nodes)


def _planned(layouts: Starts, node_class: NodeClass) -> Planned:
    start = next(iter(layouts.of(node_class)), None)
    return Planned(
        offlined=start.locked.pools.get("offlined", EMPTY) if start else EMPTY,
        arguments=node_class.spec.kernel.extra_arguments,
        huge_pages={
            (pages.numa_node, hugepages.to_kib(pages.size)): pages.count
            for pages in node_class.spec.huge_pages.pages
        },
    )
