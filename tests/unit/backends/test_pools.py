"""What nodes get from all MachineConfigs of a cluster, and what contradicts their plan."""

from collections.abc import Mapping
from typing import Any

import pytest

from cpuplan.backends import configure
from cpuplan.backends.base import to_file
from cpuplan.backends.openshift import checks as of_others
from cpuplan.backends.openshift import merged, objects
from cpuplan.components.openshift.machineconfig import ROLE
from cpuplan.language.model.cluster import ClusterSpec
from cpuplan.plan import ConfiguredPlan, Kept
from cpuplan.upstream.mco.kubelet_config_controller import KUBELET_CONF, NODE_SIZING
from tests.machines.plans import plan

PAGES = {"hugePages": {"defaultSize": "1G", "pages": [{"size": "1G", "count": 4}]}}


def of_intent(
    name: str,
    pool: str,
    isolated: str,
    version: str = "4.20",
    spec: Mapping[str, Any] | None = None,
    **target: Any,
) -> ConfiguredPlan:
    made = plan(isolated=isolated, version=version, spec=spec, target={"pool": pool, **target})
    made.node_class.intent = name
    return configure(made)


def rendered(*plans: ConfiguredPlan) -> dict[str, merged.Pool]:
    return {pool.plan.node_class.intent: pool for pool in merged.of_cluster(plans)}


def inherited(pool: merged.Pool) -> list[str]:
    return [item.what for item in of_others.inherited(pool)]


def test_a_custom_pool_has_nothing_of_the_workers_plan() -> None:
    """Its selector leaves out what is marked as the worker's, which the pool worker still takes."""
    general, fast = of_intent("general", "worker", "4-7"), of_intent("fast", "fast", "2-7")
    pools = rendered(general, fast)
    of_workers = "99-worker-generated-kubelet"
    of_fast = ("50-performance-fast", "99-fast-generated-kubelet")
    assert pools["fast"].rendered.order == (of_workers, *of_fast)
    assert pools["general"].rendered.order == ("50-performance-general", of_workers)
    assert "isolcpus=managed_irq,2-7" in pools["fast"].rendered.kernel_arguments
    assert [inherited(pool) for pool in pools.values()] == [[], []]


def test_a_profile_of_workers_reaches_custom_pools() -> None:
    """The operator labels its MachineConfigs with the role only (rules 1 to 4)."""
    profile: dict[str, Any] = {"mode": "performanceProfile"}
    general = of_intent("general", "worker", "4-7", **profile)
    fast = of_intent("fast", "fast", "2-7", **profile)
    pools = rendered(general, fast)
    arguments = pools["fast"].rendered.kernel_arguments
    assert arguments.index("isolcpus=managed_irq,4-7") < arguments.index("isolcpus=managed_irq,2-7")
    assert "isolcpus=managed_irq,4-7" in inherited(pools["fast"])
    assert inherited(pools["general"]) == []


def test_equal_profiles_contradict_nothing() -> None:
    profile: dict[str, Any] = {"mode": "performanceProfile"}
    general = of_intent("general", "worker", "2-7", **profile)
    fast = of_intent("fast", "fast", "2-7", **profile)
    assert inherited(rendered(general, fast)["fast"]) == []


