"""What KubeletConfigs leave, one event after the other."""

import copy
from typing import Any

import pytest
import yaml

from cpuplan.upstream.mco.common import McoError
from cpuplan.upstream.mco.controller_helpers import SUFFIX
from cpuplan.upstream.mco.kubelet_config_controller import (
    KUBELET_CONF,
    LOGGING,
    NODE_SIZING,
    KubeletConfigs,
    installed,
)
from cpuplan.upstream.mco.render_controller import render
from tests.unit.upstream.mco.objects import Json, pool

POOLS = [pool("worker"), pool("master"), pool("cnf", "worker", "cnf")]
DEFAULTS: Json = {
    "worker": {
        "maxPods": 250,
        "serializeImagePulls": False,
        "protectKernelDefaults": True,
        "enforceNodeAllocatable": ["pods", "system-reserved-compressible"],
        "systemReservedCgroup": "/system.slice",
        "systemCgroups": "/system.slice",
        "authentication": {"anonymous": {"enabled": False}, "x509": {"clientCAFile": "/a"}},
        "nodeStatusUpdateFrequency": "10s",
        "tlsMinVersion": "VersionTLS12",
    },
    "master": {"maxPods": 250, "failSwapOn": True},
}
FIRST, SECOND = "99-worker-generated-kubelet", "99-worker-generated-kubelet-1"


def kubelet_config(name: str, *pools: str, **spec: Any) -> Json:
    """For the pools named, worker without any."""
    names = [f"pools.example.test/{pool_name}" for pool_name in pools or ("worker",)]
    expressions = [{"key": key, "operator": "Exists"} for key in names]
    selector = {"matchExpressions": expressions}
    return {"metadata": {"name": name}, "spec": {"machineConfigPoolSelector": selector, **spec}}


def controller(*items: Json, release: tuple[int, int] = (5, 1)) -> KubeletConfigs:
    created = KubeletConfigs(copy.deepcopy(POOLS), DEFAULTS, release)
    for item in items:
        created.create(item)
    return created


def fields(state: KubeletConfigs, name: str = FIRST) -> Json:
    loaded: Json = yaml.safe_load(state.machine_configs[name].files[KUBELET_CONF])
    return loaded


def merged(release: tuple[int, int] = (5, 1), **given: Any) -> Json:
    return fields(controller(kubelet_config("a", kubeletConfig=given), release=release))


def test_each_object_writes_a_complete_file() -> None:
    state = controller(
        kubelet_config("a", kubeletConfig={"maxPods": 500}),
        kubelet_config("b", kubeletConfig={"podsPerCore": 10}),
    )
    assert fields(state) == DEFAULTS["worker"] | {"maxPods": 500}
    assert fields(state, SECOND) == DEFAULTS["worker"] | {"podsPerCore": 10}


def test_numbers_are_not_used_again_below_the_highest() -> None:
    state = controller(*(kubelet_config(name) for name in "ab"))
    state.delete("a")
    state.create(kubelet_config("c"))
    assert sorted(state.machine_configs) == [SECOND, "99-worker-generated-kubelet-2"]


def test_the_eleventh_object_is_refused() -> None:
    state = controller(*(kubelet_config(name) for name in "abcdefghij"))
    with pytest.raises(McoError):
        state.create(kubelet_config("k"))
    assert len(state.machine_configs) == 10
    assert state.sources["k"].suffix is None


def test_an_update_keeps_the_number() -> None:
    state = controller(kubelet_config("a"), kubelet_config("b"))
    state.update(kubelet_config("a", kubeletConfig={"maxPods": 1}))
    assert fields(state)["maxPods"] == 1
    assert len(state.machine_configs) == 2


def test_bug_an_object_for_two_pools_has_one_number() -> None:
    state = controller(kubelet_config("x", "cnf"))
    both = kubelet_config("all")
    both["spec"]["machineConfigPoolSelector"] = {"matchLabels": {"kind": "workers"}}
    for item in state.pools:
        if item["metadata"]["name"] != "master":
            item["metadata"]["labels"]["kind"] = "workers"
    state.create(both)
    assert state.sources["all"].suffix == "1"
    assert state.sources["all"].finalizers == ["99-cnf-generated-kubelet-1", SECOND]


