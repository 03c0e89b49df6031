"""Quantities, QoS classes, exclusive CPUs, defaults."""

import pytest

from cpuplan.kubelet import quantity
from cpuplan.kubelet.errors import KubeletError
from cpuplan.kubelet.pods.defaults import apply_defaults
from cpuplan.kubelet.pods.pod import Pod, read_pod
from cpuplan.kubelet.pods.qos import (
    compute_pod_qos,
    guaranteed_cpus,
    pod_guaranteed_cpus,
    validate_pod_scope_resources,
)
from cpuplan.kubelet.releases.features import Gates
from tests.machines.pods import container, pod

GATES = Gates()
POD_LEVEL = Gates({"PodLevelResourceManagers": True})


@pytest.mark.parametrize(
    ("text", "printed", "milli"),
    [
        ("2", "2", 2000),
        ("2000m", "2", 2000),
        ("2.000", "2", 2000),
        ("1.5Gi", "1536Mi", 1536 * 1024**2 * 1000),
        ("1e9", "1e9", 10**12),
        ("1e1", "10", 10_000),
        ("1000001u", "1000001u", 1001),
        ("1.0000000001", "1000000001n", 1001),
        ("2Ki", "2Ki", 2048_000),
        ("1Ki", "1Ki", 1024_000),
        ("0.5Ki", "512", 512_000),
        ("0", "0", 0),
        ("128M", "128M", 128 * 10**9),
    ],
)
def test_quantities(text: str, printed: str, milli: int) -> None:
    found = quantity.parse(text)
    assert (str(found), found.milli) == (printed, milli)


@pytest.mark.parametrize("text", ["", "m", "1.5.2", "1 Gi", "two", "1Zi"])
def test_no_quantities(text: str) -> None:
    with pytest.raises(KubeletError):
        quantity.parse(text)


@pytest.mark.parametrize(
    ("given", "qos"),
    [
        (pod(container("2", "1Gi")), "Guaranteed"),
        (pod(container("2", "1Gi"), init=(container(),)), "Burstable"),
        (pod(container("2", "")), "Burstable"),
        (pod(container("2", "1Gi", limits={"cpu": "4", "memory": "1Gi"})), "Burstable"),
        (pod(container()), "BestEffort"),
        (pod(container("0", "0")), "BestEffort"),
        (pod(container(), own={"cpu": "2", "memory": "1Gi"}), "Guaranteed"),
        (pod(container("2", "1Gi"), own={}), "BestEffort"),
    ],
)
def test_qos(given: Pod, qos: str) -> None:
    assert compute_pod_qos(given, GATES) == qos


@pytest.mark.parametrize(
    ("cpu", "count"),
    [("2", 2), ("2000m", 2), ("2.0", 2), ("1500m", 0), ("1.0001", 0), ("1.0000000001", 0)],
)
def test_whole_cpus_are_exclusive(cpu: str, count: int) -> None:
    given = pod(container(cpu, "1Gi"))
    assert guaranteed_cpus(given, given.containers[0], GATES) == count


def test_a_pod_needs_what_runs_at_the_same_time() -> None:
    sidecar, init = container("2", "1Gi", sidecar=True), container("5", "1Gi")
    assert pod_guaranteed_cpus(pod(container("1", "1Gi"), init=(sidecar, init)), GATES) == 7
    assert pod_guaranteed_cpus(pod(container("1", "1Gi"), init=(init, sidecar)), GATES) == 5


def test_pods_with_their_own_resources() -> None:
    """Containers of such a pod must be Guaranteed by themselves, once the managers look at it
    (KEP-5526).
    """
    given = pod(container("2", ""), own={"cpu": "4", "memory": "1Gi"})
    assert guaranteed_cpus(given, given.containers[0], GATES) == 2
    assert guaranteed_cpus(given, given.containers[0], POD_LEVEL) == 0
    assert pod_guaranteed_cpus(given, POD_LEVEL) == 4


def test_an_empty_shared_pool_is_refused() -> None:
    given = pod(container("4", "1Gi"), container(), own={"cpu": "4", "memory": "2Gi"})
    with pytest.raises(KubeletError, match="leaving no cpus for shared containers"):
        validate_pod_scope_resources(given, POD_LEVEL)


def test_defaults() -> None:
    given = pod(container("", "", limits={"cpu": "1000001u", "memory": "1.5Gi"}))
    requests = apply_defaults(given, GATES).containers[0].requests
    assert {name: str(amount) for name, amount in requests.items()} == {
        "cpu": "1001m",
        "memory": "1536Mi",
    }


def test_defaults_of_pods() -> None:
    """Requests come from the containers, and only then from the pod's limits; huge pages the other
    way round.
    """
    spec = {
        "containers": [container("2", "1Gi", limits={"hugepages-2Mi": "4Mi"})],
        "resources": {"limits": {"cpu": "3", "memory": "2Gi"}},
    }
    given = apply_defaults(read_pod({"spec": spec}), GATES)
    assert {name: str(amount) for name, amount in (given.requests or {}).items()} == {
        "cpu": "2",
        "memory": "1Gi",
        "hugepages-2Mi": "4Mi",
    }
