"""Findings about pods of which something is not heeded, at the line that asks for it."""

import pytest

from cpuplan.diagnostics import Diagnostic
from cpuplan.language.read import yaml
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import manifests, unheeded
from cpuplan.simulate.manifests import Manifests
from tests.machines.plans import plan

TARGET = "target.workload.openshift.io/management"
PREFERRED = """'{"effect": "PreferredDuringScheduling"}'"""
PARTITIONED = plan(version="4.20", target={"pool": "worker-cnf", "cpuPartitioning": True})
BARE = plan(version="4.20")

POD = """\
kind: Pod
metadata:
  name: agent
  namespace: NAMESPACE
  annotations:
    ANNOTATION
spec:
  containers:
  - name: main
    resources: RESOURCES
"""
REQUESTS = "{requests: {cpu: 1, memory: 1Mi}}"


def read(text: str) -> Manifests:
    sources, _ = yaml.parse("pods.yaml", text)
    return manifests.read(sources)


def findings(text: str, *on: ConfiguredPlan) -> list[Diagnostic]:
    made = read(text)
    assert not made.diagnostics
    return list(unheeded.check(on or [PARTITIONED], made.items, made.around))


def pod(
    annotation: str = f"{TARGET}: {PREFERRED}",
    namespace: str = "openshift-agents",
    resources: str = REQUESTS,
) -> str:
    text = POD.replace("ANNOTATION", annotation).replace("NAMESPACE", namespace)
    return text.replace("RESOURCES", resources)


@pytest.mark.parametrize(
    ("text", "on", "problem", "remedy"),
    [
        (pod(), PARTITIONED, "", ""),
        (pod(), BARE, "", ""),
        (pod(namespace="team"), BARE, "its cluster is not partitioned", "take it away"),
        (
            pod(resources="{limits: {cpu: 1, memory: 1Mi}}"),
            PARTITIONED,
            "guaranteed QoS class",
            "no limits of cpu",
        ),
        (
            pod(resources="{requests: {cpu: 1}}"),
            PARTITIONED,
            "change the pod QoS class from Burstable to BestEffort",
            "request of memory",
        ),
        (
            pod("workload.openshift.io/warning: skip this pod because it has guaranteed QoS class"),
            PARTITIONED,
            "skip this pod",
            "no limits of cpu",
        ),
        (
            pod(
                f"kubernetes.io/config.source: file\n    {TARGET}: {PREFERRED}",
                resources="{requests: {cpu: 1}}",
            ),
            PARTITIONED,
            "the kubelet cannot take its CPU requests away",
            "request both cpu and memory",
        ),
    ],
)
def test_pods_of_the_platform(text: str, on: ConfiguredPlan, problem: str, remedy: str) -> None:
    told = findings(text, on)
    assert [finding.code for finding in told] == ["CP7342"] * bool(problem)
    for finding in told:
        assert problem in finding.message
        assert remedy in finding.remedy
        assert finding.position
        assert finding.position.line in (6, 7)


CORES = "{management.workload.openshift.io/cores: 5}"


@pytest.mark.parametrize(
    ("text", "remedy", "line"),
    [
        (pod(f"""{TARGET}: '{{"effect": "Preferred"}}'"""), PREFERRED, 6),
        (pod(f"{TARGET}: '{{'"), PREFERRED, 6),
        (pod(f"{TARGET}: {PREFERRED}\n    {TARGET}2: ''"), f"leave only {TARGET}", 6),
        (
            pod("a: b", resources=f"{{limits: {CORES}}}"),
            f"request cpu instead, or annotate the pod with {TARGET}",
            7,
        ),
        (pod(f"target.workload.openshift.io/batch: {PREFERRED}"), "annotate its namespace", 6),
    ],
)
def test_refused_pods_of_the_platform(text: str, remedy: str, line: int) -> None:
    (finding,) = findings(text)
    assert finding.code == "CP7344"
    assert remedy in finding.remedy
    assert finding.position
    assert finding.position.line == line
    assert finding.message.startswith("openshift-agents/agent is refused: ")


def test_namespaces_beside_the_pods() -> None:
    namespace = "kind: Namespace\nmetadata: {name: team, annotations: ANNOTATIONS}\n---\n"
    closed = namespace.replace("ANNOTATIONS", "{}") + pod(namespace="team")
    (finding,) = findings(closed)
    assert "is not annotated with workload.openshift.io/allowed" in finding.message
    assert "annotate its namespace" in finding.remedy
    allowed = "{workload.openshift.io/allowed: management}"
    assert findings(namespace.replace("ANNOTATIONS", allowed) + pod(namespace="team")) == []
    for text, number in ((pod(namespace="team"), 1), (closed, 0), (pod(), 0)):
        made = read(text)
        notes = list(unheeded.notes([PARTITIONED], made.items, made.around))
        assert len(notes) == number
        assert all("namespace team is taken for one" in note for note in notes)


def test_runtime_classes_beside_the_pods() -> None:
    text = pod("irq-load-balancing.crio.io: disable", resources="{limits: {cpu: 1, memory: 1Mi}}")
    other = text.replace("  containers", "  runtimeClassName: mine\n  containers")
    (finding,) = findings(other)
    assert finding.code == "CP7341"
    assert finding.position
    assert finding.position.line == 8
    assert finding.remedy.startswith("set runtimeClassName: performance-ran;")
    given = "kind: RuntimeClass\nmetadata: {name: mine}\nhandler: HANDLER\n---\n"
    (finding,) = findings(given.replace("HANDLER", "crun") + other)
    assert finding.code == "CP5340"
    assert findings(given.replace("HANDLER", "high-performance") + other) == []


DEPLOYMENT = """\
kind: List
items:
- kind: Deployment
  metadata: {name: du, annotations: {cpu-quota.crio.io: disable, example.com/a: b}}
  spec:
    replicas: 3
    template:
      cpu-c-states.crio.io: disable
      metadata:
        labels: {irq-load-balancing.crio.io: disable}
        annotations: {KEY: disable}
      spec:
        containers:
        - {name: main, cpu-shared.crio.io/main: enable}
"""


def test_annotations_that_nobody_reads() -> None:
    made = read(DEPLOYMENT.replace("KEY", "example.com/c"))
    assert len(made.items) == 3
    told = {finding.message.partition(" stands in ")[0] for finding in made.diagnostics}
    assert told == {
        "cpu-quota.crio.io",
        "cpu-c-states.crio.io",
        "irq-load-balancing.crio.io",
        "cpu-shared.crio.io/main",
    }
    assert {finding.code for finding in made.diagnostics} == {"CP7343"}
    assert all("spec.template.metadata.annotations" in own.remedy for own in made.diagnostics)
    # One that the pods have too is a copy.
    made = read(DEPLOYMENT.replace("KEY", "cpu-quota.crio.io"))
    assert "cpu-quota.crio.io" not in {own.message.split()[0] for own in made.diagnostics}
