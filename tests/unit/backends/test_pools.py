"""What nodes get from all MachineConfigs of a cluster, and what contradicts their plan."""

from typing import Any

import pytest

from cpuplan.backends.openshift import merged, objects
from cpuplan.components.openshift.machineconfig import ROLE
from cpuplan.model.cluster import ClusterSpec
from cpuplan.plan import ConfiguredPlan
from tests.machines.plans import plan


def of_intent(name: str, pool: str, isolated: str, **target: Any) -> ConfiguredPlan:
    made = plan(isolated=isolated, version="4.20", target={"pool": pool, **target})
    made.node_class.intent = name
    return made


def rendered(*plans: ConfiguredPlan) -> dict[str, merged.Pool]:
    return {pool.plan.node_class.intent: pool for pool in merged.of_cluster(plans)}


def inherited(pool: merged.Pool) -> list[str]:
    return [item.what for item in merged.inherited(pool)]


def test_a_custom_pool_has_nothing_of_the_workers_plan() -> None:
    """Its selector leaves out what is marked as the worker's, which the pool worker still takes."""
    general, fast = of_intent("general", "worker", "4-7"), of_intent("fast", "fast", "2-7")
    pools = rendered(general, fast)
    assert pools["fast"].rendered.order == ("50-performance-fast",)
    assert pools["general"].rendered.order == ("50-performance-general",)
    assert "isolcpus=managed_irq,2-7" in pools["fast"].rendered.kernel_arguments
    assert [inherited(pool) for pool in pools.values()] == [[], []]


def test_a_profile_of_workers_reaches_custom_pools() -> None:
    """The operator labels its MachineConfigs with the role only (rules 1 to 4)."""
    profile = {"mode": "performanceProfile"}
    general = of_intent("general", "worker", "4-7", **profile)
    fast = of_intent("fast", "fast", "2-7", **profile)
    pools = rendered(general, fast)
    arguments = pools["fast"].rendered.kernel_arguments
    assert arguments.index("isolcpus=managed_irq,4-7") < arguments.index("isolcpus=managed_irq,2-7")
    assert "isolcpus=managed_irq,4-7" in inherited(pools["fast"])
    assert inherited(pools["general"]) == []


def test_equal_profiles_contradict_nothing() -> None:
    profile = {"mode": "performanceProfile"}
    general = of_intent("general", "worker", "2-7", **profile)
    fast = of_intent("fast", "fast", "2-7", **profile)
    assert inherited(rendered(general, fast)["fast"]) == []


def test_only_nodes_of_the_pool_worker_come_second_to_tuned() -> None:
    """Nodes of a custom pool match the labels of both (pkg/operator/profilecalculator.go)."""
    priorities = [
        objects.tuned_priority(of_intent("a", pool, "2-7")) for pool in ("worker", "fast", "master")
    ]
    assert priorities[0] > priorities[1] == priorities[2]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"kernelArguments": ["console=ttyS0"]}, []),
        ({"kernelArguments": ["isolcpus=managed_irq,2-7"]}, []),
        ({"kernelArguments": ["isolcpus=4-7"]}, ["isolcpus=4-7"]),
        ({"kernelArguments": ["skew_tick=0"]}, ["skew_tick=0"]),
        ({"kernelType": "realtime"}, ["kernelType realtime"]),
        ({"files": [objects.CRIO_DROP_IN, "/etc/motd"]}, [objects.CRIO_DROP_IN]),
        ({"units": ["chronyd.service"]}, []),
    ],
)
def test_objects_that_cpuplan_does_not_write(facts: dict[str, Any], expected: list[str]) -> None:
    """What the plan does not set is added; what it sets must be the same."""
    config = {"name": "60-fast", "labels": {ROLE: "fast"}, **facts}
    fast = of_intent("fast", "fast", "2-7")
    fast.node_class.cluster_facts = ClusterSpec.model_validate({"machineConfigs": [config]})
    assert inherited(rendered(fast)["fast"]) == expected


def test_of_two_files_the_later_object_counts() -> None:
    """A MachineConfig of the role worker comes before those of the custom pool, since 4.15."""
    config = {
        "name": "99-worker",
        "labels": {ROLE: "worker"},
        "files": [objects.CRIO_DROP_IN],
    }
    fast = of_intent("fast", "fast", "2-7")
    fast.node_class.cluster_facts = ClusterSpec.model_validate({"machineConfigs": [config]})
    pool = rendered(fast)["fast"]
    assert pool.rendered.order == ("99-worker", "50-performance-fast")
    assert inherited(pool) == []
    assert merged.expected(pool)["files"][objects.CRIO_DROP_IN] == "50-performance-fast"
