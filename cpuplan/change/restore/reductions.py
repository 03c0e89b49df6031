"""What took CPUs or memory from an imported machine: a project's plan, or boot arguments."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cpuplan import pipeline
from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.topology import Topology
from cpuplan.components import cmdline, hugepages
from cpuplan.fleet import groups
from cpuplan.fleet.lock import Starts
from cpuplan.importers.base import Node
from cpuplan.importers.documents import cluster_of
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.plan import NodeClass
from cpuplan.upstream.linux import hugetlb, kernel_parameters
from cpuplan.upstream.linux.cmdline import memparse
from cpuplan.upstream.linux.kernel_parameters import Cpu, CpuLimit

_SIZE = re.compile(r"([0-9]{1,15})([KMGTkmgt]?)")
#: Whose CPUs nobody knows: mitigations count as if they had the bug.
_ANY = Cpu()


def values(line: str) -> list[tuple[str, str]]:
    """(name, value) of every word, in order; the value of an argument without one is empty."""
    return [(argument.name, argument.value or "") for argument in cmdline.arguments(line)]


def _limits(line: str) -> list[tuple[str, CpuLimit]]:
    """Each word that leaves not all CPUs, and what it leaves."""
    return [
        (argument.text, limit)
        for argument, limit in kernel_parameters.limiting(cmdline.arguments(line), _ANY)
    ]


def one_thread(line: str) -> str:
    """The word that leaves each core one thread; empty where none does."""
    return next((word for word, limit in _limits(line) if limit.is_one_thread), "")


def cpus_off(line: str, topology: Topology) -> Iterator[tuple[str, CpuSet]]:
    """Each word that keeps CPUs of the machine `topology` from coming up, and these CPUs."""
    present, first_threads = topology.online | topology.offline, CpuSet(topology.cores)
    limits = sorted(_limits(line), key=lambda limit: not limit[1].is_one_thread)
    for word, limit in limits:
        yield word, limit.lost(topology.online if limit.is_one_thread else present, first_threads)


def limits_cpus(line: str) -> str:
    """The words that keep CPUs from coming up, whatever the machine; empty where there are none."""
    return " ".join(word for word, _ in _limits(line))


def memory_limit(line: str) -> int | None:
    """Bytes that `mem=` leaves; None without it. Of several the smallest counts."""
    return kernel_parameters.memory_limit(cmdline.arguments(line))


def memory_taken(line: str) -> int:
    """Bytes that crashkernel= and memmap= take at most: of crashkernel's ranges, the largest."""
    taken = 0
    for name, value in values(line):
        if name == "crashkernel":
            taken += max((memparse(size) for size in _crash_sizes(value)), default=0)
        elif name == "memmap":
            areas = (re.split(r"[$!#@]", area) for area in value.split(","))
            taken += sum(
                memparse(area[0]) for area in areas if len(area) == 2 and _SIZE.fullmatch(area[0])
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
    for page in hugetlb.parse(cmdline.arguments(line), usual=0).pages:
        pages[page.size // 1024] = pages.get(page.size // 1024, 0) + page.number
    return pages


class Planned(NamedTuple):
    """What a project has on a node; empty if it does not know the node."""

    hardware: str = ""
    spec: HardwareSpec | None = None
    offlined: CpuSet = EMPTY
    offline: CpuSet = EMPTY  # that its group of nodes has offline
    arguments: tuple[str, ...] = ()  # extra boot arguments of its intent
    #: By NUMA node (None: the machine) and size in kB.
    huge_pages: dict[tuple[int | None, int], int] = {}  # noqa: RUF012 - never changed
    runtime: str | None = None  # that its target states


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
        (group.cluster, name): Planned(
            group.hardware, specs.get(group.hardware), offline=group.offline
        )
        for group in groups.build_groups(project.documents, [])
        for name in group.names
    }
    known_layouts = pipeline.starts(project)
    for node_class in project.classes:
        planned = _planned(known_layouts, node_class)
        for name in node_class.nodes:
            known = nodes[node_class.cluster, name]
            nodes[node_class.cluster, name] = planned._replace(
                hardware=known.hardware, spec=known.spec, offline=known.offline
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
        runtime=_runtime(node_class),
    )


def _runtime(node_class: NodeClass) -> str | None:
    """The runtime that the target states itself; None where the Cluster document has it."""
    is_of_cluster = node_class.cluster_facts.runtime is not None
    return None if is_of_cluster else node_class.target.stated_runtime