def test_bug_other_annotations_are_lost() -> None:
    item = kubelet_config("a")
    item["metadata"]["annotations"] = {"note": "x"}
    assert controller(item).sources["a"].annotations == {SUFFIX: ""}


def test_an_update_that_is_refused_leaves_what_is_written() -> None:
    state = controller(kubelet_config("a", kubeletConfig={"maxPods": 1}))
    with pytest.raises(McoError):
        state.update(kubelet_config("a", kubeletConfig={"clusterDomain": "x"}))
    assert fields(state)["maxPods"] == 1
    assert state.sources["a"].accepted is False


def test_an_object_without_pool_is_refused() -> None:
    with pytest.raises(McoError):
        controller(kubelet_config("a", "gpu"))


def test_after_a_start_every_pool_has_the_defaults() -> None:
    state = controller(kubelet_config("a", kubeletConfig={"maxPods": 500}))
    state.restart()
    written = [config.as_object() for config in state.machine_configs.values()]
    orders = {}
    for item in POOLS:
        rendered = render(item, written)
        orders[item["metadata"]["name"]] = rendered.order if rendered else ()
    assert orders["cnf"][-1] == "98-cnf-generated-kubelet"
    assert orders["worker"][-1] == FIRST
    assert orders["master"] == ("98-master-generated-kubelet",)


def test_before_4_16_a_start_writes_nothing() -> None:
    state = controller(release=(4, 15))
    state.restart()
    assert not state.machine_configs


def test_a_latency_profile_is_for_worker() -> None:
    state = controller(kubelet_config("a"), kubelet_config("x", "cnf"))
    state.set_node_config({"spec": {"workerLatencyProfile": "LowUpdateSlowReaction"}})
    for name in (FIRST, "97-worker-generated-kubelet"):
        assert fields(state, name)["nodeStatusUpdateFrequency"] == "1m0s"
    for name in ("99-cnf-generated-kubelet", "97-cnf-generated-kubelet"):
        assert fields(state, name)["nodeStatusUpdateFrequency"] == "10s"
    assert state.machine_configs["97-worker-generated-kubelet"].kernel_arguments
    assert not state.machine_configs["97-cnf-generated-kubelet"].kernel_arguments


def test_a_latency_profile_does_not_jump() -> None:
    state = controller()
    state.set_node_config({"spec": {}})
    state.set_node_config({"spec": {"workerLatencyProfile": "LowUpdateSlowReaction"}})
    assert fields(state, "97-worker-generated-kubelet")["nodeStatusUpdateFrequency"] == "10s"
    state.set_node_config({"spec": {"workerLatencyProfile": "MediumUpdateAverageReaction"}})
    assert fields(state, "97-worker-generated-kubelet")["nodeStatusUpdateFrequency"] == "20s"


@pytest.mark.parametrize("spec", [{"workerLatencyProfile": "x"}, {"cgroupMode": "v1"}])
def test_what_a_node_configuration_cannot_say(spec: Json) -> None:
    with pytest.raises(McoError):
        controller().set_node_config({"spec": spec})


def test_empty_values_do_not_replace_defaults() -> None:
    empty = merged(
        maxPods=0, systemCgroups="", enforceNodeAllocatable=[], serializeImagePulls=False
    )
    assert empty == DEFAULTS["worker"]
    assert merged(serializeImagePulls=True)["serializeImagePulls"] is True
    assert merged(registryPullQPS=0)["registryPullQPS"] == 0


def test_only_protect_kernel_defaults_can_be_false() -> None:
    assert "protectKernelDefaults" not in merged(protectKernelDefaults=False)


def test_sections_merge_field_by_field() -> None:
    section = merged(authentication={"anonymous": {"enabled": True}})["authentication"]
    assert section == {"anonymous": {"enabled": True}, "x509": {"clientCAFile": "/a"}}


