"""Pods before and after admission, RuntimeClasses, and where containers of the platform run."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import admission, fleet
from cpuplan.simulate.admission import NodeOutcome
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.apiserver import Surroundings
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.planned import planned
from cpuplan.upstream.crio.mixedcpus import ALLOWED as SHARING
from cpuplan.upstream.crio.mixedcpus import RESOURCE
from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.kubernetes.pod import CPU, Pod, read_pod
from cpuplan.upstream.openshift.managementcpusoverride import ALLOWED
from tests.machines.plans import plan

TARGET = "target.workload.openshift.io/management"
CORES = "management.workload.openshift.io/cores"
PREFERRED = '{"effect": "PreferredDuringScheduling"}'


def node(version: str = "4.20", platform: str = "openshift", **facts: Any) -> ConfiguredPlan:
    """A node with CPUs 0-1 of 8 reserved."""
    targets: dict[str, Any] = {"pool": "worker-cnf", "cpuPartitioning": True, **facts}
    if platform != "openshift":
        targets = {}
    return plan(platform=platform, version=version, target=targets)


PARTITIONED = node()


def pod(name: str = "etcd", namespace: str = "openshift-etcd", **fields: Any) -> Pod:
    resources = fields.pop("resources", {"requests": {"cpu": "300m", "memory": "1Gi"}})
    metadata = {"name": name, "namespace": namespace, "annotations": {TARGET: PREFERRED}}
    metadata["annotations"] = fields.pop("annotations", {TARGET: PREFERRED})
    container = {"name": "c", "resources": resources}
    made = read_pod({"metadata": metadata, "spec": {"containers": [container], **fields}})
    return made._replace(uid=name)


def outcome(
    pods: list[Pod], on: ConfiguredPlan = PARTITIONED, around: Surroundings | None = None
) -> NodeOutcome:
    around = Surroundings() if around is None else around
    return admission.run(KubeletAllocator(planned(on, around)), pods)


def printed(before: Pod, on: ConfiguredPlan = PARTITIONED) -> Pod:
    """The pod as the API server prints it."""
    return admission.stored(before, KubeletAllocator(planned(on, Surroundings())))


def test_pods_of_the_platform_run_on_reserved_cpus_without_cpu_requests() -> None:
    resources = {"requests": {"cpu": "1", "memory": "1Mi"}, "limits": {"cpu": "1500m"}}
    pods = [pod(f"p{number}", resources=resources) for number in range(8)]
    made = outcome(pods)
    for own in made.outcomes:
        assert not own.refused
        (container,) = own.containers
        assert (to_text(container.cpus), container.is_exclusive) == ("0-1", False)
        started = container.started
        assert (to_text(started.effective), started.updated) == ("0-1", "0-1")
        assert (started.managed_shares, started.quota) == (1024, 150_000)
        assert CPU not in own.pod.containers[0].requests
    assert made.remainder.left
    assert made.remainder.left.largest == 6


def test_the_resource_has_a_thousandth_of_each_cpu() -> None:
    fits = pod("a", resources={"requests": {"cpu": "8", "memory": "1Mi"}})
    first, second = outcome([fits, pod("b")]).outcomes
    assert not first.refused
    assert second.refused
    assert second.refused.message.endswith("requested: 300, used: 8000, capacity: 8000")


@pytest.mark.parametrize(
    ("made", "on", "cpus"),
    [
        (pod(), node(cpuPartitioning=False), "0-7"),
        (pod(annotations={}), PARTITIONED, "2-7"),
        (pod(resources={"limits": {"cpu": "1", "memory": "1Gi"}}), PARTITIONED, "2"),
        (pod(resources={"requests": {"cpu": "1"}}), PARTITIONED, "2-7"),
        (pod(resources={}), PARTITIONED, "0-1"),
    ],
)
def test_who_is_pinned(made: Pod, on: ConfiguredPlan, cpus: str) -> None:
    (own,) = outcome([made], on).outcomes
    (container,) = own.containers
    assert to_text(container.cpus) == cpus


def test_namespaces_that_are_shown_decide() -> None:
    def cpus(annotations: dict[str, str] | None) -> str:
        shown = {} if annotations is None else {"team": annotations}
        (own,) = outcome([pod(namespace="team")], around=Surroundings(shown)).outcomes
        if own.refused:
            return own.refused.reason
        return to_text(own.containers[0].cpus)

    assert cpus(None) == "0-1"
    assert cpus({}) == "2-7"
    assert cpus({ALLOWED: "management"}) == "0-1"
    assert cpus({ALLOWED: "other"}) == "Forbidden"


def test_a_workload_that_no_kubelet_knows() -> None:
    around = Surroundings({"team": {ALLOWED: "batch"}})
    made = pod(namespace="team", annotations={"target.workload.openshift.io/batch": PREFERRED})
    (own,) = outcome([made], around=around).outcomes
    assert own.refused
    assert "the node has no batch.workload.openshift.io/cores" in own.refused.message


def test_whoever_writes_the_annotation_that_the_plugin_writes() -> None:
    """It is taken away, so that CRI-O gets no CPUs from a user."""
    forged = {TARGET: PREFERRED, "resources.workload.openshift.io/c": '{"cpuset": "2-7"}'}
    for resources in ({}, {"requests": {"cpu": "1", "memory": "1Gi"}}):
        (own,) = outcome([pod(annotations=forged, resources=resources)]).outcomes
        assert to_text(own.containers[0].cpus) == "0-1"


def test_static_pods() -> None:
    """The kubelet changes them itself; one that it cannot change is pinned all the same."""
    annotations = {TARGET: PREFERRED, "kubernetes.io/config.source": "file"}
    changed, kept = outcome(
        [
            pod("a", annotations=annotations),
            pod("b", annotations=annotations, resources={"requests": {"cpu": "1"}}),
        ]
    ).outcomes
    assert CPU not in changed.pod.containers[0].requests
    assert CPU in kept.pod.containers[0].requests
    for own in (changed, kept):
        assert to_text(own.containers[0].cpus) == "0-1"
    assert printed(changed.pod) == changed.pod


AMOUNTS = st.sampled_from(["", "0", "1m", "250m", "1", "1500m", "2", "4"])
SIZES = st.sampled_from(["", "64Mi", "1Gi"])
WORKLOADS = st.sampled_from([TARGET, "", "target.workload.openshift.io/batch"])
COLUMNS = st.fixed_dictionaries({"cpu": AMOUNTS, "memory": SIZES})
CONTAINERS = st.lists(st.tuples(COLUMNS, COLUMNS), min_size=1, max_size=3)
RELEASES = [node(version) for version in ("4.14", "4.16", "4.20")]


def named(columns: list[tuple[dict[str, str], dict[str, str]]], kind: str) -> list[dict[str, Any]]:
    return [
        {
            "name": f"{kind}{number}",
            "resources": dict(zip(("requests", "limits"), own, strict=True)),
        }
        for number, own in enumerate(columns)
    ]


def without_empty(columns: list[tuple[dict[str, str], dict[str, str]]]) -> Any:
    return [tuple(map(_given, pair)) for pair in columns]


def _given(column: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in column.items() if text}


@settings(max_examples=100, deadline=None)
@given(
    containers=CONTAINERS,
    init=st.lists(st.tuples(COLUMNS, COLUMNS), max_size=2),
    workload=WORKLOADS,
    is_static=st.booleans(),
    on=st.sampled_from(RELEASES),
)
def test_a_manifest_before_and_after_admission(
    containers: Any, init: Any, workload: str, is_static: bool, on: ConfiguredPlan
) -> None:
    annotations = {workload: PREFERRED} if workload else {}
    if is_static:
        annotations["kubernetes.io/config.source"] = "file"
    spec = {
        "containers": named(without_empty(containers), "c"),
        "initContainers": named(without_empty(init), "i"),
    }
    metadata = {"name": "p", "namespace": "openshift-x", "annotations": annotations}
    before = read_pod({"metadata": metadata, "spec": spec})._replace(uid="p")
    around = Surroundings({"openshift-x": {ALLOWED: "management,batch"}})
    allocator = KubeletAllocator(planned(on, around))
    after = admission.stored(before, allocator)
    assert admission.stored(after, allocator) == after
    assert outcome([after], on, around) == outcome([before], on, around)


def test_namespaces_beside_the_pods_decide_who_shares() -> None:
    on = plan(shared="2-3", version="4.20", target={"featureSet": "DevPreviewNoUpgrade"})
    asked = {"cpu": "1", "memory": "1Gi", RESOURCE: "1"}
    made = pod(namespace="team", annotations={}, resources={"limits": asked})

    def refused(namespaces: dict[str, dict[str, str]]) -> bool:
        (own,) = outcome([made], on, Surroundings(namespaces)).outcomes
        return own.refused is not None

    assert not refused({})
    assert refused({"team": {}})
    assert not refused({"team": {SHARING: ""}})


def test_unknown_runtime_classes_are_refused_on_openshift() -> None:
    def refused(name: str, around: Surroundings | None, on: ConfiguredPlan = PARTITIONED) -> str:
        made = pod(annotations={}, runtimeClassName=name)
        kubelet = KubeletAllocator(planned(on, around))
        (own,) = admission.run(kubelet, [made]).outcomes
        return f"{own.refused.reason}: {own.refused.message}" if own.refused else ""

    known = Surroundings(
        handlers={"mine": "crun"}, planned={"site-a": frozenset({"performance-b"})}
    )
    own = planned(PARTITIONED).runtime.server.own
    assert refused("other", known) == (
        'Forbidden: pods "etcd" is forbidden: pod rejected: RuntimeClass "other" not found'
    )
    for name in (own, "mine", "kata-remote", "nvidia", ""):
        assert not refused(name, known)
    assert refused("performance-b", known).startswith("Unschedulable: RuntimeClass performance-b")
    # Nobody has looked at the cluster, or other programs may bring classes.
    assert not refused("other", None)
    assert not refused("other", known, node("1.34", "kubernetes"))


def test_pods_that_differ_in_annotations_are_not_alike() -> None:
    """Several nodes: what is computed for one pod is not shown of another."""
    quiet = {"irq-load-balancing.crio.io": "disable"}
    own = planned(PARTITIONED).runtime.server.own
    whole = {"limits": {"cpu": "6", "memory": "1Gi"}}
    pods = [
        pod("a", resources=whole, runtimeClassName=own, annotations=quiet),
        pod("b", resources=whole, runtimeClassName=own, annotations={}),
    ]
    start = fleet.Starter(KubeletAllocator)
    items = [Item(made) for made in pods]
    result = fleet.spread([(PARTITIONED, ("w-0", "w-1"))], items, start)
    effects = [
        own.containers[0].started.effects.without_interrupts
        for made in result.nodes
        for own in made.outcome.outcomes
    ]
    assert [bool(cpus) for cpus in effects] == [True, False]