@pytest.mark.parametrize(
    ("change", "is_told"),
    [
        ({}, False),
        ({"mode": 0o600}, True),
        ({"contents": {"source": "data:,other"}}, True),
        ({"path": "/etc/other"}, True),
    ],
)
def test_a_file_of_another_class_must_be_the_same(change: Mapping[str, Any], is_told: bool) -> None:
    """A later object of another class, of which the mode and the contents count too."""
    profile: dict[str, Any] = {"mode": "performanceProfile"}
    general = of_intent("general", "worker", "4-7", **profile)
    pool = rendered(general, of_intent("fast", "fast", "2-7", **profile))["fast"]
    own = next(source for source in pool.sources if source.config.name == "50-performance-fast")
    other = next(
        source for source in pool.sources if source.config.name == "50-performance-general"
    )
    file = {**own.data["spec"]["config"]["storage"]["files"][0], **change}
    spec = {"config": {"storage": {"files": [file]}}, "kernelArguments": []}
    later = other._replace(data={**other.data, "spec": spec})
    told = inherited(pool._replace(sources=(*pool.sources, later)))
    assert (file["path"] in told) is is_told


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
        ({"kernelArguments": ["skew-tick=0"]}, ["skew-tick=0"]),
        ({"kernelArguments": ["hugepagesz=1G", "hugepages=4"]}, []),
        ({"kernelArguments": ["hugepagesz=1G", "hugepages=5"]}, ["hugepagesz=1G hugepages=5"]),
        ({"kernelArguments": ["hugepagesz=2M", "hugepages=5"]}, []),
        ({"kernelArguments": ["hugepages=5"]}, ["hugepages=5"]),
        ({"kernelArguments": ["nosmt"]}, []),  # the machine has one thread to a core
        ({"kernelArguments": ["maxcpus=4"]}, ["maxcpus=4"]),
        ({"kernelArguments": ["cgroup_disable=cpuset"]}, ["cgroup_disable=cpuset"]),
        ({"kernelArguments": ["isolcpus=2-7"]}, []),  # a warning: the flags differ
        ({"kernelArguments": ["--"]}, ["--"]),
        ({"kernelArguments": ['console="ttyS0']}, ['console="ttyS0']),
        ({"kernelType": "realtime"}, ["kernelType realtime"]),
        ({"files": [objects.CRIO_DROP_IN, "/etc/motd"]}, [objects.CRIO_DROP_IN]),
        ({"files": [KUBELET_CONF]}, []),
        ({"units": ["chronyd.service"]}, []),
    ],
)
def test_objects_that_cpuplan_does_not_write(facts: dict[str, Any], expected: list[str]) -> None:
    """What the plan does not set is added; what it sets must be the same."""
    config = {"name": "60-fast", "labels": {ROLE: "fast"}, **facts}
    fast = of_intent("fast", "fast", "2-7", spec=PAGES)
    fast.node_class.cluster_facts = ClusterSpec.model_validate({"machineConfigs": [config]})
    assert inherited(rendered(fast)["fast"]) == expected


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (["quiet", "nosmt"], [(0, "quiet"), (1, "nosmt")]),
        (["hugepagesz=1G"], [(0, "hugepagesz=1G")]),
        (["hugepagesz=1G", "quiet"], [(0, "hugepagesz=1G"), (1, "quiet")]),
        (
            ["hugepagesz=2M", "hugepagesz=1G", "hugepages=4", "hugepages=5", "quiet"],
            [
                (0, "hugepagesz=2M"),
                (1, "hugepagesz=1G hugepages=4"),
                (3, "hugepages=5"),
                (4, "quiet"),
            ],
        ),
    ],
)
def test_a_size_of_pages_is_told_with_its_number(
    arguments: list[str], phrases: list[tuple[int, str]]
) -> None:
    assert list(of_others._phrases(arguments)) == phrases


def test_one_text_may_have_several_arguments() -> None:
    """The operator passes a text with blanks on as it is."""
    config = {"name": "60-fast", "labels": {ROLE: "fast"}, "kernelArguments": ["quiet isolcpus=5"]}
    fast = of_intent("fast", "fast", "2-7")
    fast.node_class.cluster_facts = ClusterSpec.model_validate({"machineConfigs": [config]})
    [item] = of_others.inherited(rendered(fast)["fast"])
    assert (item.what, item.place) == ("quiet isolcpus=5", "machineConfigs.0.kernelArguments.0")


def test_the_place_of_a_kubeletconfig_is_its_name() -> None:
    selector = {"matchLabels": {"pools.operator.machineconfiguration.openshift.io/worker": ""}}
    config = {"name": "pods", "machineConfigPoolSelector": selector}
    fast = of_intent("fast", "fast", "2-7", version="4.14")
    fast.node_class.cluster_facts = ClusterSpec.model_validate({"kubeletConfigs": [config]})
    places = {item.place for item in of_others.inherited(rendered(fast)["fast"])}
    assert places == {"kubeletConfigs.0.name"}


def test_a_kubeletconfig_of_the_control_plane_is_not_for_workers() -> None:
    selector = {"matchLabels": {"pools.operator.machineconfiguration.openshift.io/master": ""}}
    config = {"name": "pods", "machineConfigPoolSelector": selector}
    fast = of_intent("fast", "fast", "2-7", version="4.14")
    fast.node_class.cluster_facts = ClusterSpec.model_validate({"kubeletConfigs": [config]})
    assert inherited(rendered(fast)["fast"]) == []


def test_a_paused_pool_selects_what_its_kept_object_does() -> None:
    """And nothing new is expected of it."""
    running = of_intent("fast", "fast", "2-7")
    made = objects.machine_config_pool(running)
    expression = {"key": ROLE, "operator": "In", "values": ["fast"]}
    made["spec"]["machineConfigSelector"] = {"matchExpressions": [expression]}
    folder = "clusters/site-a/manifests"
    files = {
        f"{folder}/00-machineconfigpool-fast.yaml": to_file(made),
        f"{folder}/10-machineconfig-fast.yaml": to_file(objects.machine_config(running)),
    }
    paused = of_intent("fast", "fast", "4-7", spec={"paused": True})
    paused.kept = Kept({}, files)
    general = of_intent("general", "worker", "4-7")
    pool = rendered(general, paused)["fast"]
    assert "50-performance-fast" in pool.rendered.order
    assert "99-worker-generated-kubelet" not in pool.rendered.order
    assert "isolcpus=managed_irq,2-7" in pool.rendered.kernel_arguments
    expected = merged.expected_files([general, paused])
    assert {key: list(files) for key, files in expected.items()} == {
        general.node_class.key: ["pools/worker.json"]
    }


