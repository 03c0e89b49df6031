"""QoS classes and priority classes of pods."""

import pytest

from cpuplan.upstream.koordinator.extension import constants, qos
from cpuplan.upstream.kubernetes.pod import Pod, read_pod


def _pod(label: str = "", priority: int = 0, requests: str = "", limits: str = "") -> Pod:
    resources = {
        "requests": {"cpu": requests, "memory": "1Gi"} if requests else {},
        "limits": {"cpu": limits, "memory": "1Gi"} if limits else {},
    }
    return read_pod(
        {
            "metadata": {"labels": {constants.QOS: label} if label else {}},
            "spec": {
                "priority": priority,
                "containers": [{"name": "main", "resources": resources}],
            },
        }
    )


@pytest.mark.parametrize(
    ("requests", "limits", "expected"), [("2", "2", "LSR"), ("1", "2", "LS"), ("", "", "BE")]
)
def test_kubernetes_classes_stand_for_classes(requests: str, limits: str, expected: str) -> None:
    pod = _pod(requests=requests, limits=limits)
    assert qos.qos_of(pod) == expected
    assert not qos.may_bind_cpus(pod)


def test_letter_case_counts() -> None:
    assert qos.given_qos(_pod("lse")) == qos.NONE
    assert qos.given_qos(_pod("LSE")) == qos.LSE


@pytest.mark.parametrize(
    ("label", "priority", "priority_class", "value", "binds"),
    [
        ("LSR", 0, qos.PROD, 9500, True),
        ("LSR", 9999, qos.PROD, 9999, True),
        ("LSR", 10000, qos.PROD, 10000, True),
        ("LSR", 5500, qos.BATCH, 5500, False),
        ("LS", 0, qos.PROD, 9500, False),
        ("BE", 0, qos.BATCH, 5500, False),
    ],
)
def test_only_production_pods_are_bound(
    label: str, priority: int, priority_class: str, value: int, *, binds: bool
) -> None:
    pod = _pod(label, priority)
    assert qos.priority_class_of(pod) == priority_class
    assert qos.priority_of(pod) == value
    assert qos.may_bind_cpus(pod) is binds


def test_the_label_of_the_priority_class_wins() -> None:
    pod = _pod("LSR", 5500)
    labelled = pod._replace(labels={**pod.labels, constants.PRIORITY_CLASS: qos.PROD})
    assert qos.may_bind_cpus(labelled)
    unknown = pod._replace(labels={**pod.labels, constants.PRIORITY_CLASS: "gold"})
    assert qos.given_priority_class(unknown) == qos.NONE
