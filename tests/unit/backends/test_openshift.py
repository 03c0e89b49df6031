"""Objects of OpenShift, where the recorded ones say nothing of them."""

from typing import Any

import pytest

from cpuplan.backends.openshift import objects
from cpuplan.components.openshift import machineconfig, pinning, pool
from cpuplan.components.openshift.machineconfig import ROLE
from cpuplan.components.units import BIN, UNIT_FOLDER
from tests.machines.plans import plan


def settings(component: str, **target: Any) -> dict[str, Any]:
    return plan(target=target).settings.values(component)


@pytest.mark.parametrize(
    ("label", "roles"),
    [({}, ["worker", "cnf.v2"]), ({ROLE: "worker-cnf"}, ["worker", "cnf.v2", "worker-cnf"])],
)
def test_a_pool_takes_the_machine_configs_of_its_profile(
    label: dict[str, str], roles: list[str]
) -> None:
    """Those of the role in machineConfigLabel too, where that is not the pool's name."""
    node = plan(target={"pool": "cnf.v2", "machineConfigLabel": label})
    spec = objects.machine_config_pool(node)["spec"]
    selected, others = spec["machineConfigSelector"]["matchExpressions"]
    assert others == {"key": "cpuplan.io/pool", "operator": "NotIn", "values": ["worker"]}
    assert selected == {"key": ROLE, "operator": "In", "values": roles}


def test_a_built_in_pool_has_the_operators_label_and_its_own_selector() -> None:
    of_pool = settings(pool.NAME, pool="worker")
    assert of_pool[pool.LABELS] == {"pools.operator.machineconfiguration.openshift.io/worker": ""}
    assert pool.SELECTOR not in of_pool


def test_a_hosted_cluster_has_labels_of_nodes_only() -> None:
    target = {"mode": "performanceProfile", "controlPlaneTopology": "External"}
    assert list(settings(pool.NAME, **target)) == [pool.NODE_SELECTOR]
    assert list(settings(machineconfig.NAME, **target)) == [machineconfig.KERNEL_TYPE]


@pytest.mark.parametrize(
    ("kernel", "kernel_type", "origin"),
    [
        ({}, "default", "default"),
        ({"realTime": False}, "default", "Intent/ran:spec.kernel.realTime"),
        ({"realTime": True}, "realtime", "Intent/ran:spec.kernel.realTime"),
        ({"pageSize": "64k"}, "64k-pages", "Intent/ran:spec.kernel.pageSize"),
    ],
)
def test_the_kernel_and_why(kernel: dict[str, Any], kernel_type: str, origin: str) -> None:
    node = plan(spec={"kernel": kernel})
    (setting,) = (setting for setting in node.settings if setting.key == machineconfig.KERNEL_TYPE)
    assert (setting.value, setting.reasons[0].origin) == (kernel_type, origin)
    assert objects.machine_config(node)["spec"]["kernelType"] == kernel_type


def test_pools_that_get_the_defaults_of_workload_partitioning() -> None:
    target = {"cpuPartitioning": True, "pool": "ran", "pinnedPools": ["infra", "worker"]}
    node = plan(target=target)
    pools = pinning.pools(node.settings.of(pinning.NAME))
    assert pools == ("master", "worker", "ran", "infra")
    assert pinning.pools(()) == ()


@pytest.mark.parametrize(
    ("target", "label"),
    [
        ({"pool": "master"}, "node-role.kubernetes.io/control-plane"),
        ({"pool": "master", "mode": "performanceProfile"}, "node-role.kubernetes.io/master"),
        ({"pool": "master", "nodeSelector": {"zone": "a"}}, "zone"),
        ({"pool": "fast"}, "node-role.kubernetes.io/fast"),
    ],
)
def test_the_nodes_of_a_runtime_class(target: dict[str, Any], label: str) -> None:
    """Nodes of the control plane by today's label; the operator copies the profile's selector."""
    assert list(objects.runtime_class(plan(target=target))["scheduling"]["nodeSelector"]) == [label]


def test_scripts_of_the_operator_are_no_files_of_a_profile() -> None:
    """What it writes itself is not compiled twice; the files beside the scripts are."""
    spec = {"workloadHints": {"realTime": True}}
    own, of_profile = (
        objects.on_node(plan(spec=spec, target=target))
        for target in ({}, {"mode": "performanceProfile"})
    )
    assert any(path.startswith(f"{BIN}/") for path in own)
    assert not any(path.startswith(f"{BIN}/") for path in of_profile)
    assert {path for path in of_profile if not path.startswith(f"{UNIT_FOLDER}/")}
