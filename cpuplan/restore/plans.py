"""What a project says of a node: the hardware that it has, and what its plan does to it."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpuplan.components import hugepages
from cpuplan.cpuset import EMPTY, CpuSet
from cpuplan.importers.base import Node
from cpuplan.importers.documents.nodes import cluster_of
from cpuplan.model.inventory import HardwareSpec
from cpuplan.plan import NodeClass

if TYPE_CHECKING:
    from cpuplan.fleet.lock import Starts


class Planned(NamedTuple):
    """Of one node. Without a project that knows it, nothing."""

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
        """The node's own; of one whose input names no cluster, if the project has one node of that
        name.
        """
        cluster = cluster_of(node)
        if node.cluster is None and len(found := self._clusters.get(node.name, [])) == 1:
            cluster = found[0]
        return self._nodes.get((cluster, node.name), Planned())


def read(root: Path) -> Plans:
    """The plans of the project at `root`: its inventory, and what its lock says of the classes of
    its intents.

    What is wrong with the project is not said here, and what cannot be read of it is as good as
    missing.
    """
    from cpuplan import pipeline
    from cpuplan.fleet import groups

    if not any((root / name).is_dir() for name in ("inventories", "intents")):
        return Plans({})
    project = pipeline.load(root)
    specs: dict[str, HardwareSpec] = {
        each.name: each.spec for each in project.documents.of_kind("Hardware")
    }
    nodes = {
        (group.cluster, name): Planned(group.hardware, specs.get(group.hardware))
        for group in groups.build(project.documents, [])
        for name in group.names
    }
    known_layouts = pipeline.starts(project)
    for each in project.classes:
        planned = _planned(known_layouts, each)
        for name in each.nodes:
            known = nodes[each.cluster, name]
            nodes[each.cluster, name] = planned._replace(hardware=known.hardware, spec=known.spec)
    return Plans(nodes)


def _planned(layouts: "Starts", node_class: NodeClass) -> Planned:
    start = next(iter(layouts.of(node_class)), None)
    return Planned(
        offlined=start.locked.pools.get("offlined", EMPTY) if start else EMPTY,
        arguments=node_class.spec.kernel.extra_arguments,
        huge_pages={
            (pages.numa_node, hugepages.to_kib(pages.size)): pages.count
            for pages in node_class.spec.huge_pages.pages
        },
    )
