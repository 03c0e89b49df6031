"""Pods on one simulated node: what they get, what is refused, and the end of a kubelet."""

from collections.abc import Iterable
from typing import Any

from cpuplan.simulate import admission
from cpuplan.simulate.admission import Outcome
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.upstream.kubelet.kubelet import Node
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.pod import Pod
from tests.machines.pods import container, guaranteed, named, pod
from tests.unit.simulate.allocators.test_kubelet import facts


def run(*pods: Pod, **kubelet: Any) -> tuple[Outcome, ...]:
    return admission.run(KubeletAllocator(facts(**kubelet)), pods).outcomes


def rows(outcomes: Iterable[Outcome]) -> list[tuple[Any, ...]]:
    result = []
    for outcome in outcomes:
        placed = ((to_text(own.cpus), own.is_exclusive) for own in outcome.containers)
        result.append((outcome.qos, *placed))
    return result


def test_containers_end_with_what_is_left_of_the_shared_pool() -> None:
    small = named("small", pod(container("500m", "1Gi")))
    outcomes = run(small, guaranteed("large", 2), guaranteed("huge", 99))
    assert rows(outcomes) == [
        ("Guaranteed", ("0,2-8,10-15", False)),
        ("Guaranteed", ("1,9", True)),
        ("Guaranteed",),
    ]
    # All 12 that are left were taken before, as those of the NUMA nodes that it was aligned to.
    why = "not enough cpus available to satisfy request: requested=87, available=0"
    text = f"Allocate failed due to {why}, which is unexpected"
    assert outcomes[2].refused == ("UnexpectedAdmissionError", text)


def test_defaults_come_from_limits() -> None:
    limits = {"name": "c", "resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}
    assert run(pod(limits))[0].containers[0].is_exclusive


def test_pods_of_one_kind_differ_in_their_names_only() -> None:
    kubelet = KubeletAllocator(facts())
    first, second, larger = guaranteed("one", 2), guaranteed("two", 2), guaranteed("one", 3)
    kind = admission.kind_of(first, kubelet)
    assert kind == admission.kind_of(second._replace(labels={"app": "two"}), kubelet)
    assert kind != admission.kind_of(larger, kubelet)


def test_files_are_told_apart() -> None:
    assert admission.read_state(['{"machineState": {}}', "{}"]) == Node(
        "{}", '{"machineState": {}}'
    )
