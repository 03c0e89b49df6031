"""Allocators by their names. One more is a module and a line here."""

from collections.abc import Callable
from typing import NamedTuple

from cpuplan.kubelet.node import Node
from cpuplan.simulate.allocators.balloons import BalloonsAllocator
from cpuplan.simulate.allocators.base import Allocator
from cpuplan.simulate.allocators.dynamic import DynamicAllocator
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.planned import Planned

#: Starts an allocator on a planned node with these state files; StartError, PanicError, HangError
#: or
#: UnfitError if it does not work there.
Start = Callable[[Planned, Node], Allocator]


def start_planned(facts: Planned, state: Node = Node()) -> Allocator:  # noqa: B008 - a constant
    """What the nodes have: the kubelet alone, or beside the NRI balloons policy."""
    return (BalloonsAllocator if facts.balloons else KubeletAllocator)(facts, state)


class Entry(NamedTuple):
    """An allocator, and what a reader of its answers must know."""

    start: Start
    note: str = ""


#: The one that the nodes have.
KUBELET = "kubelet"
ALLOCATORS = {
    KUBELET: Entry(start_planned),
    "dynamic": Entry(
        DynamicAllocator,
        "no kubelet has the dynamic policy; it counts memory, but does not align it",
    ),
}
