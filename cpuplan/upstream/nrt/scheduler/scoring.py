"""How nodes are ranked (scheduler-plugins, pkg/noderesourcetopology/score.go and its strategies).

Higher is better, 100 is the best.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cpuplan.upstream.kubelet.errors import PanicError, out_of_range
from cpuplan.upstream.kubelet.pods.pod import Pod, Resources
from cpuplan.upstream.kubelet.pods.qos import GUARANTEED
from cpuplan.upstream.kubelet.quantity import ZERO, Quantity
from cpuplan.upstream.nrt.errors import DIVIDE
from cpuplan.upstream.nrt.scheduler import leastnuma
from cpuplan.upstream.nrt.scheduler.numanodes import NumaNode, effective_requests, read_numa_nodes
from cpuplan.upstream.nrt.scheduler.topologymanager import POD, SINGLE, read_topology_manager

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
        return leastnuma.score(nodes, pod, qos, manager)
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
