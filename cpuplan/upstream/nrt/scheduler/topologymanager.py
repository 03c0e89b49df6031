"""The kubelet's topology manager, as an object tells of it (nodeconfig/topologymanager.go)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.text import atoi
from cpuplan.upstream.nrt.names import MAX_NUMA_NODES, POLICY, SCOPE

NONE, BEST_EFFORT, RESTRICTED, SINGLE = "none", "best-effort", "restricted", "single-numa-node"
POLICIES = (NONE, BEST_EFFORT, RESTRICTED, SINGLE)
CONTAINER, POD = "container", "pod"
SCOPES = (CONTAINER, POD)
_LIMIT = 1024
#: The deprecated field `topologyPolicies`: all of its words that are read, with policy and scope.
#: `None` says what is the default; plain `Restricted` and `BestEffort` are ignored.
LEGACY = {
    "SingleNUMANodeContainerLevel": (SINGLE, CONTAINER),
    "SingleNUMANodePodLevel": (SINGLE, POD),
    "RestrictedContainerLevel": (RESTRICTED, CONTAINER),
    "RestrictedPodLevel": (RESTRICTED, POD),
    "BestEffortContainerLevel": (BEST_EFFORT, CONTAINER),
    "BestEffortPodLevel": (BEST_EFFORT, POD),
}


class TopologyManager(NamedTuple):
    """What the plugin takes for the settings of a node's kubelet."""

    policy: str = NONE
    scope: str = CONTAINER
    max_numa_nodes: int = 8


def read_topology_manager(nrt: Mapping[str, Any]) -> TopologyManager:
    """The first of `topologyPolicies`, then the attributes, of which later ones win.

    What is not one of the kubelet's words is ignored.
    """
    first = next(iter(nrt.get("topologyPolicies") or ()), "")
    policy, scope = LEGACY.get(first, (NONE, CONTAINER))
    manager = TopologyManager(policy, scope)
    for attribute in nrt.get("attributes") or ():
        manager = _with_attribute(manager, attribute["name"], attribute["value"])
    return manager


def _with_attribute(known: TopologyManager, name: str, value: str) -> TopologyManager:
    if name == SCOPE and value in SCOPES:
        return known._replace(scope=value)
    if name == POLICY and value in POLICIES:
        return known._replace(policy=value)
    if name == MAX_NUMA_NODES and (limit := _limit(value)) > 1:
        return known._replace(max_numa_nodes=limit)
    return known


def _limit(text: str) -> int:
    try:
        return min(atoi(text), _LIMIT)
    except KubeletError:
        return 0
