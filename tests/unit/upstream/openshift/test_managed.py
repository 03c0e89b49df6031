"""Static pods that become managed, by the kubelet of each release."""

import pytest

from cpuplan.upstream.kubernetes.pod import CPU, Pod
from cpuplan.upstream.openshift.managed import WARNING, modify_static_pod
from tests.unit.upstream.openshift.test_managementcpusoverride import (
    CORES,
    TARGET,
    memory,
    pod,
    told,
)

VALUE = "{}"  # kept as it is


def static(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> Pod:
    return pod(requests, limits, {TARGET: VALUE})


@pytest.mark.parametrize(
    ("limits", "shares"),
    [({}, '{"cpushares":256}'), ({"cpu": "1"}, '{"cpushares":256,"cpulimit":1000}')],
)
def test_requests_become_the_resource(limits: dict[str, str], shares: str) -> None:
    stored = modify_static_pod(static(memory("250m"), limits))
    assert stored.annotations == {**told(shares), TARGET: VALUE}
    for container in stored.all_containers:
        assert CPU not in {**container.requests, **container.limits}
        assert str(container.limits[CORES]) == str(container.requests[CORES]) == "250"


def test_guaranteed_ones_are_not_managed() -> None:
    stored = modify_static_pod(static(memory("1"), memory("1")))
    assert list(stored.annotations) == [WARNING]
    assert CPU in stored.containers[0].requests


def test_kubelets_before_1_29_keep_limits_and_look_at_guaranteed_pods() -> None:
    given = static(memory("1"), memory("1"))
    stored = modify_static_pod(given, (1, 28))
    assert stored.annotations == {**told('{"cpushares":1024}'), TARGET: VALUE}
    assert str(stored.containers[0].limits[CPU]) == "1"
    assert CPU not in stored.containers[0].requests


def test_what_cannot_be_changed_stays_and_is_still_pinned() -> None:
    for given in (static({"cpu": "1"}), static({"memory": "1Gi"})):
        assert modify_static_pod(given) == given


def test_containers_without_requests() -> None:
    """From 1.33 on they keep no other container from being changed."""
    given = static(memory("1"))
    given = given._replace(init_containers=static().init_containers)
    assert modify_static_pod(given, (1, 32)) == given
    assert CORES in modify_static_pod(given, (1, 33)).containers[0].requests


def test_others_are_not_touched() -> None:
    given = pod(memory("1"), annotations={})
    assert modify_static_pod(given) == given
