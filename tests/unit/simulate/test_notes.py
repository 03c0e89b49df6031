"""What is said beside the outcome of a simulation."""

from typing import Any

import pytest

from cpuplan.simulate import devices, findings
from cpuplan.simulate.devices import Given
from cpuplan.upstream.kubernetes.pod import read_pod
from tests.machines.plans import plan, regular

EXCLUSIVE = {"limits": {"cpu": 2, "memory": "1Gi"}}
SHARED = {"requests": {"cpu": "500m"}}


@pytest.mark.parametrize(
    ("isolation", "resources", "is_said"),
    [
        ({}, SHARED, False),
        ({"domain": True}, EXCLUSIVE, False),
        ({"domain": True}, SHARED, True),
    ],
)
def test_load_that_the_kernel_does_not_balance(
    isolation: dict[str, Any], resources: dict[str, Any], is_said: bool
) -> None:
    node = plan(spec={"isolation": isolation})
    container = {"name": "a", "resources": resources}
    pod = read_pod({"metadata": {"name": "web"}, "spec": {"containers": [container]}})
    said = [text for text in findings.notes([node], [pod], Given()) if "balances no load" in text]
    assert bool(said) is is_said
    assert not said or "on CPUs 2-7 of class ran-server" in said[0]


@pytest.mark.parametrize(
    ("policy", "requests", "unknown"),
    [
        ("single-numa-node", {"nvidia.com/gpu": 1}, ["nvidia.com/gpu"]),
        (
            "best-effort",
            {"openshift.io/sriov_a": 1, "b.io/b": 2},
            ["b.io/b", "openshift.io/sriov_a"],
        ),
        ("none", {"nvidia.com/gpu": 1}, []),
        ("restricted", {"cpu": 2, "memory": "1Gi", "hugepages-2Mi": "2Mi"}, []),
        ("restricted", {"management.workload.openshift.io/cores": 100}, []),
        ("restricted", {"kubernetes.io/batch-cpu": 1000, "nvidia.com/gpu": 0}, []),
    ],
)
def test_devices_whose_numa_nodes_nobody_knows(
    policy: str, requests: dict[str, Any], unknown: list[str]
) -> None:
    node = plan(regular(sockets=2, cores=4), spec={"kubelet": {"topologyManagerPolicy": policy}})
    container = {"name": "a", "resources": {"limits": requests}}
    pod = read_pod({"metadata": {"name": "web"}, "spec": {"containers": [container]}})
    assert devices.unaligned([node], [pod], Given()) == unknown
    assert devices.unaligned([plan(regular())], [pod], Given()) == []
    said = [text for text in findings.notes([node], [pod], Given()) if "NUMA nodes of" in text]
    assert len(said) == bool(unknown)
