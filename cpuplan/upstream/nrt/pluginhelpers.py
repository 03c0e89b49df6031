"""The NUMA nodes and the topology manager of an object, and what of a request they have to hold.

Upstream: kubernetes-sigs/scheduler-plugins pkg/noderesourcetopology/pluginhelpers.go
  pkg/noderesourcetopology/numaresources.go pkg/noderesourcetopology/nodeconfig/topologymanager.go
  pkg/util/resource.go @ 903da7df82cb8794dda8f2d510ba1156111662dd
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.kubernetes.errors import KubeletError, out_of_range
from cpuplan.upstream.kubernetes.pod import (
    HUGEPAGES,
    Container,
    Pod,
    Resources,
    is_pod_level,
    larger_of,
    read_resources,
    sum_of,
)
from cpuplan.upstream.kubernetes.qos import GUARANTEED
from cpuplan.upstream.kubernetes.quantity import Quantity
from cpuplan.upstream.kubernetes.strconv import atoi
from cpuplan.upstream.nrt.api import MAX_NUMA_NODES, NODE, POLICY, SCOPE, NrtError, zone_id

#: The length of the plugin's table of zones; its check lets this number itself pass.
TABLE = 64
#: Resources that every node has for the scheduler.
_ALWAYS = ("cpu", "memory", "pods", "ephemeral-storage")
_STORAGE = ("storage", "ephemeral-storage")


class NumaNode(NamedTuple):
    """A NUMA node: what is available on it, and the distances to others by their number."""

    number: int
    available: dict[str, Quantity]
    costs: Mapping[int, int]


def read_numa_nodes(zones: Iterable[Mapping[str, Any]]) -> list[NumaNode]:
    """The zones of type Node in their order, without those of other names or large numbers.

    PanicError for the number 64. Of two zones of one name, both get the distances of the second.
    """
    costs: dict[int, Mapping[int, int]] = {}
    nodes: list[tuple[int, dict[str, Quantity]]] = []
    for zone in zones:
        number = _number(zone["name"]) if zone["type"] == NODE else None
        if number is None:
            continue
        if number == TABLE:
            raise out_of_range(number, TABLE)
        costs[number] = _costs(zone)
        resources = zone.get("resources") or ()
        amounts = {resource["name"]: resource["available"] for resource in resources}
        nodes.append((number, read_resources(amounts)))
    return [NumaNode(number, available, costs[number]) for number, available in nodes]


def _number(name: str) -> int | None:
    try:
        number = zone_id(name)
    except NrtError:
        return None
    return number if number <= TABLE else None


def _costs(zone: Mapping[str, Any]) -> dict[int, int]:
    costs = ((_number(cost["name"]), cost["value"]) for cost in zone.get("costs") or ())
    return {number: value for number, value in costs if number is not None}


def is_native(resource: str) -> bool:
    """Whether a resource is Kubernetes' own (v1helper.IsNativeResource)."""
    return "/" not in resource or "kubernetes.io/" in resource


def is_host_level(resource: str) -> bool:
    """Whether a resource may be on no NUMA node at all: storage, and what plugins report."""
    return resource in _STORAGE or not is_native(resource)


def is_on_node(resource: str, allocatable: Mapping[str, object]) -> bool:
    """Whether the scheduler knows of a resource on the node (framework.Resource)."""
    is_scalar = "/" in resource or resource.startswith((HUGEPAGES, "attachable-volumes-"))
    return resource in _ALWAYS or (is_scalar and resource in allocatable)


def fits(qos: str, resource: str, requested: Quantity, available: Quantity) -> bool:
    """Whether there is enough. CPUs and memory of pods that are not Guaranteed always fit."""
    is_shared = qos != GUARANTEED and is_pod_level(resource)
    return is_shared or available.nano >= requested.nano


def effective_requests(pod: Pod) -> dict[str, Quantity]:
    """The sum of the containers or, if larger, the largest init container; and the overhead.

    util.GetPodEffectiveRequest: sidecars count as init containers, requests of the pod do not.
    """
    init: dict[str, Quantity] = {}
    for container in pod.init_containers:
        init = larger_of(init, container.requests)
    total = sum_of(container.requests for container in pod.containers)
    return sum_of((larger_of(total, init), pod.overhead))


def take_from_one(nodes: Iterable[NumaNode], number: int, qos: str, container: Container) -> None:
    """Take what a container requests from a NUMA node.

    NrtError if it has less: of two zones of one name, it is enough that one is large enough.
    """
    for node in nodes:
        if node.number != number:
            continue
        for resource, requested in container.requests.items():
            is_shared = qos != GUARANTEED and is_pod_level(resource)
            if is_shared or resource not in node.available:
                continue
            has = node.available[resource]
            if requested.nano > has.nano:
                raise NrtError(
                    f'resource "{resource}" request {requested} exceeds NUMA {number}'
                    f" availability {has}"
                )
            node.available[resource] = has.minus(requested)


def take_in_order(nodes: list[NumaNode], indexes: Iterable[int], requests: Resources) -> None:
    """Take requests from NUMA nodes, as much as each has (subtractFromNUMAs).

    PanicError: the plugin takes numbers of NUMA nodes for places in its list.
    """
    left = dict(requests)
    for index in indexes:
        if index >= len(nodes):
            raise out_of_range(index, len(nodes))
        available = nodes[index].available
        for resource, wanted in left.items():
            if resource in available and wanted.nano:
                taken = min((wanted, available[resource]), key=_nano_of)
                available[resource] = available[resource].minus(taken)
                left[resource] = wanted.minus(taken)


def _nano_of(quantity: Quantity) -> int:
    return quantity.nano


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
