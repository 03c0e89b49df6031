"""The memory request of a Burstable container, which the runtime is told only as an OOM score."""

_BEST_EFFORT, _GUARANTEED = 1000, -997
_LEAST = _BEST_EFFORT + _GUARANTEED


def score(request: int, capacity: int) -> int:
    """What the kubelet sets for a Burstable container (qos/policy.go)."""
    adjusted = _BEST_EFFORT - 1000 * request // capacity
    return _BEST_EFFORT - 1 if adjusted == _BEST_EFFORT else max(adjusted, _LEAST)


def estimate(adjusted: int, capacity: int, limit: int) -> int:
    """What the plugins make of the score: the least request that has it; 0 where they know none.

    A container without a request is thought to ask for a thousandth of the memory.
    """
    if not _LEAST <= adjusted < _BEST_EFFORT:
        return 0
    request = -(-(_BEST_EFFORT - adjusted) * capacity // 1000)
    return 0 if limit and request >= limit else request
