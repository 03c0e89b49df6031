"""What the nodes of a class can give to pods, before and after, as the simulated kubelet says."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from cpuplan.plan import NodePlan
from cpuplan.plan.expected.state import Expected
from cpuplan.simulate import workloads
from cpuplan.simulate.allocators.base import Allocator
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.allocators.registry import start_planned
from cpuplan.simulate.compiled import given_out_by, planned
from cpuplan.upstream.kubernetes.errors import HangError, KubeletError, PanicError
from cpuplan.upstream.kubernetes.pod import Pod

#: More pods of one workload are not tried.
_MOST_PODS = 200


class NumaNode(NamedTuple):
    """Exclusive CPUs of a NUMA node, and the largest pod with all of its CPUs there.

    None where the kubelet aligns nothing, so that no pod is sure to have them there.
    """

    number: int
    cpus: int
    largest: int | None


class Capacity(NamedTuple):
    """What an empty node gives: exclusive CPUs, and the largest request of one container.

    `unknown` says why there is no answer; nothing else counts then.
    """

    exclusive: int = 0
    largest: int = 0
    numa_nodes: tuple[NumaNode, ...] = ()
    unknown: str = ""


class Room(NamedTuple):
    """How many pods of a workload an empty node admits; None on a side without an answer."""

    workload: str
    wanted: int
    before: int | None
    after: int | None


@lru_cache(maxsize=1 << 12)
def exclusive(expected: Expected) -> int | None:
    """How many CPUs a node of the class can give exclusively; None where nobody knows."""
    allocator = _start(expected)
    if isinstance(allocator, str):
        return None
    if not isinstance(allocator, KubeletAllocator):
        left = allocator.remainder().left
        return left.cpus.bit_count() if left else 0
    policy = allocator.kubelet.cpus.policy
    return policy.allocatable.bit_count() if policy else 0


@lru_cache(maxsize=1 << 12)
def capacity(expected: Expected | None) -> Capacity:
    """The capacity of a node of a class; None stands for a class that an earlier release wrote."""
    allocator = _start(expected)
    if isinstance(allocator, str):
        return Capacity(unknown=allocator)
    left = allocator.remainder().left
    if left is None:
        return Capacity()
    nodes = (
        NumaNode(number, cpus.bit_count(), largest)
        for number, (cpus, largest) in sorted(left.by_numa_node.items())
    )
    return Capacity(left.cpus.bit_count(), left.largest, tuple(nodes))


def rooms(plan: NodePlan, before: Expected | None, after: Expected | None) -> Iterator[Room]:
    """How many pods of each workload of an intent fit on a node alone, where that changes."""
    pods = _first_pods(plan)
    old, new = (_start(side) for side in (before, after))
    for workload in plan.spec.workloads:
        pod = pods.get(f"{workload.name}-1")
        if pod:
            was, now = (_number(side, pod) for side in (old, new))
            if was != now:
                yield Room(workload.name, workload.pods, was, now)


def _first_pods(plan: NodePlan) -> Mapping[str, Pod]:
    return {pod.name: pod for pod in workloads.pods_of(plan)}


def _number(allocator: Allocator | str, pod: Pod) -> int | None:
    """How many pods of a kind are admitted, one after the other."""
    if isinstance(allocator, str):
        return None
    moment = allocator.take()
    number = 0
    while number < _MOST_PODS:
        again = pod._replace(uid=f"{pod.uid}-{number}", name=f"{pod.name}-{number}")
        if allocator.admit(again).refused:
            break
        number += 1
    allocator.restore(moment)
    return number


def _start(expected: Expected | None) -> Allocator | str:
    """What gives out the CPUs of an empty node, or why nobody knows what it does."""
    if expected is None:
        return "an earlier release of cpuplan compiled it"
    if other := given_out_by(expected):
        return f"{other} gives out the CPUs"
    try:
        return start_planned(planned(expected))
    except (KubeletError, HangError, PanicError) as error:
        return f"the kubelet does not start: {error}"
