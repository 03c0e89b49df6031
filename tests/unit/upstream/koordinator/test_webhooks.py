"""What the webhooks of koord-manager admit, refuse and change."""

import pytest

from cpuplan.upstream.koordinator.extension import constants
from cpuplan.upstream.koordinator.webhook.cluster_colocation_profile import refusals
from cpuplan.upstream.koordinator.webhook.resource_amplification import Node, amplify
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import Container, read_resources
from tests.unit.upstream.koordinator.machines import pod


@pytest.mark.parametrize(
    ("label", "priority", "problem"),
    [
        ("LSR", 5500, "Pod: Forbidden: koordinator.sh/qosClass=LSR and priorityClass=koord-batch"),
        ("LSR", 0, "Pod: Forbidden: koordinator.sh/qosClass=LSR and priorityClass= cannot"),
        ("BE", 9500, "Pod: Forbidden: koordinator.sh/qosClass=BE and priorityClass=koord-prod"),
    ],
)
def test_classes_that_do_not_go_together(label: str, priority: int, problem: str) -> None:
    problems = refusals(pod("p", label, requests="2", limits="2", priority=priority))
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_lse_with_batch_priority_passes() -> None:
    """And then gets no CPUs of its own, without a word."""
    assert refusals(pod("p", "LSE", requests="2", limits="2", priority=5500)) == []


@pytest.mark.parametrize(
    ("requests", "problem"),
    [
        ("", "Required value: LSR Pod must declare the requested CPUs"),
        ("2500m", 'Invalid value: "2500m": the requested CPUs of LSR Pod must be integer'),
    ],
)
def test_whole_cpus(requests: str, problem: str) -> None:
    problems = refusals(pod("p", "LSR", requests=requests, priority=9500))
    assert problems == [f"pod.spec.containers[*].resources.requests: {problem}"]


def test_batch_resources_need_the_class_be() -> None:
    batch = Container("main", read_resources({constants.BATCH_CPU: "1000"}), {})
    given = pod("p", "LS")._replace(containers=(batch,))
    assert len(refusals(given)) == 1
    assert "must specify koordinator QoS BE" in refusals(given)[0]


def test_classes_and_priority_of_a_pod_do_not_change() -> None:
    old = pod("p", "LS", requests="1", priority=9500)
    new = pod("p", "LSR", requests="1", priority=9500)
    new = new._replace(labels={**new.labels, constants.PRIORITY: "10"})
    assert refusals(new, old) == [
        'labels.koordinator.sh/qosClass: Invalid value: "LSR": field is immutable',
        'labels.koordinator.sh/priority: Invalid value: "10": field is immutable',
    ]
    assert len(refusals(new, old, may_change_priority=True)) == 1


def _node(ratio: str = "", raw: str = "", cpus: str = "16") -> Node:
    annotations = {constants.AMPLIFICATION_RATIO: ratio, constants.RAW_ALLOCATABLE: raw}
    given = {name: text for name, text in annotations.items() if text}
    return Node(given, read_resources({"cpu": cpus, "memory": "32Gi"}))


def test_amplification_keeps_what_the_kubelet_reported() -> None:
    node = amplify(_node('{"cpu": 1.5}'), None)
    assert node.annotations[constants.RAW_ALLOCATABLE] == '{"cpu":"16","memory":"32Gi"}'
    assert node.allocatable is not None
    assert str(node.allocatable["cpu"]) == "24"


def test_amplification_starts_from_what_was_kept() -> None:
    given = _node('{"cpu": 1.5, "memory": 1.2}', '{"cpu": "8"}', "12")
    node = amplify(given, given)
    assert node.allocatable is not None
    assert str(node.allocatable["cpu"]) == "12"
    assert str(node.allocatable["memory"]) == "32Gi"


def test_a_new_report_replaces_what_was_kept() -> None:
    node = amplify(_node('{"cpu": 2}', '{"cpu": "8"}', "10"), _node(cpus="16"))
    assert node.allocatable is not None
    assert str(node.allocatable["cpu"]) == "20"


def test_without_a_ratio_nothing_is_kept() -> None:
    assert amplify(_node(raw='{"cpu": "8"}'), None).annotations == {}
    nothing = Node({constants.AMPLIFICATION_RATIO: '{"cpu": 2}'}, None)
    assert amplify(nothing, None) == nothing


def test_a_ratio_that_is_no_number_is_refused() -> None:
    with pytest.raises(KubeletError, match="failed to unmarshal node resource amplification"):
        amplify(_node('{"cpu": "2"}'), None)
