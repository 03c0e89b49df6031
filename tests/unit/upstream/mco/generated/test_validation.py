"""Which KubeletConfigs and ContainerRuntimeConfigs are refused."""

from typing import Any

import pytest

from cpuplan.upstream.mco.common import McoError
from cpuplan.upstream.mco.controller_helpers import (
    validate_container_runtime_config,
    validate_kubelet_config,
    validate_static_pods,
)
from tests.unit.upstream.mco.objects import Json, pool


@pytest.mark.parametrize(
    "config",
    [
        {"cgroupDriver": "systemd"},
        {"clusterDNS": ["172.30.0.10"]},
        {"clusterDomain": "cluster.local"},
        {"featureGates": {"A": True}},
        {"failSwapOn": False},
        {"memorySwap": {"swapBehavior": "NoSwap"}},
        {"systemReservedCgroup": "/a", "systemCgroups": "/b"},
        {"maxPods": "many"},
        {"cpuManagerReconcilePeriod": "5 seconds"},
        {"ClusterDomain": "cluster.local"},
    ],
)
def test_refused_fields(config: Json) -> None:
    with pytest.raises(McoError):
        validate_kubelet_config({"kubeletConfig": config})


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"clusterDNS": [], "featureGates": {}, "memorySwap": {}},
        {"systemReservedCgroup": "/a"},
        {"cpuManagerPolicy": "sometimes", "reservedSystemCPUs": "0-", "maxPods": -1},
        {"staticPodPath": "/a"},
        {"noSuchField": 1},
    ],
)
def test_accepted_fields(config: Json) -> None:
    validate_kubelet_config({"kubeletConfig": config})


@pytest.mark.parametrize("level", [-1, 11])
def test_log_levels(level: int) -> None:
    validate_kubelet_config({"logLevel": 0})
    validate_kubelet_config({"logLevel": 10})
    with pytest.raises(McoError):
        validate_kubelet_config({"logLevel": level})


def test_reserved_by_hand_or_automatically() -> None:
    spec = {"kubeletConfig": {"systemReserved": {"cpu": "1"}}}
    validate_kubelet_config({**spec, "autoSizingReserved": False})
    with pytest.raises(McoError):
        validate_kubelet_config({**spec, "autoSizingReserved": True})


@pytest.mark.parametrize(
    ("config", "last"),
    [
        ({"failSwapOn": False}, (4, 20)),
        ({"memorySwap": {"swapBehavior": "NoSwap"}}, (4, 20)),
        ({"systemReservedCgroup": "/a", "systemCgroups": "/b"}, (4, 21)),
    ],
)
def test_older_releases_accept(config: Json, last: tuple[int, int]) -> None:
    validate_kubelet_config({"kubeletConfig": config}, last)
    with pytest.raises(McoError):
        validate_kubelet_config({"kubeletConfig": config}, (last[0], last[1] + 1))


def test_older_releases_refuse_a_static_pod_path() -> None:
    with pytest.raises(McoError):
        validate_kubelet_config({"kubeletConfig": {"staticPodPath": "/a"}}, (4, 22))
    validate_static_pods({"kubeletConfig": {"staticPodPath": ""}}, pool("master"), (4, 22))


def masters(**selector: Any) -> Json:
    return {"metadata": {"name": "cnf"}, "spec": {"nodeSelector": selector}}


@pytest.mark.parametrize(
    "control_plane",
    [
        pool("master"),
        pool("arbiter"),
        masters(matchLabels={"node-role.kubernetes.io/master": ""}),
        masters(matchExpressions=[{"key": "node-role.kubernetes.io/master", "operator": "Exists"}]),
    ],
)
def test_static_pods_of_the_control_plane(control_plane: Json) -> None:
    validate_static_pods({"kubeletConfig": {}}, control_plane)
    with pytest.raises(McoError):
        validate_static_pods({"kubeletConfig": {"staticPodPath": ""}}, control_plane)


def test_static_pods_of_workers() -> None:
    validate_static_pods({"kubeletConfig": {"staticPodPath": ""}}, pool())
    with pytest.raises(McoError):
        validate_static_pods({"kubeletConfig": {"staticPodPath": "/a"}}, pool())


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        ({"pidsLimit": 20}, {"pidsLimit": 19}),
        ({"pidsLimit": 0}, {"pidsLimit": -1}),
        ({"logSizeMax": "8193"}, {"logSizeMax": "8192"}),
        ({"logSizeMax": "-1"}, {"logSizeMax": "many"}),
        ({"overlaySize": "0"}, {"overlaySize": "-1G"}),
        ({"logLevel": "warn"}, {"logLevel": "warning"}),
        ({"defaultRuntime": ""}, {"defaultRuntime": "kata"}),
        (
            {"additionalImageStores": [{"path": "/a/b"}]},
            {"additionalImageStores": [{"path": "/a//b"}]},
        ),
        ({}, {"additionalLayerStores": [{"path": "a"}]}),
    ],
)
def test_container_runtime_configs(accepted: Json, refused: Json) -> None:
    validate_container_runtime_config({"containerRuntimeConfig": accepted})
    with pytest.raises(McoError):
        validate_container_runtime_config({"containerRuntimeConfig": refused})
