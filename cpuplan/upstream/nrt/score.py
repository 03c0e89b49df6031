"""How NodeResourceTopologyMatch ranks nodes, by each of its strategies.

Higher is better, 100 is the best.

Upstream: kubernetes-sigs/scheduler-plugins pkg/noderesourcetopology/score.go
  pkg/noderesourcetopology/balanced_allocation.go pkg/noderesourcetopology/least_allocated.go
  pkg/noderesourcetopology/most_allocated.go pkg/noderesourcetopology/least_numa.go
  @ 903da7df82cb8794dda8f2d510ba1156111662dd
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from cpuplan.upstream.kubernetes.bits import bits_of, members
from cpuplan.upstream.kubernetes.errors import PanicError, out_of_range
from cpuplan.upstream.kubernetes.pod import Pod, Resources, sum_of
from cpuplan.upstream.kubernetes.qos import GUARANTEED
from cpuplan.upstream.kubernetes.quantity import ZERO, Quantity
from cpuplan.upstream.nrt.api import DIVIDE
from cpuplan.upstream.nrt.pluginhelpers import (
    POD,
    SINGLE,
    NumaNode,
    TopologyManager,
    effective_requests,
    fits,
    read_numa_nodes,
    read_topology_manager,
    take_in_order,
)

_BEST = 100
#: A distance that is not in the object (ACPI SLIT: unknown).
_FAR = 255


def score_least_numa(nodes: list[NumaNode], pod: Pod, qos: str, manager: TopologyManager) -> int:
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
    return normalize_score(most, manager, is_closest=all_closest) if most else _BEST


def normalize_score(count: int, manager: TopologyManager, *, is_closest: bool = False) -> int:
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


BEST = 100
LEAST_NUMA_NODES = "LeastNUMANodes"
Weights = Mapping[str, int]
Strategy = Callable[[Resources, Resources, Weights], int]
#: What Go's conversion makes of a float that is no number, on amd64.
_NO_NUMBER = -(1 << 63)


def score_node(nrt: Mapping[str, Any], pod: Pod, qos: str, strategy: str, weights: Weights) -> int:
    """The score of a node by its object, as one of the strategies of the plugin's arguments has it.

    Pods that are not Guaranteed find every node best. PanicError where the plugin crashes.
    """
    if qos != GUARANTEED:
        return BEST
    manager = read_topology_manager(nrt)
    if strategy == LEAST_NUMA_NODES:
        nodes = read_numa_nodes(nrt["zones"])
        return score_least_numa(nodes, pod, qos, manager)
    if manager.policy != SINGLE:
        return 0
    nodes, score = read_numa_nodes(nrt["zones"]), STRATEGIES[strategy]
    if manager.scope == POD:
        return _lowest(effective_requests(pod), nodes, score, weights)
    scores = [
        _lowest(container.requests, nodes, score, weights) for container in pod.all_containers
    ]
    return int(sum(scores) / len(scores))


def _lowest(
    requests: Resources, nodes: Sequence[NumaNode], score: Strategy, weights: Weights
) -> int:
    """The lowest score of a NUMA node; 0 stands for one that does not fit and is left out."""
    lowest = 0
    for node in nodes:
        current = score(requests, node.available, weights)
        if lowest == 0 or 0 != current < lowest:
            lowest = current
        if node.number >= len(nodes):  # the plugin's slice of scores is as long as the list
            raise out_of_range(node.number, len(nodes))
    return lowest


def _weighted(share: Callable[[int, int], int]) -> Strategy:
    """The mean of a share of what is available, from 0 to 100 for each resource.

    Weights that are missing or below 1 count as 1.
    """

    def score(requests: Resources, available: Resources, weights: Weights) -> int:
        total = weight_sum = 0
        for resource, amount in requests.items():
            weight = max(weights.get(resource, 1), 1)
            has = available.get(resource, ZERO)
            if has.nano and amount.nano <= has.nano:
                total += share(amount.value, has.value) * weight
            weight_sum += weight
        if not weight_sum:
            raise PanicError(DIVIDE)
        return total // weight_sum

    return score


def _balanced(requests: Resources, available: Resources, _: Weights) -> int:
    """The less the shares of the resources vary, the better; 0 if one does not fit."""
    fractions = [
        _fraction(amount, available.get(resource, ZERO)) for resource, amount in requests.items()
    ]
    if any(fraction > 1 for fraction in fractions):
        return 0
    variance = _variance(fractions)
    return _NO_NUMBER if math.isnan(variance) else int((1 - variance) * BEST)


def _fraction(requested: Quantity, available: Quantity) -> float:
    return requested.value / available.value if available.value else 1


def _variance(values: Sequence[float]) -> float:
    """The unbiased variance as gonum has it, which is no number for fewer than two values."""
    count = len(values)
    if count < 2:
        return math.nan
    mean = sum(values) / count
    differences = [value - mean for value in values]
    squares = sum(difference * difference for difference in differences)
    rest = sum(differences)
    return (squares - rest * rest / count) / (count - 1)


STRATEGIES: dict[str, Strategy] = {
    "LeastAllocated": _weighted(lambda requested, has: (has - requested) * BEST // has),
    "MostAllocated": _weighted(lambda requested, has: requested * BEST // has),
    "BalancedAllocation": _balanced,
}
