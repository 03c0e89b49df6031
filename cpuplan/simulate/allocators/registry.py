"""Allocators by their names. One more is a module, a name and a line here."""

from collections.abc import Callable
from typing import NamedTuple

from cpuplan.simulate.allocators import (
    BOTH,
    DYNAMIC,
    KOORDINATOR,
    KUBELET,
    PLANNED,
    TOPOLOGY_AWARE,
)
from cpuplan.simulate.allocators.base import Allocator
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.planned import Planned, under_koordinator, under_kubelet
from cpuplan.upstream.kubelet.kubelet import Node

#: Starts an allocator on a planned node with these state files.
#: StartError, PanicError, HangError or UnfitError if it does not work there.
Start = Callable[[Planned, Node], Allocator]


def start_planned(facts: Planned, state: Node = Node()) -> Allocator:  # noqa: B008 - a constant
    """What the nodes have: the kubelet alone, or with what the target's mechanism brings."""
    if facts.koordinator:
        return start_koordinator(facts, state)
    if facts.dra:
        from cpuplan.simulate.allocators.dra import DraAllocator  # for few plans

        return DraAllocator(facts, state)
    if facts.pools:
        from cpuplan.simulate.allocators.nri_pools import PoolsAllocator  # for few plans

        return PoolsAllocator(facts, state)
    if facts.balloons:
        from cpuplan.simulate.allocators.nri_balloons import BalloonsAllocator  # for few plans

        return BalloonsAllocator(facts, state)
    return KubeletAllocator(facts, state)


def start_koordinator(facts: Planned, state: Node = Node()) -> Allocator:  # noqa: B008
    """Koordinator, on nodes without it as near to what their kubelet does as it comes."""
    from cpuplan.simulate.allocators.koordinator import KoordinatorAllocator  # for few plans

    return KoordinatorAllocator(under_koordinator(facts), state)


def start_kubelet(facts: Planned, state: Node = Node()) -> Allocator:  # noqa: B008
    """The kubelet alone, on nodes with Koordinator as near to what that does as it comes."""
    return KubeletAllocator(under_kubelet(facts), state)


def start_topology_aware(facts: Planned, state: Node = Node()) -> Allocator:  # noqa: B008
    """The kubelet alone, behind a scheduler with NodeResourceTopologyMatch."""
    from cpuplan.simulate.allocators.topologyaware import TopologyAwareAllocator  # for few plans

    return TopologyAwareAllocator(under_kubelet(facts), state)


def start_dynamic(facts: Planned, state: Node = Node()) -> Allocator:  # noqa: B008
    """The kubelet with the dynamic policy."""
    from cpuplan.simulate.allocators.dynamic import DynamicAllocator  # where it is asked for

    return DynamicAllocator(facts, state)


SCHEDULERS: dict[str, Start] = {
    PLANNED: start_planned,
    KOORDINATOR: start_koordinator,
    BOTH: start_koordinator,
    TOPOLOGY_AWARE: start_topology_aware,
}


class Entry(NamedTuple):
    """An allocator, and what a reader of its answers must know."""

    start: Start
    note: str = ""


ALLOCATORS = {
    KUBELET: Entry(start_planned),
    DYNAMIC: Entry(
        start_dynamic,
        "no kubelet has the dynamic policy; it counts memory, but does not align it",
    ),
}