def test_a_paused_class_of_which_nothing_was_compiled_has_no_pool() -> None:
    never = of_intent("fast", "fast", "2-7", spec={"paused": True})
    assert list(rendered(of_intent("general", "worker", "4-7"), never)) == ["general"]


def test_of_another_class_every_argument_counts() -> None:
    """Also those that the own plan does not have."""
    profile: dict[str, Any] = {"mode": "performanceProfile"}
    general = of_intent("general", "worker", "2-7", spec=PAGES, **profile)
    fast = of_intent("fast", "fast", "2-7", **profile)
    assert "hugepagesz=1G hugepages=4" in inherited(rendered(general, fast)["fast"])


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
    own = ("50-performance-fast", "99-fast-generated-kubelet")
    assert pool.rendered.order == ("99-worker", *own)
    assert inherited(pool) == []
    assert merged.expected(pool)["files"][objects.CRIO_DROP_IN] == "50-performance-fast"


def test_a_later_file_of_the_kubelet_counts() -> None:
    """An object beside the operator's own, in the same pool."""
    config = {"name": "99-own", "labels": {ROLE: "fast"}, "files": [KUBELET_CONF]}
    fast = of_intent("fast", "fast", "2-7")
    fast.node_class.cluster_facts = ClusterSpec.model_validate({"machineConfigs": [config]})
    assert inherited(rendered(fast)["fast"]) == [KUBELET_CONF]


@pytest.mark.parametrize(
    ("version", "pool", "expected"),
    [
        ("4.14", "fast", [KUBELET_CONF, NODE_SIZING]),
        ("4.14", "worker-cnf", [KUBELET_CONF, NODE_SIZING]),
        ("4.14", "worker-rt", []),
        ("4.15", "fast", []),
    ],
)
def test_the_kubelet_configuration_of_workers_comes_last_before_4_15(
    version: str, pool: str, expected: list[str]
) -> None:
    """All objects by name: `99-worker-generated-kubelet` after `99-fast-generated-kubelet`."""
    general = of_intent("general", "worker", "4-7", version)
    fast = of_intent("fast", pool, "2-7", version)
    assert inherited(rendered(general, fast)["fast"]) == expected


def test_reserved_memory_of_workers_is_inherited() -> None:
    """Only a KubeletConfig with systemReserved writes the file that has it."""
    off: dict[str, Any] = {"kubelet": {"systemReserved": {}}}
    general = of_intent("general", "worker", "2-7")
    fast = of_intent("fast", "fast", "2-7", spec=off)
    assert inherited(rendered(general, fast)["fast"]) == [NODE_SIZING]


def test_a_foreign_kubelet_configuration_of_workers_comes_last_before_4_15() -> None:
    label = "pools.operator.machineconfiguration.openshift.io/worker"
    config = {"name": "k", "machineConfigPoolSelector": {"matchLabels": {label: ""}}}
    fast = of_intent("fast", "fast", "2-7", "4.14")
    fast.node_class.cluster_facts = ClusterSpec.model_validate({"kubeletConfigs": [config]})
    assert inherited(rendered(fast)["fast"]) == [KUBELET_CONF]


def test_equal_profiles_of_tuned_are_needed() -> None:
    """The operator gives both the same priority, and may choose either for a custom pool."""
    profile: dict[str, Any] = {"mode": "performanceProfile"}
    network = {"net": {"userLevelNetworking": True}}
    general = of_intent("general", "worker", "2-7", spec=network, **profile)
    of_profile = of_intent("fast", "fast", "2-7", **profile)
    name = "the profile openshift-node-performance-general of TuneD"
    assert inherited(rendered(general, of_profile)["fast"]) == [name]
    of_mco = of_intent("fast", "fast", "2-7", spec=network)
    assert inherited(rendered(general, of_mco)["fast"]) == [name]


def test_the_defaults_of_workload_partitioning_are_nobodys() -> None:
    """Every class of a cluster writes the same objects for the same pools."""
    general = of_intent("general", "worker", "4-7", cpuPartitioning=True)
    fast = of_intent("fast", "fast", "2-7", cpuPartitioning=True)
    assert [inherited(pool) for pool in rendered(general, fast).values()] == [[], []]