def test_values_are_written_as_go_writes_them() -> None:
    given = merged(
        cpuManagerReconcilePeriod="90s",
        reservedMemory=[{"limits": {"memory": "1024Mi"}}],
        MaxPods=5,
        cpuManagerPolicyOptions={"full-pcpus-only": True},
        reservedSystemCPUs=0,
        unknown=1,
    )
    assert given["cpuManagerReconcilePeriod"] == "1m30s"
    assert given["reservedMemory"] == [{"limits": {"memory": "1Gi"}, "numaNode": 0}]
    assert (given["maxPods"], given["reservedSystemCPUs"]) == (5, "0")
    assert given["cpuManagerPolicyOptions"] == {"full-pcpus-only": "true"}
    assert "unknown" not in given


def test_reserved_cpus_take_the_enforcement_away() -> None:
    given = merged(reservedSystemCPUs="0-1")
    assert given["enforceNodeAllocatable"] == ["pods"]
    assert "systemReservedCgroup" not in given
    before = merged(release=(4, 21), reservedSystemCPUs="0-1")
    assert before["systemReservedCgroup"] == "/system.slice"


def test_an_enforcement_without_system_reserved_takes_the_cgroup_away() -> None:
    assert "systemReservedCgroup" not in merged(enforceNodeAllocatable=["pods"])
    assert "systemReservedCgroup" in merged(enforceNodeAllocatable=["pods", "system-reserved"])


def test_cgroups_are_compared_after_merging() -> None:
    with pytest.raises(McoError):
        merged(systemReservedCgroup="/other.slice")
    assert merged(release=(4, 21), systemReservedCgroup="/other.slice")


def test_system_reserved_moves_to_another_file() -> None:
    reserved = {"cpu": "1500m", "pid": "1000"}
    state = controller(kubelet_config("a", kubeletConfig={"systemReserved": reserved}))
    assert fields(state)["systemReserved"] == {"pid": "1000"}
    assert state.machine_configs[FIRST].files[NODE_SIZING].splitlines() == [
        "NODE_SIZING_ENABLED=false",
        "SYSTEM_RESERVED_MEMORY=1Gi",
        "SYSTEM_RESERVED_CPU=1500m",
        "SYSTEM_RESERVED_ES=1Gi",
    ]


def test_other_files() -> None:
    state = controller(kubelet_config("a", logLevel=4, autoSizingReserved=True))
    written = state.machine_configs[FIRST].files
    assert "KUBELET_LOG_LEVEL=4" in written[LOGGING]
    assert written[NODE_SIZING].startswith("NODE_SIZING_ENABLED=true\n")


@pytest.mark.parametrize(
    ("profile", "version", "number"),
    [
        ({"type": "Old"}, "VersionTLS10", 21),
        ({"type": "Intermediate"}, "VersionTLS12", 9),
        ({"type": "Modern"}, "VersionTLS13", 3),
        (
            {"type": "Custom", "custom": {"ciphers": ["AES128-SHA", "x"], "minTLSVersion": "V"}},
            "V",
            1,
        ),
        ({"type": "Custom"}, "VersionTLS12", 9),
    ],
)
def test_tls_profiles(profile: Json, version: str, number: int) -> None:
    given = fields(controller(kubelet_config("a", tlsSecurityProfile=profile)))
    assert given["tlsMinVersion"] == version
    assert len(given["tlsCipherSuites"]) == number


def test_an_installation_takes_one_object_for_a_pool() -> None:
    written = installed(POOLS, [kubelet_config("a"), kubelet_config("x", "cnf")], DEFAULTS)
    assert [config.name for config in written] == [FIRST, "99-cnf-generated-kubelet"]
    with pytest.raises(McoError):
        installed(POOLS, [kubelet_config("a"), kubelet_config("b")], DEFAULTS)
    assert not installed(POOLS, [kubelet_config("a", "gpu")], DEFAULTS)
