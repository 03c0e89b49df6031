"""The plugin's decisions: rows of its own table, and what its source does beside them."""

from typing import Any

import pytest

from cpuplan.upstream.kubernetes.errors import AdmissionError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import CPU, Pod, apply_defaults, read_pod
from cpuplan.upstream.openshift.managed import WARNING
from cpuplan.upstream.openshift.managementcpusoverride import ALLOWED, admit

TARGET = "target.workload.openshift.io/management"
CORES = "management.workload.openshift.io/cores"
PREFERRED = '{"effect": "PreferredDuringScheduling"}'
STORED = '{"effect":"PreferredDuringScheduling"}'
OPEN = {ALLOWED: "management"}


def pod(
    requests: dict[str, str] | None = None,
    limits: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
) -> Pod:
    """A pod with an init container and another, both with these resources."""
    resources = {"requests": requests or {}, "limits": limits or {}}
    metadata: dict[str, Any] = {"name": "p", "namespace": "etcd"}
    metadata["annotations"] = {TARGET: PREFERRED} if annotations is None else annotations
    spec = {
        "initContainers": [{"name": "first", "resources": resources}],
        "containers": [{"name": "main", "resources": resources}],
    }
    return apply_defaults(read_pod({"metadata": metadata, "spec": spec}), Gates())


def told(shares: str) -> dict[str, str]:
    """The annotations of a managed pod."""
    names = ("first", "main")
    return {TARGET: STORED, **{f"resources.workload.openshift.io/{name}": shares for name in names}}


def memory(cpu: str = "", size: str = "250Mi") -> dict[str, str]:
    return {"memory": size, **({"cpu": cpu} if cpu else {})}


@pytest.mark.parametrize(
    ("given", "annotations", "cores"),
    [
        (pod(memory("250m")), told('{"cpushares":256}'), "250"),
        (
            pod(memory("250m"), {"cpu": "500m", "memory": "1Gi"}),
            told('{"cpushares":256,"cpulimit":500}'),
            "250",
        ),
        (pod(memory("1u")), told('{"cpushares":2}'), "1"),
        (pod(memory("300")), told('{"cpushares":262144}'), "300k"),
        (pod(), told('{"cpushares": 2}'), ""),
        (pod(memory()), {TARGET: STORED}, ""),
    ],
)
def test_managed(given: Pod, annotations: dict[str, str], cores: str) -> None:
    stored = admit(given, OPEN, is_partitioned=True)
    assert stored.annotations == annotations
    for container in stored.all_containers:
        assert CPU not in {**container.requests, **container.limits}
        for column in (container.requests, container.limits):
            assert str(column.get(CORES, "")) == cores


@pytest.mark.parametrize(
    ("given", "warning"),
    [
        (pod(memory("1"), memory("1")), "because it has guaranteed QoS class"),
        (pod({"cpu": "0"}, memory("1")), "because it has guaranteed QoS class"),
        (pod({"cpu": "1"}), "will change the pod QoS class from Burstable to BestEffort"),
    ],
)
def test_left_alone_with_a_warning(given: Pod, warning: str) -> None:
    stored = admit(given, OPEN, is_partitioned=True)
    assert warning in stored.annotations[WARNING]
    assert stored == given._replace(annotations={WARNING: stored.annotations[WARNING]})
    assert admit(stored, OPEN, is_partitioned=True) == stored


def test_a_namespace_that_says_nothing() -> None:
    stored = admit(pod(memory("1")), {}, is_partitioned=True)
    assert list(stored.annotations) == [WARNING]
    assert "the etcd namespace is not annotated with workload.openshift.io/allowed" in str(
        stored.annotations
    )


def test_without_partitioning_nothing_is_left_of_the_annotations() -> None:
    given = pod(memory("1"), annotations=told("{}"))
    stored = admit(given, OPEN, is_partitioned=False)
    assert stored == given._replace(annotations={})


def test_limits_before_4_16() -> None:
    given = pod(memory("250m"), {"cpu": "500m"})
    stored = admit(given, OPEN, is_partitioned=True, release=(1, 28))
    assert stored.annotations[WARNING].endswith("pod container has both CPU limit and request")
    assert admit(given, OPEN, is_partitioned=True, release=(1, 29)).annotations[TARGET]


def with_target(value: str, name: str = TARGET) -> Pod:
    return pod(memory("1"), annotations={name: value})


@pytest.mark.parametrize(
    ("given", "allowed", "text"),
    [
        (
            with_target(PREFERRED),
            "other,batch",
            'pods "p" is forbidden: autoscaling.openshift.io/ManagementCPUsOverride the pod',
        ),
        (
            with_target(PREFERRED),
            "management, batch,",
            "",
        ),
        (with_target(PREFERRED), " management", 'namespace "etcd" does not allow'),
        (
            with_target("{"),
            "management",
            'failed to parse "{" annotation value: unexpected end of JSON input',
        ),
        (with_target("null"), "management", 'map[] does not have "effect" key'),
        (
            with_target('{"test": "test"}'),
            "management",
            'the workload annotation value map["test":"test"] does not have "effect" key',
        ),
        (
            with_target('{"effect": 1}'),
            "management",
            "json: cannot unmarshal number into Go value of type string",
        ),
        (
            with_target('{"effect": "Required"}'),
            "management",
            'only "PreferredDuringScheduling" effect is supported',
        ),
        (with_target(PREFERRED, "target.workload.openshift.io/"), "management", "non empty string"),
        (
            pod(annotations={TARGET: "", f"{TARGET}2": ""}),
            "management",
            "the pod can not have more than one workload annotations",
        ),
        (
            pod({CORES: "5"}, {CORES: "5"}, annotations={}),
            "management",
            f'can not have containers with workload resources "{CORES}"',
        ),
    ],
)
def test_refused(given: Pod, allowed: str, text: str) -> None:
    if not text:
        admit(given, {ALLOWED: allowed}, is_partitioned=True)
        return
    with pytest.raises(AdmissionError) as caught:
        admit(given, {ALLOWED: allowed}, is_partitioned=True)
    assert text in str(caught.value)
    assert caught.value.reason == (
        "Forbidden" if "forbidden" in text or "allow" in text else "Invalid"
    )


def test_all_resources_of_no_workload_are_told_of() -> None:
    both = {CORES: "5", "a.workload.openshift.io/cores": "1"}
    with pytest.raises(AdmissionError) as caught:
        admit(pod(both, both, annotations={}), OPEN, is_partitioned=True)
    field = "spec.containers.resources.requests: Invalid value: "
    assert str(caught.value).startswith(
        f'Pod "p" is invalid: [{field}{{"a.workload.openshift.io/cores":"1","{CORES}":"5"}}: the '
    )
    assert str(caught.value).count(field) == 2


def test_static_pods_are_not_looked_at() -> None:
    given = pod(memory("1"), annotations={TARGET: "{", "kubernetes.io/config.source": "file"})
    assert admit(given, {}, is_partitioned=True) == given
    given = pod(memory("1"), annotations={"kubernetes.io/config.source": "api", TARGET: "{"})
    with pytest.raises(AdmissionError):
        admit(given, OPEN, is_partitioned=True)
