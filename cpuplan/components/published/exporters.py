"""What publishes NodeResourceTopology on a cluster, and its zones of a planned node without pods.

The zones are those of the ports of the exporters, which read what the kubelet's pod-resources API
would tell them of the plan.
"""

from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY
from cpuplan.components import hugepages, kubelet, memory
from cpuplan.components.published import koordlet
from cpuplan.plan import NodePlan
from cpuplan.upstream.nrt import resourcemonitor
from cpuplan.upstream.nrt.api import NRI_POLICY, V1ALPHA1, V1ALPHA2
from cpuplan.upstream.nrt.crd import DEFINITIONS
from cpuplan.upstream.nrt.resourcemonitor import Machine, Memory, NumaNode, Resources, Zone

RTE, NFD, KOORDLET = "resource-topology-exporter", "node-feature-discovery", "koordlet"
#: Its zones are pools or balloons, and none of type Node.
NRI = NRI_POLICY
#: The scheduler plugin counts in a mask of 64 bits (scheduler-plugins, pkg/noderesourcetopology).
MAX_ZONES = 64


class Exporter(NamedTuple):
    """The version of the API that it writes, and what it tells of the topology manager."""

    version: str
    has_attributes: bool
    has_policies: bool


EXPORTERS = {
    RTE: Exporter(V1ALPHA2, has_attributes=True, has_policies=False),
    NFD: Exporter(V1ALPHA2, has_attributes=True, has_policies=True),
    KOORDLET: Exporter(V1ALPHA1, has_attributes=False, has_policies=True),
    NRI: Exporter(V1ALPHA2, has_attributes=False, has_policies=False),
}


def exporter_of(plan: NodePlan) -> str:
    """What writes the object of the plan's nodes: as the cluster says, else as is usual there."""
    node_class = plan.node_class
    if stated := node_class.cluster_facts.node_resource_topology.exporter:
        return stated
    if node_class.target.has_koordinator:
        return KOORDLET
    return RTE if node_class.platform.has_pools else NFD


def is_served(plan: NodePlan) -> bool:
    """Whether the cluster takes the version of the API that the exporter writes."""
    crd = plan.node_class.cluster_facts.node_resource_topology.crd
    return EXPORTERS[exporter_of(plan)].version in DEFINITIONS[crd].served


def can_have_zones(plan: NodePlan) -> bool:
    """Whether readers survive the machine's zones: ids with gaps, and 64, panic the scheduler."""
    nodes = list(plan.topology.numa_facts)
    return nodes == list(range(len(nodes))) and len(nodes) <= MAX_ZONES


def zones(plan: NodePlan) -> list[Zone]:
    """The NUMA nodes as the exporter publishes them; none that crash readers."""
    if not can_have_zones(plan) or exporter_of(plan) == NRI:
        return []
    match exporter_of(plan):
        case "koordlet":
            return koordlet.zones(plan)
        case "resource-topology-exporter":
            return resourcemonitor.rte_zones(_machine(plan), _allocatable(plan), ())
    return resourcemonitor.nfd_zones(_machine(plan), _allocatable(plan), ())


def _nodes(plan: NodePlan) -> list[NumaNode]:
    """The NUMA nodes with their online CPUs; without distances where those of some are unknown."""
    facts = plan.topology.numa_facts
    return [
        NumaNode(
            node,
            tuple(plan.topology.numa_nodes.get(node, EMPTY) - plan.pool("offlined").cpus),
            fact.distances if len(fact.distances) == len(facts) else (),
        )
        for node, fact in facts.items()
    ]


def _machine(plan: NodePlan) -> Machine:
    pages = hugepages.per_node(plan)
    sizes = {
        node: {
            "memory": fact.memory or 0,
            **{
                hugepages.resource(kib): kib * 1024 * count
                for kib, count in pages.get(node, {}).items()
            },
        }
        for node, fact in plan.topology.numa_facts.items()
    }
    return Machine(tuple(_nodes(plan)), sizes)


def _allocatable(plan: NodePlan) -> Resources:
    """What the kubelet can give to containers: CPUs with the static CPU manager only, memory and
    huge pages with the Static memory manager.
    """
    # Reserved CPUs are computed once: a machine has hundreds of CPUs.
    given = ~kubelet.reserved_cpus(plan).bits if kubelet.is_static(plan) else 0
    cpus = tuple(cpu for node in _nodes(plan) for cpu in node.cpus if given >> cpu & 1)
    return Resources(cpus, (), tuple(_memory(plan)) if memory.uses_memory_manager(plan) else ())


def _memory(plan: NodePlan) -> list[Memory]:
    reserved, pages = memory.reserved(plan), hugepages.per_node(plan)
    blocks = []
    for node, fact in plan.topology.numa_facts.items():
        counts = pages.get(node, {})
        sizes = {hugepages.resource(kib): kib * 1024 * count for kib, count in counts.items()}
        sizes["memory"] = (fact.memory or 0) - hugepages.bytes_of(counts) - reserved.get(node, 0)
        blocks += [Memory(name, size, (node,)) for name, size in sizes.items() if size > 0]
    return blocks
