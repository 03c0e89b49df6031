"""Pods of users, as Koordinator takes them."""

from typing import Any

import pytest

from cpuplan.facts.versions import Version
from cpuplan.upstream.koordinator.extension import constants, qos
from cpuplan.upstream.koordinator.extension.releases import LATEST
from tests.unit.simulate.koordinatorfiles.given import found, pod

LIMITS = {"limits": {"cpu": 2, "memory": "1Gi"}}
PROD = {"priorityClassName": qos.PROD}


def _profile(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "config.koordinator.sh/v1alpha1",
        "kind": "ClusterColocationProfile",
        "metadata": {"name": "web"},
        "spec": spec,
    }


@pytest.mark.parametrize(
    "given",
    [
        pod(),
        pod({constants.QOS: "LSR"}, **PROD),
        pod({constants.QOS: "LSR"}, containers=[{"name": "main", "resources": LIMITS}], **PROD),
        pod({constants.QOS: "BE", constants.PRIORITY_CLASS: "koord-batch"}),
        pod(
            {constants.QOS: "LSE"},
            {
                constants.RESOURCE_SPEC: {
                    "requiredCPUBindPolicy": "SpreadByPCPUs",
                    "preferredCPUExclusivePolicy": "PCPULevel",
                },
                constants.NUMA_TOPOLOGY_SPEC: {"numaTopologyPolicy": "SingleNUMANode"},
            },
            **PROD,
        ),
        pod(annotations={constants.RESOURCE_STATUS: {}}),
        pod(annotations={constants.RESOURCE_STATUS: {"cpuset": "2-3"}}, nodeName="worker-0"),
    ],
)
def test_pods_without_a_fault(given: Any) -> None:
    assert found(given) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            pod({constants.QOS: "LSR"}),
            "CP641: koord-manager refuses Pod web: Pod: Forbidden: koordinator.sh/qosClass=LSR",
        ),
        (
            pod({constants.QOS: "BE"}, **PROD),
            "CP641: koord-manager refuses Pod web: Pod: Forbidden: koordinator.sh/qosClass=BE",
        ),
        (
            pod({constants.QOS: "LSE"}, priority=5500),
            "CP645: koordinator.sh/qosClass of Pod web is LSE: with priority class koord-batch",
        ),
        (
            pod({constants.QOS: "lsr"}),
            "CP645: koordinator.sh/qosClass of Pod web is lsr: this is no class",
        ),
        (
            pod({constants.PRIORITY_CLASS: "gold"}),
            "CP645: koordinator.sh/priority-class of Pod web is gold",
        ),
        (
            pod({"koordinator.sh/qosclass": "LSR"}),
            "CP644: Koordinator 1.8 does not read koordinator.sh/qosclass of Pod web: names are",
        ),
        (
            pod({constants.CPU_BIND_POLICY: "FullPCPUsOnly"}),
            "CP644: Koordinator 1.8 does not read node.koordinator.sh/cpu-bind-policy of Pod web:",
        ),
        (
            pod(annotations={constants.RESOURCE_SPEC: "{"}),
            "CP640: scheduling.koordinator.sh/resource-spec of Pod web cannot be read",
        ),
        (
            pod(annotations={constants.RESOURCE_SPEC: {"bindPolicy": "FullPCPUs"}}),
            "CP644: Koordinator 1.8 does not read bindPolicy in scheduling",
        ),
        (
            pod(
                annotations={
                    constants.RESOURCE_SPEC: {"preferredCPUBindPolicy": "ConstrainedBurst"}
                }
            ),
            "CP645: preferredCPUBindPolicy of Pod web is ConstrainedBurst: no release",
        ),
        (
            pod(annotations={constants.RESOURCE_SPEC: {"requiredCPUBindPolicy": "Packed"}}),
            "CP645: requiredCPUBindPolicy of Pod web is Packed: this is no policy",
        ),
        (
            pod(annotations={constants.RESOURCE_SPEC: {"preferredCPUExclusivePolicy": "Default"}}),
            "CP645: preferredCPUExclusivePolicy of Pod web is Default: it is of the proposal",
        ),
        (
            pod(annotations={constants.RESOURCE_SPEC: {"preferredCPUExclusivePolicy": "Core"}}),
            "CP645: preferredCPUExclusivePolicy of Pod web is Core: this is no policy",
        ),
        (
            pod(
                annotations={
                    constants.RESOURCE_SPEC: {
                        "preferredCPUBindPolicy": "FullPCPUs",
                        "preferredCPUExclusivePolicy": "PCPULevel",
                    }
                }
            ),
            "CP645: preferredCPUExclusivePolicy of Pod web is PCPULevel: where whole cores",
        ),
        (
            pod(annotations={constants.NUMA_TOPOLOGY_SPEC: {"numaTopologyPolicy": "None"}}),
            "CP643: numaTopologyPolicy in scheduling.koordinator.sh/numa-topology-spec of Pod web",
        ),
        (
            pod(annotations={constants.NUMA_TOPOLOGY_SPEC: "[]"}),
            "CP640: scheduling.koordinator.sh/numa-topology-spec of Pod web",
        ),
        (
            pod(annotations={constants.RESOURCE_STATUS: {"numaNodeResources": [{"node": 1}]}}),
            "CP647: Pod web would be bound to CPUs of NUMA nodes 1",
        ),
        (
            pod(annotations={constants.RESOURCE_STATUS: "x"}),
            "CP640: scheduling.koordinator.sh/resource-status of Pod web",
        ),
        (pod({constants.QOS: 1}), "CP720: "),
        (pod("LSE"), "CP720: "),
        (
            _profile(qosClass="LSX", priorityClassName="koord-prod"),
            "CP645: qosClass of ClusterColocationProfile web is LSX: this is no class",
        ),
        (
            _profile(qosClass="LSR", priorityClassName="koord-mid"),
            "CP641: koord-manager refuses ClusterColocationProfile web: Pod: Forbidden",
        ),
        (
            _profile(qosClass="LSE", annotations={constants.RESOURCE_STATUS: '{"cpuset": "2-3"}'}),
            "CP647: ClusterColocationProfile web would be bound to CPUs 2-3",
        ),
    ],
)
def test_faults(given: Any, expected: str) -> None:
    messages = found(given)
    assert len(messages) == 1
    assert messages[0].startswith(expected)


@pytest.mark.parametrize(("release", "count"), [((1, 3), 2), ((1, 4), 1), ((1, 5), 0)])
def test_names_by_release(release: Version, count: int) -> None:
    given = pod(
        annotations={
            constants.RESOURCE_SPEC: {"requiredCPUBindPolicy": "FullPCPUs"},
            constants.NUMA_TOPOLOGY_SPEC: {"numaTopologyPolicy": "Restricted"},
        }
    )
    messages = found(given, release=release)
    assert len(messages) == count
    assert all(message.startswith("CP644") for message in messages)


def test_a_profile_may_give_pods_their_class() -> None:
    given = pod({constants.QOS: "LSR"})
    assert len(found(given)) == 1
    profile = _profile(qosClass="LSR", priorityClassName="koord-prod", selector={})
    assert found(given, profile) == []


def test_pods_of_workloads_and_lists() -> None:
    template = pod(annotations={constants.RESOURCE_STATUS: {"cpuset": "2"}})
    workload = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {"template": {"metadata": template["metadata"], "spec": template["spec"]}},
    }
    listed = {"apiVersion": "v1", "kind": "List", "items": [workload, {"kind": "Service"}]}
    assert [message[:35] for message in found(listed, release=LATEST)] == [
        "CP647: the pods of StatefulSet db w"
    ]
