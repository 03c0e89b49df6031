"""What an intent becomes in the words of Koordinator's releases."""

import json
from typing import Any

import pytest
import yaml

from cpuplan.components import nrt
from cpuplan.components.checks import koordinator
from cpuplan.components.koordinator import colocation, node, scheduler, slo
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import plain
from cpuplan.upstream.koordinator.extension import releases
from cpuplan.upstream.koordinator.nodenumaresource.scoring import read_args
from tests.machines.plans import no_position, plan, regular

DUAL = regular(sockets=2, cores=4, threads=2)  # node 0: 0-3,8-11; node 1: 4-7,12-15
NODE = "node.koordinator.sh/"


def planned(release: str = "1.8", **fields: Any) -> ConfiguredPlan:
    given = {name: fields.pop(name) for name in ("reserved", "isolcpus", "sets") if name in fields}
    return plan(
        DUAL,
        platform="kubernetes",
        version="1.35",
        target={"mechanism": "koordinator", "koordinator": release},
        spec={**fields.pop("spec", {}), "koordinator": fields},
        **{"reserved": "0,8", **given},
    )


def node_of(made: ConfiguredPlan) -> dict[str, dict[str, str]]:
    return node.metadata(made.settings.of(node.NAME))


def kubelet_of(made: ConfiguredPlan) -> dict[str, Any]:
    return {key: plain(value) for key, value in made.settings.values("kubelet").items()}


def test_without_the_mechanism_there_is_nothing() -> None:
    made = plan(DUAL, platform="kubernetes", version="1.35")
    names = (node.NAME, scheduler.NAME, slo.NAME, colocation.NAME)
    assert [name for name in names if made.settings.of(name)] == []


def test_the_kubelet_gives_out_no_cpus_unless_the_intent_says_so() -> None:
    assert kubelet_of(planned())["cpuManagerPolicy"] == "none"
    given = planned(spec={"kubelet": {"cpuManagerPolicy": "static"}})
    assert kubelet_of(given)["cpuManagerPolicy"] == "static"


@pytest.mark.parametrize(("release", "is_on"), [("1.2", False), ("1.3", True), ("1.8", True)])
def test_runtimes_let_koordlet_change_containers(release: str, *, is_on: bool) -> None:
    assert ("crio.nri.enable_nri" in planned(release).settings.values("crio")) is is_on


def test_what_the_kubelet_reserves_is_reserved_once() -> None:
    made = planned(isolcpus="7,15")
    reservation = json.loads(node_of(made)["annotations"][f"{NODE}reservation"])
    assert reservation == {"reservedCPUs": "0,7-8,15", "applyPolicy": "ReservedCPUsOnly"}
    assert kubelet_of(made)["reservedSystemCPUs"] == reservation["reservedCPUs"]


def test_system_pods_have_a_partition_of_the_reserved_cpus() -> None:
    made = planned(
        reserved="0-1,8-9", sets={"reserved.daemons": "1,9"}, systemQos="reserved.daemons"
    )
    annotation = node_of(made)["annotations"][f"{NODE}system-qos-resource"]
    assert json.loads(annotation) == {"cpuset": "1,9", "cpusetExclusive": True}
    assert node.pods_text(made, "reserved.daemons") == "those of the class SYSTEM"
    assert node.pods_text(made, "reserved") == ""


@pytest.mark.parametrize(
    ("release", "label"),
    [
        ("1.8", f"{NODE}numa-topology-policy"),
        ("1.4", f"{NODE}numa-topology-policy"),
        ("proposal", f"{NODE}numa-topology-alignment-policy"),
    ],
)
def test_the_label_of_alignment_has_the_name_of_the_release(release: str, label: str) -> None:
    assert node_of(planned(release, numaTopologyPolicy="BestEffort"))["labels"] == {
        label: "BestEffort"
    }


def test_the_node_of_the_proposal() -> None:
    """The example of the section Node CPU orchestration API."""
    made = planned(
        "proposal",
        cpuBindPolicy="FullPCPUsOnly",
        numaTopologyPolicy="BestEffort",
        numaAllocateStrategy="MostAllocated",
    )
    assert node_of(made) == {
        "labels": {
            "node.koordinator.sh/cpu-bind-policy": "FullPCPUsOnly",
            "node.koordinator.sh/numa-topology-alignment-policy": "BestEffort",
            "node.koordinator.sh/numa-allocate-strategy": "MostAllocated",
        }
    }


@pytest.mark.parametrize("release", ["proposal", "1.2", "1.8"])
def test_the_pod_of_the_proposal(release: str) -> None:
    """The example of the section Resource spec; its resource-status is the scheduler's."""
    made = planned(
        release,
        workloads=[
            {
                "name": "test-pod",
                "matchLabels": {"app": "test"},
                "qosClass": "LSR",
                "preferredCPUBindPolicy": "SpreadByPCPUs",
                "preferredCPUExclusivePolicy": "PCPULevel",
            }
        ],
    )
    (workload,) = made.settings.of(colocation.NAME)
    pod = colocation.pod(workload)
    assert pod["metadata"]["name"] == "test-pod"
    assert {key: json.loads(text) for key, text in pod["metadata"]["annotations"].items()} == {
        "scheduling.koordinator.sh/resource-spec": {
            "preferredCPUBindPolicy": "SpreadByPCPUs",
            "preferredCPUExclusivePolicy": "PCPULevel",
        }
    }


