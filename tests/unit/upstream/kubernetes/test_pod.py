"""What the API server adds to pods."""

from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import apply_defaults, read_pod
from tests.machines.pods import container, pod

GATES = Gates()


def test_defaults() -> None:
    given = pod(container("", "", limits={"cpu": "1000001u", "memory": "1.5Gi"}))
    requests = apply_defaults(given, GATES).containers[0].requests
    assert {name: str(amount) for name, amount in requests.items()} == {
        "cpu": "1001m",
        "memory": "1536Mi",
    }


def test_defaults_of_pods() -> None:
    """Requests come from the containers, then from the pod's limits; huge pages the reverse."""
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
