"""Pods on one simulated node: what they get, what is left, and what a restart does."""

from typing import Any

import pytest

from cpuplan.kubelet.bits import to_text
from cpuplan.kubelet.node import Kubelet, Node, StartError
from cpuplan.simulate import admission
from cpuplan.simulate.planned import Planned, planned
from tests.machines.plans import plan, regular
from tests.machines.pods import container, guaranteed, named, pod

SMT = regular(sockets=2, cores=4, threads=2)


def node(reserved: str = "0,8", **kubelet: Any) -> Planned:
    """Two NUMA nodes of four cores with two threads, the first core of node 0 reserved."""
    spec = {"kubelet": {"topologyManagerPolicy": "best-effort", **kubelet}}
    return planned(plan(SMT, reserved=reserved, platform="kubernetes", version="1.36", spec=spec))


FULL: dict[str, Any] = {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}}


def test_containers_end_with_what_is_left_of_the_shared_pool() -> None:
    kubelet = node().start()
    small = named("small", pod(container("500m", "1Gi")))
    outcomes = admission.run(kubelet, [small, guaranteed("large", 2), guaranteed("huge", 99)])
    rows = [
        (one.qos, *((to_text(each.cpus), each.is_exclusive) for each in one.containers))
        for one in outcomes
    ]
    assert rows == [
        ("Guaranteed", ("0,2-8,10-15", False)),
        ("Guaranteed", ("1,9", True)),
        ("Guaranteed",),
    ]
    # All 12 that are left were taken before, as those of the NUMA nodes that it was aligned to.
    why = "not enough cpus available to satisfy request: requested=87, available=0"
    text = f"Allocate failed due to {why}, which is unexpected"
    assert outcomes[2].refused == ("UnexpectedAdmissionError", text)


def test_defaults_come_from_limits() -> None:
    outcomes = admission.run(
        node().start(), [pod({"name": "c", "resources": {"limits": {"cpu": 2, "memory": "1Gi"}}})]
    )
    assert outcomes[0].containers[0].is_exclusive


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
    started = node(**kubelet).start()
    admission.run(started, [guaranteed(str(count), count) for count in taken])
    before = started.stop()
    left = admission.left(started)
    assert left is not None
    assert (left.largest, {number: most for number, (_, most) in left.by_numa_node.items()}) == (
        largest,
        by_node,
    )
    assert started.stop() == before


def test_the_policy_none_leaves_nothing_to_ask() -> None:
    assert admission.left(node(cpuManagerPolicy="none").start()) is None


def test_a_restarted_kubelet_refuses_the_largest_container() -> None:
    facts = node(**FULL)
    kubelet = facts.start()
    admission.run(kubelet, [guaranteed("large", 8), guaranteed("small", 2)])
    refused = [
        (one.uid if one else None, each.reason) for one, each in admission.restart(facts, kubelet)
    ]
    assert refused == [("large", "SMTAlignmentError")]


def test_without_whole_cores_a_restart_refuses_nobody() -> None:
    facts = node()
    kubelet = facts.start()
    admission.run(kubelet, [guaranteed("large", 8), guaranteed("small", 2)])
    assert admission.restart(facts, kubelet) == []


def start_again(facts: Planned, *states: str | None) -> Kubelet:
    return admission.start(facts, admission.read_state(text for text in states if text))


def test_state_files_bring_their_pods() -> None:
    facts = node(memoryManagerPolicy="Static")
    kubelet = facts.start()
    admission.run(kubelet, [guaranteed("one", 4)])
    files = kubelet.stop()
    again = start_again(facts, files.memory_state, files.cpu_state)
    assert again.stop() == files
    assert [pod.uid for pod in again.active] == ["one"]
    assert admission.overlap(again) is None
    outcomes = admission.run(again, [guaranteed("two", 2)])
    assert to_text(outcomes[0].containers[0].cpus) == "3,11"
    assert again.cpus.state.cpus_of("one", "a")


def test_a_state_file_of_another_policy_is_refused() -> None:
    files = node().start().stop()
    with pytest.raises(
        StartError, match='configured policy "none" differs from state checkpoint policy "static"'
    ):
        start_again(node(cpuManagerPolicy="none"), files.cpu_state)


def test_an_overlap_names_both() -> None:
    kubelet = node().start()
    kubelet.cpus.state.set_cpus("one", "c", 0b110)
    assert admission.overlap(kubelet) is None
    kubelet.cpus.state.set_cpus("two", "c", 0b100)
    assert admission.overlap(kubelet) == ("two", 2, "one")
    kubelet.cpus.state.set_cpus("one", "c", 1)
    assert admission.overlap(kubelet) == ("one", 0, "")


def test_files_are_told_apart() -> None:
    assert admission.read_state(['{"machineState": {}}', "{}"]) == Node(
        "{}", '{"machineState": {}}'
    )
