"""A node as the scheduler's cache holds it."""

from collections.abc import Mapping
from typing import NamedTuple

from cpuplan.koordinator.annotations.node import read_ratios
from cpuplan.koordinator.annotations.pod import NumaNodeResource
from cpuplan.koordinator.scheduler.amplification import amplified
from cpuplan.koordinator.scheduler.node_allocation import NodeAllocation
from cpuplan.koordinator.scheduler.options import TopologyOptions
from cpuplan.kubelet.pods.pod import Resources, sum_of


class NodeObject(NamedTuple):
    """What the Node's object and its NodeResourceTopology say."""

    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    allocatable: Resources
    options: TopologyOptions = TopologyOptions()


class SchedulerNode:
    """A node, the requests of its pods, and what the plugin gave to them."""

    def __init__(self, node: NodeObject) -> None:
        self.node, self.options = node, node.options
        self.allocation = NodeAllocation(node.options)
        self.requests: dict[str, Resources] = {}

    @property
    def requested(self) -> Resources:
        return sum_of(self.requests.values())

    def amplified_zones(self) -> tuple[tuple[NumaNodeResource, ...], Mapping[str, float]]:
        """(zones, ratios): those of the NodeResourceTopology, where it has ratios, or of the node.

        KubeletError for an annotation of the node that cannot be read.
        """
        if self.options.ratios is not None:
            return self.options.numa_nodes, self.options.ratios
        ratios = read_ratios(self.node.annotations) or {}
        zones = (
            zone._replace(resources=amplified(zone.resources, ratios, zone.resources))
            for zone in self.options.numa_nodes
        )
        return tuple(zones), ratios
