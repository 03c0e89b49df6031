"""Resizes that the kubelet calls infeasible: pkg/kubelet/allocation/handlers.go."""

from typing import Any

import pytest

from cpuplan.upstream.kubelet.allocation import infeasible
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod, apply_defaults, read_pod

STATIC = {"cpuManagerPolicy": "static", "memoryManagerPolicy": "Static"}
SWAP = {"memorySwap": {"swapBehavior": "LimitedSwap"}}
CPUS = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"'
PAGES = 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"'
SWAPPED = "In-place resize of containers with swap is not supported."
BOTH = {"cpu": "2", "memory": "1Gi"}


def pod(limits: dict[str, str], policy: str = "NotRequired", **more: Any) -> Pod:
    container = {
        "name": "main",
        "resources": {"limits": limits, "requests": more.pop("requests", limits)},
        "resizePolicy": [{"resourceName": name, "restartPolicy": policy} for name in BOTH],
    }
    metadata = {"name": "pod", "annotations": more.pop("annotations", {})}
    manifest = {"metadata": metadata, "spec": {"containers": [container], **more}}
    return apply_defaults(read_pod(manifest), Gates())


def ask(given: Pod, resource: str, config: Any, minor: int = 36, gates: Any = None) -> str:
    return infeasible(given, given.containers[0], resource, config, Gates(gates, (1, minor)))


@pytest.mark.parametrize(
    ("resource", "minor", "gates", "answer"),
    [
        ("cpu", 36, {}, CPUS),
        ("memory", 36, {}, PAGES),
        ("cpu", 36, {"InPlacePodVerticalScalingExclusiveCPUs": True}, ""),
        ("memory", 36, {"InPlacePodVerticalScalingExclusiveCPUs": True}, PAGES),
        ("memory", 36, {"InPlacePodVerticalScalingExclusiveMemory": True}, ""),
        ("memory", 33, {"InPlacePodVerticalScalingExclusiveCPUs": True}, ""),
        ("cpu", 32, {}, "InPlacePodVerticalScaling is disabled"),
        ("cpu", 32, {"InPlacePodVerticalScaling": True}, CPUS),
        ("cpu", 31, {"InPlacePodVerticalScaling": True}, ""),
    ],
)
def test_guaranteed_pods_beside_static_managers(
    resource: str, minor: int, gates: dict[str, bool], answer: str
) -> None:
    assert ask(pod(BOTH), resource, STATIC, minor, gates) == answer
    assert ask(pod(BOTH), "cpu", {"cpuManagerPolicy": "none"}) == ""


def test_burstable_pods_and_swap() -> None:
    small: dict[str, Any] = {"requests": {"memory": "512Mi"}}
    assert ask(pod(BOTH, **small), "memory", STATIC) == ""
    assert ask(pod(BOTH, **small), "memory", SWAP) == SWAPPED
    assert ask(pod(BOTH, **small), "cpu", SWAP) == ""
    assert ask(pod(BOTH, "RestartContainer", **small), "memory", SWAP) == ""
    assert ask(pod(BOTH, **small, priority=2_000_000_000), "memory", SWAP) == ""
    assert ask(pod({"memory": "1Gi"}), "memory", SWAP) == "", "its request is its limit"
    assert ask(pod(BOTH, **small), "memory", SWAP, 29, {"InPlacePodVerticalScaling": True}) == ""


def test_static_pods() -> None:
    given = pod(BOTH, annotations={"kubernetes.io/config.source": "file"})
    assert ask(given, "cpu", {}) == "In-place resize of static-pods is not supported"


@pytest.mark.parametrize("policy", [3, "x", [3], [{}], [{"resourceName": ["cpu"]}]])
def test_policies_that_are_none(policy: Any) -> None:
    spec = {"containers": [{"name": "main", "resizePolicy": policy}], "ephemeralContainers": policy}
    read = read_pod({"metadata": {"name": "pod"}, "spec": spec})
    assert all(isinstance(text, str) for pair in read.containers[0].resize_policy for text in pair)
