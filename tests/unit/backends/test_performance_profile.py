"""Mode performanceProfile: the profile of a plan, and what no profile can say."""

from typing import Any

import pytest
import yaml

from cpuplan import backends
from cpuplan.backends import openshift
from cpuplan.backends.openshift import checks, objects
from cpuplan.components.openshift.performanceprofile import SNIPPET
from cpuplan.plan import Plan
from tests.machines.plans import no_position, plan, regular

TARGET: dict[str, Any] = {
    "platform": "openshift",
    "version": "5.1",
    "target": {"mode": "performanceProfile"},
}


def spec_of(**given: Any) -> dict[str, Any]:
    profile: dict[str, Any] = objects.performance_profile(
        plan(regular(cores=8), spec=given, **TARGET)
    )["spec"]
    return profile


def test_the_profile_and_its_pool_are_all_that_is_written() -> None:
    kinds = [manifest.data["kind"] for manifest in openshift.manifests(plan(**TARGET))]
    assert kinds == ["MachineConfigPool", "PerformanceProfile"]


def test_a_hosted_cluster_gets_the_profile_in_a_config_map() -> None:
    """openshift/hypershift: a NodePool names it in spec.tuningConfig."""
    target = {
        **TARGET,
        "target": {"mode": "performanceProfile", "controlPlaneTopology": "External"},
    }
    node = plan(regular(cores=8), **target)
    (manifest,) = openshift.manifests(node)
    data = manifest.data
    assert (manifest.file, data["kind"]) == ("10-configmap-ran.yaml", "ConfigMap")
    assert (data["metadata"]["name"], data["metadata"]["namespace"]) == ("ran", "clusters")
    held = yaml.safe_load(data["data"]["tuning"])
    assert held["metadata"] == {"name": "ran"}
    assert held["spec"] == objects.performance_profile(node)["spec"]


def test_nothing_is_written_for_paused_nodes() -> None:
    files = backends.tree(Plan((plan(spec={"paused": True}, **TARGET),)))
    assert [path for path in files if path.startswith(("clusters/", "nodes/"))] == []


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({}, "cpu", {"reserved": "0-1", "isolated": "2-7"}),
        ({"isolation": {"domain": True}}, "cpu",
         {"reserved": "0-1", "isolated": "2-7", "balanceIsolated": False}),
        ({"hugePages": {"pages": [{"size": "1G", "count": 2}]}}, "hugepages",
         {"defaultHugepagesSize": "1G", "pages": [{"size": "1G", "count": 2}]}),
        ({"kernel": {"realTime": True}}, "realTimeKernel", {"enabled": True}),
        ({"net": {"userLevelNetworking": True}}, "net", {"userLevelNetworking": True}),
    ],
)  # fmt: skip
def test_fields(given: dict[str, Any], field: str, value: object) -> None:
    assert spec_of(**given)[field] == value


def test_reserved_memory_is_the_snippets_unless_it_is_all_on_node_0() -> None:
    for reserved, has_snippet in (("0-1", False), ("4-5", True)):
        spec = {"kubelet": {"topologyManagerPolicy": "restricted"}}
        node = plan(regular(sockets=2, cores=4), reserved=reserved, spec=spec, **TARGET)
        annotations = objects.performance_profile(node)["metadata"]["annotations"]
        assert (SNIPPET in annotations) is has_snippet


def test_open_v_switch_has_a_field_and_an_annotation() -> None:
    spec = {"openVSwitch": {"dpdk": True, "loadBalancing": False}}
    node = plan(regular(cores=8), isolcpus="4", spec=spec, **TARGET)
    profile = objects.performance_profile(node)
    assert profile["spec"]["cpu"]["ovsDpdk"] == "4"
    name = "performance.openshift.io/cpu-load-balancing-ovs-dpdk"
    assert profile["metadata"]["annotations"][name] == "disable"


def test_a_field_is_explained_by_the_statement_behind_it() -> None:
    node = plan(spec={"kubelet": {"configuration": {"maxPods": 100}}}, **TARGET)
    reasons = {setting.key: setting.reasons for setting in node.settings.of("performanceprofile")}
    assert reasons["cpu.reserved"] == node.pool("reserved").because
    origins = [reason.origin for reason in reasons[f"annotations.{SNIPPET}"]]
    assert origins == [
        "Intent/ran:spec.targets.0.mode",
        "Intent/ran:spec.kubelet.configuration.maxPods",
    ]


def test_no_setting_of_a_profile_in_mode_mco() -> None:
    assert not plan().settings.of("performanceprofile")


