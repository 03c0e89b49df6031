"""What becomes of pods after their admission, in notes."""

from typing import Any

import pytest

from cpuplan.simulate import lifetimes
from cpuplan.upstream.kubernetes.pod import Pod, read_pod
from tests.machines.plans import plan

POLICY = [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]


def pod(name: str, cpu: str = "2", **more: Any) -> Pod:
    annotations = more.pop("annotations", {})
    resources = {"limits": {"cpu": cpu, "memory": "1Gi"}}
    container = {"name": "main", "resources": resources, "resizePolicy": more.pop("policy", [])}
    metadata = {"name": name, "namespace": "own", "annotations": annotations}
    return read_pod({"metadata": metadata, "spec": {"containers": [container], **more}})


def notes(*pods: Pod, version: str = "1.36", **kubelet: Any) -> list[str]:
    node = plan(platform="kubernetes", version=version, spec={"kubelet": kubelet})
    return list(lifetimes.notes([node, node], pods))


def test_pods_that_say_nothing_of_all_this() -> None:
    assert notes(pod("a"), pod("b", cpu="500m")) == []


@pytest.mark.parametrize(
    ("version", "gates", "said"),
    [
        ("1.36", {}, 'alongside CPU Manager policy "static"'),
        ("1.30", {}, "InPlacePodVerticalScaling is disabled"),
        ("1.36", {"InPlacePodVerticalScalingExclusiveCPUs": True}, "is not simulated"),
    ],
)
def test_resizes(version: str, gates: dict[str, bool], said: str) -> None:
    kubelet = {"configuration": {"featureGates": gates}} if gates else {}
    (note,) = notes(pod("a", policy=POLICY), pod("b", policy=POLICY), version=version, **kubelet)
    assert said in note
    assert "own/a and own/b" in note or "own/a, own/b" in note


def test_a_shared_container_may_be_resized() -> None:
    assert notes(pod("a", policy=POLICY), version="1.36", cpuManagerPolicy="none") == []


def test_debug_containers() -> None:
    (note,) = notes(pod("a", ephemeralContainers=[{"name": "debugger"}]))
    assert "debug containers of own/a" in note


def test_debug_containers_where_nobody_has_cpus_of_its_own() -> None:
    debugged = pod("a", ephemeralContainers=[{"name": "debugger"}])
    assert notes(debugged, cpuManagerPolicy="none") == []


def test_static_pods_that_come_late() -> None:
    static = {"kubernetes.io/config.source": "file"}
    assert notes(pod("first", annotations=static), pod("a")) == []
    (note,) = notes(pod("first", annotations=static), pod("a"), pod("late", annotations=static))
    assert "own/late come here in the order" in note
