"""QoS classes, and the CPUs that pods have for themselves."""

import pytest

from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod
from cpuplan.upstream.kubernetes.qos import (
    compute_pod_qos,
    guaranteed_cpus,
    pod_guaranteed_cpus,
    validate_pod_scope_resources,
)
from tests.machines.pods import container, pod

GATES = Gates()
POD_LEVEL = Gates({"PodLevelResourceManagers": True})


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
    """Once managers look at such a pod, its containers must be Guaranteed (KEP-5526)."""
    given = pod(container("2", ""), own={"cpu": "4", "memory": "1Gi"})
    assert guaranteed_cpus(given, given.containers[0], GATES) == 2
    assert guaranteed_cpus(given, given.containers[0], POD_LEVEL) == 0
    assert pod_guaranteed_cpus(given, POD_LEVEL) == 4


def test_an_empty_shared_pool_is_refused() -> None:
    given = pod(container("4", "1Gi"), container(), own={"cpu": "4", "memory": "2Gi"})
    with pytest.raises(KubeletError, match="leaving no cpus for shared containers"):
        validate_pod_scope_resources(given, POD_LEVEL)
