"""The hardware of a node and its plan, according to a project."""

from pathlib import Path
from typing import NamedTuple

from cpuplan import pipeline
from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.components import hugepages
from cpuplan.fleet import groups
from cpuplan.fleet.lock import Starts
from cpuplan.importers.base import Node
from cpuplan.importers.documents.nodes import cluster_of
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.plan import NodeClass


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
        for group in groups.build(project.documents, [])
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
