"""The dynamic policy on planned nodes: what it moves, what it refuses, what it starts from."""

from typing import Any

import pytest

from cpuplan.simulate import admission
from cpuplan.simulate.allocators.base import Allocator, UnfitError
from cpuplan.simulate.allocators.dynamic import DynamicAllocator
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.upstream.kubelet.kubelet import Node
from cpuplan.upstream.kubernetes.bits import to_text
from tests.machines.pods import container, guaranteed, named, pod
from tests.unit.simulate.allocators.test_kubelet import facts

#: Every NUMA node has 8 CPUs, of which two are reserved on node 0.
SINGLE: dict[str, Any] = {
    "topologyManagerPolicy": "single-numa-node",
    "memoryManagerPolicy": "None",
}


def fragmented() -> Node:
    """Three pods ran; the second, which has gone, leaves four CPUs on each NUMA node."""
    allocator = KubeletAllocator(facts(**SINGLE))
    for uid, size in (("stays", 2), ("goes", 4), ("other", 4)):
        assert not allocator.admit(guaranteed(uid, size)).refused
    allocator.kubelet.remove("goes")
    return allocator.kubelet.stop()


def cpus(allocator: Allocator, uid: str, size: int) -> str:
    return to_text(allocator.place(guaranteed(uid, size))[0].cpus)


def test_a_pod_that_the_kubelet_refuses_finds_room() -> None:
    state = fragmented()
    large = guaranteed("large", 6)
    assert KubeletAllocator(facts(**SINGLE), state).admit(large).refused
    dynamic = DynamicAllocator(facts(**SINGLE), state)
    admission = dynamic.admit(large)
    assert (admission.refused, admission.is_exact) == (None, True)
    moved = [(move.pod, to_text(move.old), to_text(move.new)) for move in admission.moves]
    assert moved == [("stays", "1,9", "6,14")]
    assert (cpus(dynamic, "large", 6), cpus(dynamic, "stays", 2)) == ("1-3,9-11", "6,14")
    left = dynamic.remainder().left
    assert left
    assert (to_text(left.cpus), left.largest) == ("7,15", 2)


def test_containers_of_the_shared_pool_make_way_first() -> None:
    dynamic = DynamicAllocator(facts(**SINGLE))
    small = named("small", pod(container("500m", "1Gi")))
    dynamic.admit(small)
    (move,) = dynamic.admit(guaranteed("large", 2)).moves
    assert (move.pod, move.is_exclusive, to_text(move.new)) == ("small", False, "0,2-8,10-15")
    assert dynamic.place(small)[0].is_exclusive is False


def test_what_does_not_fit_on_the_node_is_refused_and_moves_nobody() -> None:
    dynamic = DynamicAllocator(facts(**SINGLE), fragmented())
    before = dynamic.key()
    pods = (guaranteed("huge", 99), named("much", pod(container("2", "1Ti"))))
    refusals = [dynamic.admit(pod).refused for pod in pods]
    assert [refusal.reason for refusal in refusals if refusal] == ["OutOfcpu", "OutOfmemory"]
    assert dynamic.key() == before


def test_another_policy_than_static_is_nothing_to_replace() -> None:
    with pytest.raises(UnfitError, match="cpuManagerPolicy is none"):
        DynamicAllocator(facts(cpuManagerPolicy="none"))


def test_a_moment_can_be_gone_back_to() -> None:
    dynamic = DynamicAllocator(facts(**SINGLE), fragmented())
    moment, before = dynamic.take(), dynamic.key()
    dynamic.admit(guaranteed("large", 6))
    assert dynamic.key() != before
    dynamic.restore(moment)
    assert dynamic.key() == before
    assert not dynamic.admit(guaranteed("large", 6)).refused


def test_an_order_that_fails_the_kubelet_does_not_fail_this_policy() -> None:
    pods = [guaranteed(f"{number}-of-{size}", size) for number, size in enumerate((4, 4, 3, 3))]
    assert not admission.any_order(KubeletAllocator(facts(**SINGLE)), pods).is_proven
    assert admission.any_order(DynamicAllocator(facts(**SINGLE)), pods).is_proven


def test_init_containers_keep_what_they_had() -> None:
    dynamic = DynamicAllocator(facts(**SINGLE))
    both = named("p", pod(container("2", "1Gi"), init=(container("4", "1Gi"),)))
    dynamic.admit(both)
    dynamic.admit(guaranteed("next", 2))
    placed = {
        placed_pod.name: (placed_pod.cpus.bit_count(), placed_pod.is_exclusive)
        for placed_pod in dynamic.place(both)
    }
    assert placed == {"a": (4, True), "b": (2, True)}


def test_state_files_of_pods_with_init_containers_give_each_cpu_once() -> None:
    allocator = KubeletAllocator(facts(**SINGLE))
    allocator.admit(named("p", pod(container("2", "1Gi"), init=(container("4", "1Gi"),))))
    dynamic = DynamicAllocator(facts(**SINGLE), allocator.kubelet.stop())
    (containers,) = dynamic.policy.state.entries.values()
    assert sum(cpus.bit_count() for cpus in containers.values()) == 4
    assert not dynamic.admit(guaranteed("large", 8)).refused
