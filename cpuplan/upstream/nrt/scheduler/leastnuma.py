"""The strategy LeastNUMANodes: how many NUMA nodes a pod needs, and how close they are.

From scheduler-plugins, pkg/noderesourcetopology/least_numa.go. It looks at every policy.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from cpuplan.upstream.kubelet.bits import bits_of, members
from cpuplan.upstream.kubelet.pods.pod import Pod, Resources, sum_of
from cpuplan.upstream.nrt.scheduler.numanodes import (
    NumaNode,
    effective_requests,
    fits,
    take_in_order,
)
from cpuplan.upstream.nrt.scheduler.topologymanager import POD, TopologyManager

_BEST = 100
#: A distance that is not in the object (ACPI SLIT: unknown).
_FAR = 255


def score(nodes: list[NumaNode], pod: Pod, qos: str, manager: TopologyManager) -> int:
    """The fewer NUMA nodes of `maxNUMANodes` the better; half a step more for the closest ones.

    100 for requests that are on no NUMA node, 0 for those that do not fit. PanicError where numbers
    of NUMA nodes have gaps.
    """
    parts = (
        [effective_requests(pod)]
        if manager.scope == POD
        else [container.requests for container in pod.all_containers]
    )
    most, all_closest = 0, True
    for requests in parts:
        if not any(resource in node.available for node in nodes for resource in requests):
            continue
        required = _required(nodes, requests, qos)
        if required is None:
            return 0
        numbers, is_closest = required
        all_closest = all_closest and is_closest
        most = max(most, len(numbers))
        if manager.scope != POD:
            take_in_order(nodes, numbers, requests)
    return score_of(most, manager, is_closest=all_closest) if most else _BEST


def score_of(count: int, manager: TopologyManager, *, is_closest: bool = False) -> int:
    """The score of a pod on `count` NUMA nodes (normalizeScore); below 0 the scheduler gives up."""
    step = _BEST // manager.max_numa_nodes
    return _BEST - count * step + (step // 2 if is_closest else 0)


def _required(
    nodes: Sequence[NumaNode], requests: Resources, qos: str
) -> tuple[list[int], bool] | None:
    """The fewest NUMA nodes, and whether no others of this number are closer; None if none do."""
    for size in range(1, len(nodes) + 1):
        closest = min(_FAR * size * size, *_distances(nodes, size))
        best, shortest = None, (_FAR + 1) * size * size
        for group in combinations(nodes, size):
            if not _holds(group, requests, qos):
                continue
            distance = _distance(group)
            if distance == closest:
                return _numbers(group), True
            if distance < shortest:
                best, shortest = group, distance
        if best is not None:
            return _numbers(best), False
    return None


def _numbers(group: Sequence[NumaNode]) -> list[int]:
    """As the plugin's mask has them: ascending, each once."""
    return members(bits_of(node.number for node in group))


def _distances(nodes: Sequence[NumaNode], size: int) -> Iterator[int]:
    return map(_distance, combinations(nodes, size))


def _distance(group: Sequence[NumaNode]) -> int:
    """The sum over all pairs, which ranks groups of one size as their average does."""
    return sum(node.costs.get(other.number, _FAR) for node in group for other in group)


def _holds(group: Sequence[NumaNode], requests: Resources, qos: str) -> bool:
    """Whether each node of the group names every resource, and all together have enough."""
    if not all(resource in node.available for node in group for resource in requests):
        return False
    together = sum_of(node.available for node in group)
    return all(
        fits(qos, resource, amount, together[resource])
        for resource, amount in requests.items()
        if amount.nano
    )
