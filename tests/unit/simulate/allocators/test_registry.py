"""Every allocator answers alike where there is nothing to choose."""

import pytest

from cpuplan.simulate import admission
from cpuplan.simulate.allocators.registry import ALLOCATORS
from cpuplan.upstream.kubelet.kubelet import Node
from tests.machines.pods import guaranteed
from tests.unit.simulate.allocators.test_kubelet import facts


@pytest.mark.parametrize("name", ALLOCATORS)
def test_one_small_pod_on_an_empty_node(name: str) -> None:
    allocator = ALLOCATORS[name].start(facts(topologyManagerPolicy="none"), Node())
    start, before = allocator.take(), allocator.key()
    outcome = admission.run(allocator, [guaranteed("one", 2)])
    (of_pod,) = outcome.outcomes
    assert (of_pod.refused, of_pod.qos, of_pod.moves, of_pod.is_exact) == (
        None,
        "Guaranteed",
        (),
        True,
    )
    assert (of_pod.containers[0].cpus, of_pod.containers[0].is_exclusive) == (1 << 1 | 1 << 9, True)
    assert outcome.remainder.left
    assert outcome.remainder.left.largest == 12
    allocator.restore(start)
    assert allocator.key() == before
