"""Which nodes NodeResourceTopologyMatch passes.

Upstream: kubernetes-sigs/scheduler-plugins pkg/noderesourcetopology/filter.go
  @ 903da7df82cb8794dda8f2d510ba1156111662dd
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.upstream.kubernetes.pod import Container, Pod, Resources
from cpuplan.upstream.kubernetes.qos import BEST_EFFORT
from cpuplan.upstream.nrt.api import NrtError
from cpuplan.upstream.nrt.pluginhelpers import (
    POD,
    SINGLE,
    TABLE,
    NumaNode,
    effective_requests,
    fits,
    is_host_level,
    is_native,
    is_on_node,
    read_numa_nodes,
    read_topology_manager,
    take_from_one,
)


class Verdict(NamedTuple):
    """Whether the pod may come to the node, and otherwise why not."""

    code: str
    reasons: tuple[str, ...] = ()


PASSED = Verdict("Success")


def judge_node(
    nrt: Mapping[str, Any], allocatable: Mapping[str, object], pod: Pod, qos: str
) -> Verdict:
    """The verdict about a node with its object and the allocatable resources of its status.

    Only single-numa-node is looked into: nodes of every other policy pass. PanicError where the
    plugin crashes.
    """
    if qos == BEST_EFFORT and not _asks_for_devices(pod):
        return PASSED
    manager = read_topology_manager(nrt)
    if manager.policy != SINGLE:
        return PASSED
    nodes = read_numa_nodes(nrt["zones"])
    if manager.scope == POD:
        number = _suitable(nodes, allocatable, qos, effective_requests(pod))
        return _refused("cannot align pod") if number is None else PASSED
    return _judge_containers(nodes, allocatable, pod, qos)


def _refused(*reasons: str) -> Verdict:
    return Verdict("Unschedulable", reasons)


def _asks_for_devices(pod: Pod) -> bool:
    return any(
        not is_native(resource)
        for container in pod.all_containers
        for resource in container.requests
    )


def _judge_containers(
    nodes: Sequence[NumaNode], allocatable: Mapping[str, object], pod: Pod, qos: str
) -> Verdict:
    """Init containers are looked at alone; each other container leaves less to the next."""
    for container in pod.init_containers:
        if _suitable(nodes, allocatable, qos, container.requests) is None:
            return _refused(f"cannot align {_kind(container)} container")
    for container in pod.containers:
        number = _suitable(nodes, allocatable, qos, container.requests)
        if number is None:
            return _refused("cannot align container")
        try:
            take_from_one(nodes, number, qos, container)
        except NrtError as error:
            return Verdict("Error", ("inconsistent resource accounting", str(error)))
    return PASSED


def _kind(container: Container) -> str:
    return "sidecar" if container.is_restartable else "init"


def _suitable(
    nodes: Sequence[NumaNode], allocatable: Mapping[str, object], qos: str, requests: Resources
) -> int | None:
    """The lowest NUMA node with enough of everything, or None.

    That is 0 for requests that are on no NUMA node.
    """
    suitable = (1 << TABLE) - 1
    for resource, amount in requests.items():
        if not amount.nano:
            continue
        if not is_on_node(resource, allocatable):
            return None
        having = [node for node in nodes if resource in node.available]
        if not having and is_host_level(resource):
            continue
        enough = 0
        for node in having:
            enough |= fits(qos, resource, amount, node.available[resource]) << node.number
        suitable &= enough
    return (suitable & -suitable).bit_length() - 1 if suitable else None
