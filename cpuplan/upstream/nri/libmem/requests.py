"""Requests for memory, and their order when some must move."""

from collections.abc import Iterable
from dataclasses import dataclass

from cpuplan.upstream.nri.libmem.nodes import Mask

BEST_EFFORT, BURSTABLE, GUARANTEED, PRESERVED = 0, 1 << 10, 1 << 14, (1 << 15) - 2
PRIORITIES = {"BestEffort": BEST_EFFORT, "Burstable": BURSTABLE, "Guaranteed": GUARANTEED}


@dataclass(slots=True)
class Request:
    """`amount` bytes for `owner` near the nodes of `affinity`; `zone` is what it has now.

    `born` counts requests: of equal ones the younger moves first.
    """

    owner: str
    amount: int
    affinity: Mask
    types: Mask
    priority: int
    born: int = 0
    zone: Mask = 0


def movable(requests: Iterable[Request], limit: int) -> list[Request]:
    """Those up to a priority, in the order in which they move: small and young ones first."""
    moving = (request for request in requests if request.priority <= limit)
    return sorted(moving, key=lambda request: (request.priority, request.amount, -request.born))
