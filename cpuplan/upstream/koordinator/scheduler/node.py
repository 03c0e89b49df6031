"""A node as the scheduler's cache holds it."""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.koordinator.annotations.node import read_ratios
from cpuplan.upstream.koordinator.annotations.pod import NumaNodeResource
from cpuplan.upstream.koordinator.scheduler.amplification import amplified
from cpuplan.upstream.koordinator.scheduler.node_allocation import NodeAllocation
from cpuplan.upstream.koordinator.scheduler.options import TopologyOptions
from cpuplan.upstream.kubelet.pods.pod import Resources, sum_of


class NodeObject(NamedTuple):
    """What the Node's object and its NodeResourceTopology say."""

    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    allocatable: Resources
    options: TopologyOptions = TopologyOptions()


class Moment(NamedTuple):
    """The state of a node between two pods."""

    options: TopologyOptions
    requests: Mapping[str, Resources]
    allocation: Any


class SchedulerNode:
    """A node, the requests of its pods, and what the plugin gave to them."""

    def __init__(self, node: NodeObject) -> None:
        self.node, self.options = node, node.options
        self.allocation = NodeAllocation(node.options)
        self.requests: dict[str, Resources] = {}

    def release(self, uid: str) -> None:
        """The pod is gone, or was never bound."""
        self.allocation.release(uid)
        self.requests.pop(uid, None)

    def report(self, options: TopologyOptions) -> None:
        """The NodeResourceTopology was written anew."""
        self.options = options
        self.allocation.report(options)

    def take(self) -> Moment:
        """This moment between two pods, for `restore`."""
        return Moment(self.options, dict(self.requests), self.allocation.take())

    def restore(self, moment: Moment) -> None:
        self.report(moment.options)
        self.requests = dict(moment.requests)
        self.allocation.restore(moment.allocation)

    def key(self) -> Hashable:
        """What the next pod's scheduling depends on beside all requests."""
        return self.allocation.key(), self.options.reserved

    @property
    def requested(self) -> Resources:
        return sum_of(self.requests.values())

    def amplified_zones(self) -> tuple[tuple[NumaNodeResource, ...], Mapping[str, float]]:
        """(zones, ratios): those of the NodeResourceTopology, where it has ratios, or of the node.

        KubeletError for an annotation of the node that cannot be read.
        """
        if self.options.ratios is not None:
            return self.options.numa_nodes, self.options.ratios
        ratios = read_ratios(self.node.annotations)
        if not ratios:
            return self.options.numa_nodes, {}
        zones = (
            zone._replace(resources=amplified(zone.resources, ratios, zone.resources))
            for zone in self.options.numa_nodes
        )
        return tuple(zones), ratios
