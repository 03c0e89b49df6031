"""Pods that share CPUs otherwise than they ask: each leak of OpenShift's plugin, and of CRI-O."""

from typing import Any

import pytest

from cpuplan.language.read import yaml
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import findings, manifests
from cpuplan.upstream.crio.mixedcpus import RESOURCE
from cpuplan.upstream.kubernetes.pod import read_pod
from tests.machines.plans import plan
from tests.unit.backends.test_admission import ADMITTED, REFUSED, container, pod

HOOK, QUOTA = "cpu-shared.crio.io", "cpu-quota.crio.io"
TOLD = {f"{HOOK}/app": "enable"}
FINE: dict[str, Any] = {"runtimeClassName": "performance-ran"}


def node(platform: str = "openshift", version: str = "4.20", **spec: Any) -> ConfiguredPlan:
    return plan(shared="2-3", platform=platform, version=version, spec=spec)


def problems(made: dict[str, Any], on: ConfiguredPlan) -> list[str]:
    given = read_pod(made)._replace(name="p", namespace="team")
    return [fault.problem for fault in findings.sharing_faults(given, on)]


def variable(name: str) -> dict[str, Any]:
    return container(shared=None, env=[{"name": name, "value": "0-1"}])


BURSTABLE: dict[str, Any] = {
    "name": "app",
    "resources": {"requests": {"cpu": "0", RESOURCE: "1"}, "limits": {"cpu": "2", RESOURCE: "1"}},
}
INIT: dict[str, Any] = {"initContainers": [container("first")]}


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (pod(container(), **FINE), ""),
        (pod({"name": "plain"}), ""),
        (pod(container(shared="0"), **FINE), "requests 0 of"),
        (pod(container(cpu="1500m"), **FINE), "requests a fraction of a CPU"),
        (pod(container(), annotations={}, **FINE, **INIT), "nobody adds it for init containers"),
        (pod(container(), annotations={f"{HOOK}/first": "enable"}, **FINE, **INIT), ""),
        (pod(container(shared=None), annotations=TOLD), f"has the annotation {HOOK}/app, but no"),
        (pod(container(shared=None), annotations={f"{HOOK}.more": "x"}), f"annotation {HOOK}.more"),
        (pod(variable("OPENSHIFT_SHARED_CPUS")), "sets OPENSHIFT_SHARED_CPUS"),
        (pod(variable("OPENSHIFT_SHARED_CPUS_OF_MINE")), ""),
        (pod(container()), "only CRI-O's handler for them reads the annotations"),
        (pod(container(), runtimeClassName="performance-other"), "only CRI-O's handler"),
        # OpenShift's plugin refuses it: nothing runs.
        (pod(container(shared="2")), ""),
        (pod(container(), {"name": "plain"}), ""),
    ],
)
def test_what_the_plugin_of_openshift_lets_through(made: dict[str, Any], words: str) -> None:
    messages = problems(made, node())
    assert len(messages) == bool(words)
    assert all(words in text for text in messages)


def test_a_request_of_no_cpu_is_burstable() -> None:
    limits = BURSTABLE["resources"]["limits"] | {"memory": "1Gi"}
    requests = BURSTABLE["resources"]["requests"] | {"memory": "1Gi"}
    made = pod({"name": "app", "resources": {"limits": limits, "requests": requests}}, **FINE)
    (problem,) = problems(made, node())
    assert problem.endswith("its QoS class is Burstable")


@pytest.mark.parametrize(("version", "is_told"), [("1.33", False), ("1.34", True)])
def test_resources_of_the_pod(version: str, is_told: bool) -> None:
    own: dict[str, Any] = {"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}
    messages = problems(
        pod(container(), annotations=TOLD, **FINE, **own), node("kubernetes", version)
    )
    assert bool(messages) == is_told
    assert all("spec.resources" in text for text in messages)


@pytest.mark.parametrize(
    ("version", "annotations", "is_throttled"),
    [
        ("4.19", {}, True),
        ("4.19", {QUOTA: "disable"}, False),
        ("4.20", {}, False),
    ],
)
def test_throttled_without_the_annotation(
    version: str, annotations: dict[str, str], is_throttled: bool
) -> None:
    messages = problems(pod(container(), annotations=annotations, **FINE), node(version=version))
    assert messages == ["is throttled to the time of its exclusive CPUs"] * is_throttled


def test_namespaces_that_are_not_open() -> None:
    on = node("kubernetes", "1.36", runtime={"sharedNamespaces": ["vran"]})
    (problem,) = problems(pod(container(), **FINE), on)
    assert "namespace team is not open" in problem
    on = node("kubernetes", "1.36", runtime={"sharedNamespaces": ["team"]})
    assert problems(pod(container(), **FINE), on) == []


@pytest.mark.parametrize("made", [row[1] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_like_the_policies(made: dict[str, Any]) -> None:
    """What a policy refuses is told, and nothing else."""
    assert problems(pod_with(made), node("kubernetes", "1.36"))


@pytest.mark.parametrize("made", [row[0] for row in ADMITTED])
def test_like_the_policies_that_admit(made: dict[str, Any]) -> None:
    assert problems(pod_with(made), node("kubernetes", "1.36")) == []


def pod_with(made: dict[str, Any]) -> dict[str, Any]:
    return made | {"spec": {**FINE, **made["spec"]}}


MANIFEST = """\
kind: List
items:
- kind: Deployment
  metadata: {name: upf}
  spec:
    replicas: 3
    template:
      spec:
        runtimeClassName: performance-ran
        containers:
        - {name: log}
        - name: fast
          resources: {limits: {cpu: 2, memory: 1Gi, workload.openshift.io/enable-shared-cpus: 0}}
"""


def test_each_manifest_is_told_of_once_at_its_container() -> None:
    sources, _ = yaml.parse("pods.yaml", MANIFEST.replace("- {name: log}\n        ", ""))
    items = manifests.read(sources).items
    (problem,) = findings.check_sharing([node(), node(version="4.21")], items)
    assert problem.message.startswith("default/upf-1 fast requests 0 of")
    assert problem.position
    assert (problem.position.line, problem.position.column) == (11, 17)
    assert list(findings.check_sharing([plan(platform="openshift")], items)) == []