def test_interrupts_are_an_argument() -> None:
    node = plan(
        spec={"isolation": {"irqAffinity": True}, "kernel": {"extraArguments": ["quiet"]}}, **TARGET
    )
    assert list(checks.check_profile(node, no_position)) == []
    arguments = objects.performance_profile(node)["spec"]["additionalKernelArgs"]
    assert arguments == ["quiet", f"irqaffinity={node.pool('reserved').cpus}"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"isolation": {"managedIrq": False}}, "isolation.managedIrq is false"),
        ({"isolation": {"nohzFull": False}}, "isolation.nohzFull is false"),
        ({"isolation": {"rcuNocbs": False}}, "isolation.rcuNocbs is false"),
        (
            {"kubelet": {"cpuManagerReconcilePeriod": "10s"}},
            "kubelet.cpuManagerReconcilePeriod is 10s",
        ),
        ({"runtime": {"handler": "fast"}}, "runtime.handler is fast"),
        ({"kubelet": {"cpuManagerPolicy": "none"}}, "kubelet.cpuManagerPolicy is none"),
        (
            {"runtime": {"containersLimit": 8}},
            "runtime.containersLimit is 8; with a PerformanceProfile it is always 256",
        ),
    ],
)
def test_no_place(given: dict[str, Any], field: str) -> None:
    (finding,) = checks.check_profile(plan(spec=given, **TARGET), no_position)
    assert finding.code == "CP548"
    assert field in finding.message
    other = {**TARGET, "target": {"mode": "mco"}}
    assert list(checks.check_profile(plan(spec=given, **other), no_position)) == []


def test_cpus_of_isolcpus_are_those_of_the_switch() -> None:
    """A profile has the isolated CPUs of Open vSwitch, and no other CPUs for isolcpus."""
    node = plan(isolated="4-7", isolcpus="2-3", **TARGET)
    (finding,) = checks.check_profile(node, no_position)
    assert "pools.isolcpus is 2-3" in finding.message


@pytest.mark.parametrize(
    ("net", "codes"),
    [
        ({}, []),
        ({"receivePacketSteering": True}, []),
        ({"receivePacketSteering": False}, ["CP548"]),
    ],
)
def test_an_old_operator_steers_packets_whatever_a_profile_says(
    net: dict[str, bool], codes: list[str]
) -> None:
    node = plan(**{**TARGET, "version": "4.18"}, spec={"net": net})
    assert [finding.code for finding in checks.check_profile(node, no_position)] == codes


def test_one_label_has_a_place_in_a_profile() -> None:
    labels = {"nodeSelector": {"a/b": "c"}, "machineConfigLabel": {"d/e": ""}}
    node = plan(platform="openshift", version="5.1", target={**TARGET["target"], **labels})
    assert list(checks.check_profile(node, no_position)) == []


def test_several_labels_of_a_pool_are_left_to_the_operator() -> None:
    """The webhook takes one label; without any, the operator selects by all labels of the pool."""
    for labels, is_written in (({"a/b": "c"}, True), ({"a/b": "c", "d": ""}, False)):
        target = {**TARGET["target"], "pool": "ran", "machineConfigPoolSelector": labels}
        node = plan(platform="openshift", version="5.1", target=target)
        pool, made = (manifest.data for manifest in openshift.manifests(node))
        assert pool["metadata"]["labels"].items() >= labels.items()
        assert made["spec"].get("machineConfigPoolSelector") == (labels if is_written else None)
        assert list(checks.check_profile(node, no_position)) == []


@pytest.mark.parametrize("field", ["nodeSelector", "machineConfigLabel"])
def test_a_profile_has_one_label(field: str) -> None:
    target = {**TARGET["target"], field: {"a/b": "c", "d": ""}}
    (finding,) = checks.check_profile(
        plan(platform="openshift", version="5.1", target=target), no_position
    )
    assert (finding.code, f"targets.0.{field} is a/b=c, d=; with" in finding.message) == (
        "CP548",
        True,
    )


@pytest.mark.parametrize(
    ("pools", "named"), [({"isolated": ""}, "isolated"), ({"reserved": ""}, "reserved")]
)
def test_a_profile_without_cpus_is_refused(pools: dict[str, Any], named: str) -> None:
    """The CRD requires both lists (facts/nto.md 3)."""
    node = plan(regular(cores=4), **pools, **TARGET)
    findings = [
        finding for finding in checks.check_profile(node, no_position) if finding.code == "CP564"
    ]
    assert [finding.message for finding in findings] == [
        f"pools.{named} has no CPU, but a PerformanceProfile must have some"
    ]
