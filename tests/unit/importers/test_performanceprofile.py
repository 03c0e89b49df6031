"""PerformanceProfile to Intent: every field goes somewhere, or is named."""

from typing import Any

import pytest

from cpuplan.importers.performanceprofile import intent, parse_cpus
from cpuplan.intent import IntentSpec

SELECTOR = {"node-role.kubernetes.io/worker-cnf": ""}


def profile(spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """A profile with the required fields, `spec` over them."""
    required = {"cpu": {"reserved": "0-1", "isolated": "2-7"}, "nodeSelector": SELECTOR}
    return {
        "apiVersion": "performance.openshift.io/v2",
        "kind": "PerformanceProfile",
        "metadata": {"name": "ran-du", **metadata},
        "spec": required | spec,
    }


def test_minimal() -> None:
    data, left = intent(profile({}))
    assert data == {
        "apiVersion": "cpuplan.io/v1alpha1",
        "kind": "Intent",
        "metadata": {"name": "ran-du"},
        "spec": {
            "selector": {"matchLabels": SELECTOR},
            "targets": [{"platform": "openshift", "version": "5.1", "pool": "worker-cnf", "nodeSelector": SELECTOR}],
            "pools": {
                "reserved": {"cpus": "0-1", "wholeCores": False},
                "isolated": {"cpus": "2-7", "wholeCores": False},
            },
            "isolation": {"domain": False},
            "runtime": {"mixedCpus": False},
        },
    }
    assert left == []
    IntentSpec.model_validate(data["spec"])


def test_every_field_with_a_place() -> None:
    spec = {
        "cpu": {"reserved": "0-1", "isolated": "4-7", "shared": "2,3", "offlined": "8", "balanceIsolated": False},
        "machineConfigLabel": {"machineconfiguration.openshift.io/role": "cnf"},
        "machineConfigPoolSelector": {"pool": "cnf"},
        "numa": {"topologyPolicy": "single-numa-node"},
        "hugepages": {
            "defaultHugepagesSize": "1G",
            "pages": [{"size": "1G", "count": 4}, {"size": "2M", "count": 64, "node": 1}],
        },
        "realTimeKernel": {"enabled": True},
        "kernelPageSize": "4k",
        "additionalKernelArgs": ["nosmt", "idle=poll"],
        "workloadHints": {
            "realTime": True,
            "highPowerConsumption": False,
            "perPodPowerManagement": True,
            "mixedCpus": True,
        },
        "globallyDisableIrqLoadBalancing": False,
    }
    data, left = intent(profile(spec), version="4.20")
    found = IntentSpec.model_validate(data["spec"]).model_dump(by_alias=True, exclude_unset=True)
    assert left == []
    assert found["targets"] == (
        {
            "platform": "openshift",
            "version": "4.20",
            "pool": "worker-cnf",
            "nodeSelector": SELECTOR,
            "machineConfigLabel": {"machineconfiguration.openshift.io/role": "cnf"},
            "machineConfigPoolSelector": {"pool": "cnf"},
        },
    )
    assert {name: str(pool["cpus"]) for name, pool in found["pools"].items()} == {
        "reserved": "0-1",
        "shared": "2-3",
        "isolated": "4-7",
        "offlined": "8",
    }
    assert found["isolation"] == {"domain": True}
    assert found["kubelet"] == {"topologyManagerPolicy": "single-numa-node"}
    assert found["hugePages"] == {
        "defaultSize": "1G",
        "pages": ({"size": "1G", "count": 4}, {"size": "2M", "count": 64, "numaNode": 1}),
    }
    assert found["kernel"] == {"realTime": True, "pageSize": "4k", "extraArguments": ("nosmt", "idle=poll")}
    assert found["workloadHints"] == {"realTime": True, "highPowerConsumption": False, "perPodPowerManagement": True}
    assert found["runtime"] == {"mixedCpus": True}


def test_fields_without_a_place_are_named() -> None:
    spec = {
        "cpu": {"reserved": "0", "isolated": "3", "ovsDpdk": "1-2", "isolatd": "4"},
        "net": {"userLevelNetworking": True},
        "hardwareTuning": {"isolatedCpuFreq": 1, "reservedCpuFreq": 1},
        "globallyDisableIrqLoadBalancing": True,
        "numa": {"policy": "none"},
    }
    annotations = {
        "performance.openshift.io/enable-rps": "true",
        "kubeletconfig.experimental": "{}",
        "example.com/owner": "x",
    }
    _, left = intent(profile(spec, annotations=annotations))
    assert left == [
        "metadata.annotations.kubeletconfig.experimental",
        "metadata.annotations.performance.openshift.io/enable-rps",
        "spec.cpu.isolatd",
        "spec.cpu.ovsDpdk",
        "spec.globallyDisableIrqLoadBalancing",
        "spec.hardwareTuning",
        "spec.net",
        "spec.numa.policy",
    ]


@pytest.mark.parametrize(
    ("selector", "pool"),
    [
        ({"node-role.kubernetes.io/worker-cnf": ""}, "worker-cnf"),
        ({"zone": "a", "example.com/other": "", "node-role.kubernetes.io/cnf": ""}, "cnf"),
        ({"example.com/other": "yes"}, "other"),
        ({"zone": "a"}, None),
    ],
)
def test_pool_from_the_selector(selector: dict[str, str], pool: str | None) -> None:
    data, _ = intent(profile({"nodeSelector": selector}))
    assert data["spec"]["targets"][0].get("pool") == pool


def test_empty_lists_are_not_the_rest() -> None:
    """An Intent without `isolated` would take what is left over; a profile means what it says."""
    data, _ = intent(profile({"cpu": {"isolated": ""}}))
    pools = IntentSpec.model_validate(data["spec"]).pools
    assert pools.isolated is not None
    assert [pools.isolated.cpus, pools.reserved.cpus] == [parse_cpus(""), parse_cpus("")]


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", ""),
        ("00-01", "0-1"),
        ("7,1,3-4", "1,3-4,7"),
        ("0,0,0-1", "0-1"),
        ("+1-+3", "1-3"),
        ("4-511,516-1023", "4-511,516-1023"),
        ("5-5", "5"),
    ],
)
def test_cpu_lists(text: str, cpus: str) -> None:
    assert str(parse_cpus(text)) == cpus


