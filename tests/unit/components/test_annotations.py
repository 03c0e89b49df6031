"""Annotations for CRI-O's hooks on pods that get none of them: every hook, every cause."""

from typing import Any

import pytest

from cpuplan.components.checks import annotations
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.crio.releases import HOOKS, SHARED
from cpuplan.upstream.kubernetes.pod import Pod, read_pod
from tests.machines.plans import plan

HANDLER, OWN = "high-performance", "performance-ran"
WHOLE = {"limits": {"cpu": "2", "memory": "1Gi"}}
FRACTION = {"limits": {"cpu": "1500m", "memory": "1Gi"}}
BURSTABLE = {"requests": {"cpu": "2"}, "limits": {"cpu": "4", "memory": "1Gi"}}
OTHERS = [hook for hook in HOOKS if hook != SHARED]


def pod(told: dict[str, str], *resources: dict[str, Any], runtime: str = OWN, **spec: Any) -> Pod:
    containers = [
        {"name": f"c{number}", "resources": own} for number, own in enumerate(resources or [WHOLE])
    ]
    spec = {"containers": containers, "runtimeClassName": runtime, **spec}
    return read_pod({"metadata": {"name": "p", "annotations": told}, "spec": spec})


def found(made: Pod, on: ConfiguredPlan | None = None, handler: str = HANDLER) -> list[str]:
    used = plan(version="4.20") if on is None else on
    unheeded = annotations.of_pod(used, made, handler)
    return [f"{', '.join(own.names)}: {own.cause.problem}; {own.cause.remedy}" for own in unheeded]


@pytest.mark.parametrize("hook", OTHERS)
@pytest.mark.parametrize(
    ("resources", "spec", "words"),
    [
        ([WHOLE], {}, ""),
        ([WHOLE, FRACTION], {}, ""),
        ([WHOLE], {"runtime": ""}, f"the pod has no RuntimeClass; set runtimeClassName: {OWN}"),
        ([FRACTION], {}, "only for containers that request whole CPUs"),
        ([BURSTABLE], {}, "no hooks for pods of QoS class Burstable"),
        ([{}], {}, "no hooks for pods of QoS class BestEffort"),
    ],
)
def test_what_is_in_the_way(
    hook: str, resources: list[dict[str, Any]], spec: dict[str, Any], words: str
) -> None:
    problems = found(pod({hook: "disable"}, *resources, **spec))
    assert len(problems) == bool(words)
    assert all(text.startswith(f"{hook}: ") and words in text for text in problems)


def test_resources_of_the_pod_are_none_of_its_containers() -> None:
    made = pod({OTHERS[0]: "disable"}, {}, resources=WHOLE)
    (problem,) = found(made, plan(version="4.21"))
    assert "only for containers that request whole CPUs" in problem


@pytest.mark.parametrize("hook", HOOKS)
def test_other_handlers_and_runtimes(hook: str) -> None:
    made = pod({hook: "disable", f"{hook}/c0": "disable"}, runtime="mine")
    (problem,) = found(made, handler="crun")
    assert "RuntimeClass mine is not that of handler high-performance" in problem
    containerd = plan(platform="kubernetes", version="1.36", target={"runtime": "containerd"})
    (problem,) = found(made, containerd, "")
    assert "only CRI-O reads it, and the nodes have containerd" in problem
    bare = plan(platform="kubernetes", version="1.36", target={"runtime": "crio"})
    (problem,) = found(made, bare, "")
    assert "write runtime: {handler: high-performance} in intent ran" in problem


def test_shared_cpus_that_no_handler_gives_out() -> None:
    (problem,) = found(pod({f"{SHARED}/c0": "enable"}))
    assert "of handler high-performance does not have it; give the intent pools.shared" in problem
    sharing = plan(shared="2-3", version="4.20", target={"featureSet": "DevPreviewNoUpgrade"})
    assert found(pod({f"{SHARED}/c0": "enable"}), sharing) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cpu-quota.crio.io/c0", ""),
        ("cpu-quota.crio.io/c1", "request whole CPUs"),
        ("cpu-quota.crio.io/d0", "the pod has no container d0; "),
    ],
)
def test_annotations_for_one_container(name: str, words: str) -> None:
    problems = found(pod({name: "disable"}, WHOLE, FRACTION))
    assert len(problems) == bool(words)
    assert all(words in text for text in problems)


def test_what_is_asked_for_is_what_everybody_gets() -> None:
    told = dict.fromkeys(
        ("cpu-quota.crio.io", "irq-load-balancing.crio.io", "cpu-load-balancing.crio.io"), "enable"
    )
    assert found(pod(told, BURSTABLE, runtime="")) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("irq-loadbalancing.crio.io", "write irq-load-balancing.crio.io"),
        ("CPU-quota.crio.io", "write cpu-quota.crio.io"),
        ("cpu-quotas.crio.io/c0", "write cpu-quota.crio.io/c0"),
        ("cpu-load-balancing.cri-o.io", "write cpu-load-balancing.crio.io"),
        ("cpu-sets.crio.io", "did you mean"),
        ("seccomp-profile.crio.io", ""),
        ("io.kubernetes.cri-o.Devices", ""),
        ("skip-gomaxprocs.crio.io", ""),
        ("example.com/quota", ""),
    ],
)
def test_misspelt(name: str, words: str) -> None:
    problems = found(pod({name: "disable"}))
    assert len(problems) == bool(words)
    assert all(words in text for text in problems)