def test_the_node_resource_topology_of_the_proposal() -> None:
    """The example of the section NodeResourceTopology CRD, on a machine without pods."""
    kubelet = {
        "cpuManagerPolicy": "static",
        "cpuManagerPolicyOptions": {
            "full-pcpus-only": "true",
            "distribute-cpus-across-numa": "true",
        },
        "topologyManagerPolicy": "single-numa-node",
        "topologyManagerScope": "pod",
    }
    made = nrt.node_resource_topology(planned("proposal", spec={"kubelet": kubelet}))
    annotations = {key: json.loads(text) for key, text in made["metadata"]["annotations"].items()}
    manager = annotations.pop("kubelet.koordinator.sh/cpu-manager-policy")
    assert (manager["policy"], manager["options"]) == ("static", kubelet["cpuManagerPolicyOptions"])
    names = ("cpu-topology", "cpu-shared-pools", "pod-cpu-allocs")
    assert annotations.keys() == {f"{NODE}{name}" for name in names}
    assert annotations[f"{NODE}cpu-topology"]["detail"][0] == {
        "id": 0,
        "core": 0,
        "socket": 0,
        "node": 0,
    }
    assert made["apiVersion"] == "topology.node.k8s.io/v1alpha1"
    assert made["topologyPolicies"] == ["SingleNUMANodePodLevel"]


def test_release_1_2_knows_no_apply_policy() -> None:
    annotation = node_of(planned("1.2"))["annotations"][f"{NODE}reservation"]
    assert json.loads(annotation) == {"reservedCPUs": "0,8"}


def test_batch_pods_have_the_priority_of_their_class() -> None:
    workloads = [
        {"name": "a", "matchLabels": {"app": "a"}, "qosClass": "BE"},
        {"name": "b", "matchLabels": {"app": "b"}, "qosClass": "LS"},
        {
            "name": "c",
            "matchLabels": {"app": "c"},
            "qosClass": "LS",
            "priorityClassName": "koord-mid",
        },
    ]
    made = planned(workloads=workloads)
    profiles = [plain(setting.value) for setting in made.settings.of(colocation.NAME)]
    assert [profile["priorityClassName"] for profile in profiles] == [
        "koord-batch",
        "koord-prod",
        "koord-mid",
    ]


def test_suppression_is_enabled_with_its_values() -> None:
    made = planned(cpuSuppressThresholdPercent=70)
    assert slo.strategies(made.settings.of(slo.NAME)) == {
        "resource-threshold-config": {"enable": True, "cpuSuppressThresholdPercent": 70}
    }
    assert node_of(made)["labels"] == {"cpuplan.io/intent": "ran"}


@pytest.mark.parametrize("release", releases.RELEASES)
def test_the_configuration_keeps_what_the_chart_has(release: tuple[int, int]) -> None:
    made = scheduler.scheduler_configuration(release, {"defaultCPUBindPolicy": "FullPCPUs"})
    (profile,) = made["profiles"]
    enabled = {
        plugin["name"]
        for point in profile["plugins"].values()
        for plugin in (*point["enabled"], *point.get("disabled", ()))
    }
    configs = {config["name"]: config["args"] for config in profile["pluginConfig"]}
    # NodeResourcesFit is one of Kubernetes' own, which are enabled by default
    assert configs.keys() - enabled == {"NodeResourcesFit"}
    assert configs["NodeNUMAResource"] == {
        "apiVersion": made["apiVersion"],
        "kind": "NodeNUMAResourceArgs",
        "defaultCPUBindPolicy": "FullPCPUs",
    }


def test_a_strategy_always_names_resources() -> None:
    """koord-scheduler scores none that are not named (read_args)."""
    made = planned(scheduler={"scoringStrategy": {"type": "MostAllocated"}})
    args = read_args(scheduler.arguments(made.settings.of(scheduler.NAME)))
    assert args.scoring.resources == read_args({}).scoring.resources != ()


def test_a_node_of_a_cluster_is_read_back() -> None:
    """With what others write there."""
    made = planned(cpuBindPolicy="SpreadByPCPUs")
    data = node.document(made.settings.of(node.NAME))
    data["metadata"]["labels"]["kubernetes.io/hostname"] = "worker-0"
    data["metadata"]["annotations"][f"{NODE}raw-allocatable"] = "no JSON"
    values = node.parse(yaml.safe_dump(data))
    other = values.pop(f"{NODE}raw-allocatable")
    assert (values, other) == (made.settings.values(node.NAME), "no JSON")


def messages(*plans: ConfiguredPlan) -> list[str]:
    return [finding.message for finding in koordinator.check_cluster(plans, no_position)]


def other(release: str = "1.8", **fields: Any) -> ConfiguredPlan:
    made = planned(release, **fields)
    made.node_class.intent = "other"
    return made


def test_a_cluster_has_one_release_and_one_scheduler() -> None:
    packed = {"scoringStrategy": {"type": "MostAllocated"}}
    spread = {"scoringStrategy": {"type": "LeastAllocated"}}
    assert messages(planned(scheduler=packed), other(scheduler=packed)) == []
    assert messages(planned(scheduler=packed), other()) == []
    assert messages(planned(scheduler=packed), other(scheduler=spread)) == [
        "cluster site-a: ran and other have different arguments of koord-scheduler"
    ]
    assert messages(planned("1.8"), other("1.7")) == [
        "cluster site-a: ran and other have different releases of Koordinator"
    ]


def test_profiles_of_two_intents_have_different_names() -> None:
    first = planned(workloads=[_web("b-c")])
    second = planned(workloads=[_web("c")])
    second.node_class.intent = "ran-b"
    assert messages(first, second) == [
        "cluster site-a: ran and ran-b have different profiles of the name ran-b-c"
    ]


def _web(name: str) -> dict[str, Any]:
    return {"name": name, "matchLabels": {"app": "web"}, "qosClass": "LS"}
