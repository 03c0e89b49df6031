"""Which NUMA nodes could give a pod what it requests (resource_manager.go, GetTopologyHints)."""

from cpuplan.upstream.koordinator.annotations.pod import RESTRICTED
from cpuplan.upstream.koordinator.scheduler.args import PluginArgs
from cpuplan.upstream.koordinator.scheduler.node_allocation import NodeAllocation, rest_of
from cpuplan.upstream.koordinator.scheduler.numa_split import Available, trimmed
from cpuplan.upstream.koordinator.scheduler.request import Request
from cpuplan.upstream.koordinator.scheduler.resource_manager import allocate
from cpuplan.upstream.koordinator.scheduler.scoring import score
from cpuplan.upstream.koordinator.scheduler.status import StatusError
from cpuplan.upstream.koordinator.scheduler.topology_policy import Hint, ProviderHints
from cpuplan.upstream.kubelet.bits import masks_over
from cpuplan.upstream.kubelet.errors import NIL_DEREFERENCE, PanicError
from cpuplan.upstream.kubelet.pods.pod import Resources, sum_of
from cpuplan.upstream.kubelet.quantity import ZERO

#: A mask has 64 bits; one that cannot be made is a nil pointer.
_MOST_NODES = 64


def topology_hints(
    node: NodeAllocation, request: Request, policy: str, args: PluginArgs
) -> ProviderHints:
    """For each resource the masks of NUMA nodes from which all could be allocated.

    Those of the fewest NUMA nodes are preferred, under Restricted all. KubeletError when the node
    has no CPUs that the scheduler knows; PanicError for NUMA nodes from 64 on.
    """
    available = trimmed(node, request, node.numa_resources(request.zones, request.ratio)[0])
    nodes = tuple(zone.node for zone in request.zones)
    if not all(0 <= number < _MOST_NODES for number in nodes):
        raise PanicError(NIL_DEREFERENCE)
    hints: dict[str, list[Hint]] = {}
    for mask, node_ids in masks_over(nodes):
        total = sum_of(_first_zones(request, node_ids))
        for name in request.requests:
            if name in total:
                hints.setdefault(name, [])
        try:
            allocate(node, request._replace(hint=mask))
        except StatusError:
            continue
        left = sum_of(available[node_id] for node_id in node_ids)
        used = rest_of(total, left)
        hint = Hint(
            mask, score=score(args.scoring, args.numa_scoring.type, used, total, request.requests)
        )
        for name, of_resource in hints.items():
            if all(_has(available, node_id, name) for node_id in node_ids):
                of_resource.append(hint)
    return {name: _preferred(of_resource, policy) for name, of_resource in hints.items()}


def _has(available: Available, node: int, name: str) -> bool:
    return available[node].get(name, ZERO).nano != 0


def _first_zones(request: Request, nodes: tuple[int, ...]) -> list[Resources]:
    by_node = {zone.node: zone.resources for zone in reversed(request.zones)}
    return [by_node[node] for node in nodes]


def _preferred(hints: list[Hint], policy: str) -> list[Hint]:
    fewest = min(map(_size, hints), default=0)
    return [
        hint._replace(is_preferred=policy == RESTRICTED or _size(hint) == fewest) for hint in hints
    ]


def _size(hint: Hint) -> int:
    return (hint.affinity or 0).bit_count()