@pytest.mark.parametrize(
    "text",
    ["a", "0, 1", " 0", "0,", ",0", "0,,1", "1-", "-1", "3-1", "^1", "0-6:2/4", "1-2-3", "٣", "0\n", "0-99999999"],
)
def test_cpu_lists_that_the_kubelet_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"^spec\.cpu\.reserved: "):
        intent(profile({"cpu": {"reserved": text, "isolated": "1"}}))


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"cpu": None}, "spec.cpu"),
        ({"cpu": "0-3"}, "spec.cpu"),
        ({"cpu": {"reserved": 0, "isolated": "1"}}, "spec.cpu.reserved"),
        ({"cpu": {"reserved": "0", "isolated": "1", "balanceIsolated": "false"}}, "spec.cpu.balanceIsolated"),
        ({"nodeSelector": {}}, "spec.nodeSelector"),
        ({"nodeSelector": {1: "a"}}, "spec.nodeSelector"),
        ({"nodeSelector": {"a/b": 1}}, "spec.nodeSelector.a/b"),
        ({"numa": {"topologyPolicy": 1}}, "spec.numa.topologyPolicy"),
        ({"hugepages": {"pages": [{"size": "1G", "count": "4"}]}}, "spec.hugepages.pages[0].count"),
        ({"hugepages": {"pages": [{"size": "1G", "count": 4, "nodes": 1}]}}, "spec.hugepages.pages[0].nodes"),
        ({"hugepages": {"pages": {"size": "1G"}}}, "spec.hugepages.pages"),
        ({"additionalKernelArgs": [1]}, "spec.additionalKernelArgs[0]"),
        ({"workloadHints": {"realTime": "true"}}, "spec.workloadHints.realTime"),
    ],
)
def test_values_of_the_wrong_type(spec: dict[str, Any], field: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        intent(profile(spec))
    assert str(caught.value).startswith(f"{field}: ")


@pytest.mark.parametrize("head", [{"apiVersion": "performance.openshift.io/v1"}, {"kind": "Tuned"}, {"kind": None}])
def test_other_objects(head: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no PerformanceProfile"):
        intent(profile({}) | head)


def test_a_policy_outside_the_four_is_left_to_the_intent() -> None:
    assert intent(profile({"numa": {"topologyPolicy": ""}}))[0]["spec"]["kubelet"] == {"topologyManagerPolicy": "none"}
    data, _ = intent(profile({"numa": {"topologyPolicy": "bogus"}}))
    with pytest.raises(ValueError, match="topologyManagerPolicy"):
        IntentSpec.model_validate(data["spec"])
