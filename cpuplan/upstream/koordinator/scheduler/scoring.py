"""How well a pod would stand on a node (scoring.go, least_allocated.go, most_allocated.go)."""

from cpuplan.upstream.koordinator.scheduler.args import Scoring
from cpuplan.upstream.koordinator.scheduler.names import MOST_ALLOCATED
from cpuplan.upstream.kubelet.pods.nodefit import EPHEMERAL_STORAGE
from cpuplan.upstream.kubelet.pods.pod import CPU, MEMORY, Resources
from cpuplan.upstream.kubelet.quantity import ZERO

MAX_SCORE = 100
_ALWAYS = (CPU, MEMORY, EPHEMERAL_STORAGE)


def score(
    scoring: Scoring, strategy: str, requested: Resources, allocatable: Resources, pod: Resources
) -> int:
    """The weighted mean of what is free, or of what is used for MostAllocated, from 0 to 100.

    CPUs, memory and ephemeral storage always count, others where the pod requests them.
    """
    total = weights = 0
    for name, weight in dict(scoring.resources).items():
        capacity, wanted = _amount(name, allocatable), _amount(name, pod)
        if not capacity or (not wanted and name not in _ALWAYS):
            continue
        used = _amount(name, requested) + wanted
        total += weight * _share(strategy, used, capacity)
        weights += weight
    return total // weights if weights else 0


def _amount(name: str, resources: Resources) -> int:
    amount = resources.get(name, ZERO)
    return amount.milli if name == CPU else amount.value


def _share(strategy: str, used: int, capacity: int) -> int:
    if strategy == MOST_ALLOCATED:
        return min(used, capacity) * MAX_SCORE // capacity
    return max(capacity - used, 0) * MAX_SCORE // capacity
