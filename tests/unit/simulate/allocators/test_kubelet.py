"""The planned kubelet: what is left, what a restart does, what state files bring."""

from typing import Any

import pytest

from cpuplan.simulate import admission
from cpuplan.simulate.allocators.base import Refusal
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.planned import Planned, planned
from cpuplan.upstream.kubelet.kubelet import StartError
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.pod import Pod
from tests.machines.plans import plan, regular
from tests.machines.pods import container, guaranteed, named, pod

SMT = regular(sockets=2, cores=4, threads=2)
FULL: dict[str, Any] = {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}}


def facts(reserved: str = "0,8", **kubelet: Any) -> Planned:
    """Two NUMA nodes of four cores with two threads, the first core of node 0 reserved."""
    spec = {"kubelet": {"topologyManagerPolicy": "best-effort", **kubelet}}
    return planned(plan(SMT, reserved=reserved, platform="kubernetes", version="1.36", spec=spec))


def with_pods(*sizes: int, **kubelet: Any) -> KubeletAllocator:
    """A node with pods of these sizes, called by them."""
    allocator = KubeletAllocator(facts(**kubelet))
    for size in sizes:
        assert not allocator.admit(guaranteed(str(size), size)).refused
    return allocator


@pytest.mark.parametrize(
    ("kubelet", "taken", "largest", "by_node"),
    [
        ({}, [], 14, {0: 6, 1: 8}),
        ({}, [3], 11, {0: 3, 1: 8}),
        (
            {"topologyManagerPolicy": "single-numa-node", "memoryManagerPolicy": "None"},
            [],
            8,
            {0: 6, 1: 8},
        ),
        ({"topologyManagerPolicy": "none"}, [], 14, {0: None, 1: None}),
        (FULL, [2], 12, {0: 4, 1: 8}),
    ],
)
def test_what_is_left(
    kubelet: dict[str, Any], taken: list[int], largest: int, by_node: dict[int, int | None]
) -> None:
    allocator = with_pods(*taken, **kubelet)
    before = allocator.kubelet.stop()
    left = allocator.left()
    assert left is not None
    assert (left.largest, {number: most for number, (_, most) in left.by_numa_node.items()}) == (
        largest,
        by_node,
    )
    assert allocator.kubelet.stop() == before


def test_the_policy_none_leaves_nothing_to_ask() -> None:
    assert with_pods(cpuManagerPolicy="none").remainder().left is None


def test_a_restarted_kubelet_refuses_the_largest_container() -> None:
    refused = [
        (running.uid if running else None, refusal.reason)
        for running, refusal in with_pods(8, 2, **FULL).restart()
    ]
    assert refused == [("8", "SMTAlignmentError")]


def test_without_whole_cores_a_restart_refuses_nobody() -> None:
    assert with_pods(8, 2).restart() == []


def test_openshift_restarts_without_state_files() -> None:
    spec = {"kubelet": FULL}
    for platform, version, refused in (("openshift", "4.20", 0), ("kubernetes", "1.33", 1)):
        made = plan(regular(cores=8), reserved="0", platform=platform, version=version, spec=spec)
        allocator = KubeletAllocator(planned(made))
        assert not allocator.admit(guaranteed("large", 6)).refused
        assert len(allocator.remainder().after_restart) == refused


def test_the_end_leaves_nothing_to_ask() -> None:
    remainder = with_pods(8, 2, **FULL).remainder(ended=True)
    assert (remainder.left, remainder.after_restart) == (None, ())


def test_state_files_bring_their_pods() -> None:
    static = {"memoryManagerPolicy": "Static"}
    files = with_pods(4, **static).kubelet.stop()
    state = admission.read_state(filter(None, (files.memory_state, files.cpu_state)))
    again = KubeletAllocator(facts(**static), state)
    assert again.kubelet.stop() == files
    assert [pod.uid for pod in again.kubelet.active] == ["4"]
    assert again.overlap() is None
    assert not again.admit(guaranteed("two", 2)).refused
    assert to_text(again.place(guaranteed("two", 2))[0].cpus) == "3,11"
    assert again.kubelet.cpus.state.cpus_of("4", "a")


def test_a_state_file_of_another_policy_is_refused() -> None:
    files = with_pods().kubelet.stop()
    with pytest.raises(
        StartError, match='configured policy "none" differs from state checkpoint policy "static"'
    ):
        KubeletAllocator(facts(cpuManagerPolicy="none"), files._replace(memory_state=None))


def test_an_overlap_names_both() -> None:
    allocator = with_pods()
    state = allocator.kubelet.cpus.state
    state.set_cpus("one", "c", 0b110)
    assert allocator.overlap() is None
    state.set_cpus("two", "c", 0b100)
    assert allocator.overlap() == ("two", 2, "one")
    state.set_cpus("one", "c", 1)
    assert allocator.overlap() == ("one", 0, "")


def with_pages(uid: str, kind: str, cpus: int = 2) -> Pod:
    resources = {"memory": "1Gi", "cpu": str(cpus), kind: "1Gi"}
    return named(uid, pod({"name": "c", "resources": {"limits": resources, "requests": resources}}))


STATIC: dict[str, Any] = {
    "topologyManagerPolicy": "restricted",
    "memoryManagerPolicy": "Static",
}


def test_pods_with_pages_that_a_node_lacks_do_not_end_the_simulation() -> None:
    allocator = KubeletAllocator(facts(**STATIC))
    pods = [with_pages("huge", "hugepages-1Gi"), guaranteed("next", 2)]
    huge, after = admission.run(allocator, pods).outcomes
    assert huge.refused == Refusal(
        "Unschedulable",
        "the node has no hugepages-1Gi, so the scheduler never binds the pod to it",
    )
    assert not after.refused


def test_pages_of_one_numa_node_have_a_count_of_none_on_the_other() -> None:
    spec = {
        "kubelet": STATIC,
        "hugePages": {"pages": [{"size": "1G", "count": 2, "numaNode": 1}]},
    }
    chosen = plan(SMT, reserved="0,8", platform="kubernetes", version="1.36", spec=spec)
    allocator = KubeletAllocator(planned(chosen))
    (outcome,) = admission.run(allocator, [with_pages("huge", "hugepages-1Gi")]).outcomes
    assert [placed.numa_nodes for placed in outcome.containers] == [(1,)]


@pytest.mark.parametrize(
    ("kubelet", "taken", "because"),
    [
        ({}, [], ""),
        ({"reserved": "0", **FULL}, [], "full-pcpus-only admits whole cores only"),
        (
            {"topologyManagerPolicy": "single-numa-node"},
            [],
            "no NUMA node has 9 free CPUs, which topologyManagerPolicy single-numa-node requires",
        ),
    ],
)
def test_the_largest_request_has_a_reason(
    kubelet: dict[str, Any], taken: list[int], because: str
) -> None:
    left = with_pods(*taken, **kubelet).left()
    assert left is not None
    assert left.because.startswith(because)
    assert bool(left.because) == bool(because)


def test_requests_of_shared_containers_count_too() -> None:
    allocator = KubeletAllocator(facts())
    shared = named("shared", pod(container("5500m", "1Gi", limits={})))
    assert not allocator.admit(shared).refused
    left = allocator.left()
    assert left is not None
    assert left.largest == 8
    assert left.because.startswith("the requests of all pods leave fewer CPUs: ")
