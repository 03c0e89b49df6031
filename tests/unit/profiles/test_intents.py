"""PerformanceProfile to Intent: every field goes somewhere, at its own line, or is named."""

from typing import Any

import pytest

from cpuplan.backends import configure
from cpuplan.backends.openshift import objects
from cpuplan.base.emit import to_yaml
from cpuplan.diagnostics import errors
from cpuplan.fleet import synthetic
from cpuplan.language.read import yaml
from cpuplan.language.read.documents import Document
from cpuplan.plan import ConfiguredPlan
from cpuplan.profiles import reader

SELECTOR = {"node-role.kubernetes.io/worker-cnf": ""}
#: Every field of the CRD, together where they can be.
EVERYTHING: dict[str, Any] = {
    "cpu": {
        "reserved": "0-1",
        "isolated": "4-7",
        "shared": "2,3",
        "offlined": "8",
        "ovsDpdk": "9",
        "balanceIsolated": False,
    },
    "machineConfigLabel": {"machineconfiguration.openshift.io/role": "cnf"},
    "machineConfigPoolSelector": {"pool": "cnf"},
    "numa": {"topologyPolicy": "single-numa-node"},
    "hugepages": {
        "defaultHugepagesSize": "1G",
        "pages": [{"size": "1G", "count": 4}, {"size": "2M", "count": 64, "node": 1}],
    },
    "realTimeKernel": {"enabled": True},
    "kernelPageSize": "4k",
    "additionalKernelArgs": ["nosmt", "rdt=l3cat,!l3cdp"],
    "workloadHints": {"realTime": True, "highPowerConsumption": True, "mixedCpus": True},
    "globallyDisableIrqLoadBalancing": True,
    "net": {
        "userLevelNetworking": True,
        "devices": [{"interfaceName": "!eno*"}, {"vendorID": "0x8086"}],
    },
    "hardwareTuning": {"isolatedCpuFreq": 2500000, "reservedCpuFreq": 2800000},
}
ANNOTATIONS = {
    "performance.openshift.io/enable-rps": "enable",
    "performance.openshift.io/enable-physical-dev-rps": "true",
    "performance.openshift.io/exec-cpu-affinity": "disable",
    "performance.openshift.io/cpu-load-balancing-ovs-dpdk": "disable",
    "kubeletconfig.experimental": (
        '{"maxPods": 300, "kubeReserved": {"cpu": "500m"}, "topologyManagerScope": "pod"}'
    ),
}


def profile(spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """A profile with the required fields, `spec` over them."""
    required = {"cpu": {"reserved": "0-1", "isolated": "2-7"}, "nodeSelector": SELECTOR}
    return {
        "apiVersion": "performance.openshift.io/v2",
        "kind": "PerformanceProfile",
        "metadata": {"name": "ran-du", **metadata},
        "spec": required | spec,
    }


def read(*objects: dict[str, Any]) -> Document:
    """The Intent of the only profile among `objects`."""
    profiles = read_all(*objects)
    assert errors(profiles.diagnostics) == []
    return profiles.intents[0]


def read_all(*objects: dict[str, Any]) -> reader.Profiles:
    sources, problems = yaml.parse("profile.yaml", "---\n".join(map(to_yaml, objects)))
    assert problems == []
    return reader.read(sources)


def test_minimal() -> None:
    assert read(profile({})).source.data == {
        "apiVersion": "cpuplan.io/v1alpha1",
        "kind": "Intent",
        "metadata": {"name": "ran-du"},
        "spec": {
            "selector": {"matchLabels": SELECTOR},
            "targets": [
                {
                    "platform": "openshift",
                    "version": "5.1",
                    "pool": "worker-cnf",
                    "nodeSelector": SELECTOR,
                }
            ],
            "pools": {
                "reserved": {"cpus": "0-1", "wholeCores": False},
                "isolated": {"cpus": "2-7", "wholeCores": False},
            },
            "isolation": {"domain": False},
            "runtime": {"mixedCpus": False},
        },
    }


def test_every_field_has_a_place() -> None:
    data: Any = read(profile(EVERYTHING, annotations=ANNOTATIONS)).source.data
    spec = data["spec"]
    assert spec["targets"][0]["machineConfigPoolSelector"] == {"pool": "cnf"}
    assert spec["isolation"] == {"domain": True, "globallyDisableIrqLoadBalancing": True}
    assert spec["hugePages"]["pages"][1] == {"size": "2M", "count": 64, "numaNode": 1}
    assert spec["kernel"] == {
        "realTime": True,
        "pageSize": "4k",
        "extraArguments": ["nosmt", "rdt=l3cat,!l3cdp"],
    }
    assert spec["runtime"] == {"mixedCpus": True, "execCpuAffinity": "none"}
    assert spec["net"] == {
        "userLevelNetworking": True,
        "devices": [{"interfaceName": "!eno*"}, {"vendorID": "0x8086"}],
        "receivePacketSteering": True,
        "physicalDeviceRps": True,
    }
    assert spec["openVSwitch"] == {"dpdk": True, "loadBalancing": False}
    assert spec["pools"]["isolcpus"] == {"cpus": "9", "wholeCores": False}
    assert spec["hardwareTuning"] == {"isolatedCpuFreq": 2500000, "reservedCpuFreq": 2800000}
    assert spec["kubelet"] == {
        "configuration": {"maxPods": 300},
        "kubeReserved": {"memory": "500Mi", "cpu": "500m"},
        "topologyManagerScope": "pod",
        "topologyManagerPolicy": "single-numa-node",
    }


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (("pools", "offlined", "cpus"), ("spec", "cpu", "offlined")),
        (("hugePages", "pages", 1, "numaNode"), ("spec", "hugepages", "pages", 1, "node")),
        (("kernel", "extraArguments", 1), ("spec", "additionalKernelArgs", 1)),
        (("kubelet", "topologyManagerPolicy"), ("spec", "numa", "topologyPolicy")),
        (
            ("kubelet", "topologyManagerScope"),
            ("metadata", "annotations", "kubeletconfig.experimental"),
        ),
        (
            ("runtime", "execCpuAffinity"),
            ("metadata", "annotations", "performance.openshift.io/exec-cpu-affinity"),
        ),
        (("selector", "matchLabels"), ("spec", "nodeSelector")),
    ],
)
def test_each_value_stands_where_the_profile_has_it(
    ours: tuple[str | int, ...], theirs: tuple[str | int, ...]
) -> None:
    text = to_yaml(profile(EVERYTHING, annotations=ANNOTATIONS))
    sources, _ = yaml.parse("profile.yaml", text)
    assert reader.read(sources).intents[0].at(*ours) == sources[0].value_at(theirs)


@pytest.mark.parametrize("drivers", [False, True])
@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted", "single-numa-node"])
def test_there_and_back(policy: str, drivers: bool) -> None:
    """Mode performanceProfile writes a profile that gives the same Intent and outputs again."""
    spec = EVERYTHING | {"numa": {"topologyPolicy": policy}}
    annotations = dict(ANNOTATIONS)
    if drivers:
        annotations["performance.openshift.io/dra-resource-management"] = "true"
        # The operator leaves all of a snippet alone there, but for the three policies.
        snippet = (
            '{"maxPods": 300, "cpuManagerReconcilePeriod": "10s", "reservedSystemCPUs": "0-1"}'
        )
        annotations["kubeletconfig.experimental"] = snippet
        spec["workloadHints"] = {"realTime": True}
    first = read(profile(spec, annotations=annotations))
    target = first.spec.targets[0].model_copy(update={"mode": "performanceProfile"})
    in_mode = first.spec.model_copy(update={"targets": (target,)})
    written = objects.performance_profile(configure(synthetic.plan(first.name, in_mode)))
    again = read(written)
    plans = [configure(synthetic.plan(document.name, document.spec)) for document in (first, again)]
    assert _outputs(plans[1]) == _outputs(plans[0])


def _outputs(plan: ConfiguredPlan) -> list[tuple[str, str, Any]]:
    """The settings of all components, without their reasons; the kubelet's amounts as they are."""
    return sorted((setting.component, setting.key, str(setting.value)) for setting in plan.settings)


POOL = {
    "apiVersion": "machineconfiguration.openshift.io/v1",
    "kind": "MachineConfigPool",
    "metadata": {"name": "worker-cnf", "labels": {"pool": "cnf"}},
    "spec": {
        "nodeSelector": {"matchExpressions": [{"key": next(iter(SELECTOR)), "operator": "Exists"}]}
    },
}
INFRASTRUCTURE = {
    "apiVersion": "config.openshift.io/v1",
    "kind": "Infrastructure",
    "metadata": {"name": "cluster"},
    "status": {"controlPlaneTopology": "HighlyAvailableArbiter", "cpuPartitioning": "AllNodes"},
}
VERSION = {
    "apiVersion": "config.openshift.io/v1",
    "kind": "ClusterVersion",
    "metadata": {"name": "version"},
    "status": {"desired": {"version": "4.20.3"}},
}


def test_objects_of_the_cluster_complete_the_target() -> None:
    document = read(profile({}), POOL, INFRASTRUCTURE, VERSION)
    target = document.spec.targets[0]
    assert target.version == "4.20"
    assert target.machine_config_pool_selector == {"pool": "cnf"}
    assert (target.cpu_partitioning, target.control_plane_topology) == (
        True,
        "HighlyAvailableArbiter",
    )


def test_two_pools_for_one_profile() -> None:
    other = POOL | {"metadata": {"name": "other", "labels": {"pool": "other"}}}
    profiles = read_all(profile({}), POOL, other)
    assert [diagnostic.code for diagnostic in profiles.diagnostics] == ["CP271"]
    assert "worker-cnf and other" in profiles.diagnostics[0].message
    assert profiles.broken == {("Intent", "ran-du")}


def test_legacy_pinning_counts_on_single_nodes_only() -> None:
    pinning = {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {"name": "02-master-workload-partitioning"},
        "spec": {
            "config": {
                "storage": {"files": [{"path": "/etc/kubernetes/openshift-workload-pinning"}]}
            }
        },
    }
    for topology, partitioned in (("SingleReplica", True), ("HighlyAvailable", False)):
        cluster = INFRASTRUCTURE | {"status": {"controlPlaneTopology": topology}}
        assert read(profile({}), cluster, pinning).spec.targets[0].cpu_partitioning is partitioned


@pytest.mark.parametrize(
    ("spec", "code", "words"),
    [
        ({"cpu": {"reserved": 0, "isolated": "1"}}, "CP203", "spec.cpu.reserved"),
        ({"cpu": {"reserved": "0 1", "isolated": "2"}}, "CP208", "space"),
        ({"cpu": {"reserved": "0-1", "isolatd": "2-7"}}, "CP201", "isolatd"),
        ({"numa": {"topologyPolicy": ""}}, "CP270", "spec.numa.topologyPolicy"),
        ({"hardwareTuning": {"isolatedCpuFreq": 2500000}}, "CP270", "reservedCpuFreq"),
        (
            {"realTimeKernel": {"enabled": True}, "workloadHints": {"realTime": False}},
            "CP270",
            "real-time kernel",
        ),
        ({"net": {"devices": [{"interfaceName": ""}]}}, "CP269", "empty interfaceName"),
    ],
)
def test_refused(spec: dict[str, Any], code: str, words: str) -> None:
    refusals = errors(read_all(profile(spec)).diagnostics)
    assert code in [refusal.code for refusal in refusals]
    assert any(words in f"{refusal.message}; {refusal.remedy}" for refusal in refusals)


def snippet(text: str, spec: dict[str, Any] | None = None, **switches: str) -> reader.Profiles:
    """A profile with this snippet, and annotations of the operator by name."""
    annotations = {
        f"performance.openshift.io/{name.replace('_', '-')}": value
        for name, value in switches.items()
    }
    return read_all(
        profile(spec or {}, annotations={"kubeletconfig.experimental": text} | annotations)
    )


RESTRICTED = {"numa": {"topologyPolicy": "restricted"}}


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ('{"memoryManagerPolicy": "Static"}', {}),
        ('{"memoryManagerPolicy": "Static", "reservedMemory": []}', {}),
        ('{"memoryManagerPolicy": "Static", "topologyManagerPolicy": "restricted"}', {"numa": {}}),
        ('{"reservedMemory": []}', RESTRICTED),
    ],
)
def test_static_memory_manager_without_reservation(text: str, spec: dict[str, Any]) -> None:
    """The operator reserves memory by its own topology policy only; an Intent's is computed."""
    (error,) = errors(snippet(text, spec).diagnostics)
    assert error.code == "CP278"
    assert error.position is not None
    assert error.position.line == 6  # the annotation


@pytest.mark.parametrize(
    ("text", "spec", "switches"),
    [
        (
            (
                '{"memoryManagerPolicy": "Static",'
                ' "reservedMemory": [{"limits": {"memory": "1100Mi"}}]}'
            ),
            {},
            {},
        ),
        ('{"reservedMemory": null}', RESTRICTED, {}),
        ('{"memoryManagerPolicy": "None"}', {}, {}),
        ('{"memoryManagerPolicy": "Static"}', {}, {"dra_resource_management": "true"}),
    ],
)
def test_static_memory_manager_with_reservation(
    text: str, spec: dict[str, Any], switches: dict[str, str]
) -> None:
    assert errors(snippet(text, spec, **switches).diagnostics) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "not a JSON object"),
        ("{} {}", "not valid JSON"),
        ('{"maxPods": NaN}', "NaN"),
        ('{"maxPods": 1e999}', "1e999"),
        ('{"podLogsDir": "\\ud800"}', "surrogates"),
        ('{"systemReserved": {"memory": 1073741824}}', "1073741824 for memory"),
        ('{"evictionHard": {"memory.available": null}}', "null for memory.available"),
        ('{"kubeReserved": "1Gi"}', "not an object"),
        ('{"cpuManagerPolicy": 1}', "cpuManagerPolicy is 1"),
        ('{"cpuManagerReconcilePeriod": "10"}', "not a duration"),
        (
            '{"reservedMemory": [{"numaNode": 0, "limits": {"hugepages-1Gi": "2Gi"}}]}',
            "amounts of memory",
        ),
        ('{"reservedMemory": [{"numaNode": 0, "limits": {"memory": true}}]}', "amounts of memory"),
        ('{"reservedMemory": "1Gi"}', "amounts of memory"),
    ],
)
def test_snippets_that_nobody_decodes(text: str, words: str) -> None:
    (error,) = errors(snippet(text).diagnostics)
    assert error.code == "CP272"
    assert words in error.message


@pytest.mark.parametrize(
    "text", ["null", "{}", '{"systemReserved": null}', '{"topologyManagerScope": ""}']
)
def test_snippets_that_say_nothing(text: str) -> None:
    result = snippet(text)
    assert result.diagnostics == []
    assert result.intents[0].source.data == read(profile({})).source.data


def test_fractions_of_a_snippet_are_text() -> None:
    (document,) = snippet('{"memoryThrottlingFactor": 0.8}').intents
    assert document.spec.kubelet.configuration == {"memoryThrottlingFactor": "0.8"}


@pytest.mark.parametrize("spec", [{}, RESTRICTED])
def test_beside_drivers_a_snippet_stays_as_it_is(spec: dict[str, Any]) -> None:
    """With DRA the operator sets the managers' policies and adds nothing."""
    from cpuplan.components import kubelet

    text = (
        '{"systemReserved": {"cpu": "1"}, "cpuManagerReconcilePeriod": "10s",'
        ' "topologyManagerScope": "pod", "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},'
        ' "evictionHard": {"memory.available": "5%"},'
        ' "reservedMemory": [{"numaNode": 1, "limits": {"memory": "1Gi"}}]}'
    )
    (document,) = snippet(text, spec, dra_resource_management="true").intents
    fields = kubelet.configuration(
        list(kubelet.settings(synthetic.plan(document.name, document.spec)))
    )
    assert {name: value for name, value in fields.items() if name not in kubelet.HEAD} == {
        "cpuManagerPolicy": "none",
        "cpuManagerReconcilePeriod": "10s",
        "evictionHard": {"memory.available": "5%"},
        "memoryManagerPolicy": "None",
        "reservedMemory": [{"numaNode": 1, "limits": {"memory": "1Gi"}}],
        "systemReserved": {"cpu": "1"},
        "topologyManagerPolicy": "none",
        "topologyManagerScope": "pod",
    }


@pytest.mark.parametrize(
    ("name", "value", "field", "warned"),
    [
        ("pause-reconcile", "true", "paused", False),
        ("pause-reconcile", "1", None, True),
        ("enable-physical-dev-rps", "enable", None, True),
        ("enable-rps", "enable", "net", False),
        ("enable-rps", "", None, True),
        ("dra-resource-management", "T", "kubelet", False),
        ("dra-resource-management", "disable", None, True),
    ],
)
def test_what_the_operator_takes_for_yes(
    name: str, value: str, field: str | None, warned: bool
) -> None:
    profiles = read_all(profile({}, annotations={f"performance.openshift.io/{name}": value}))
    assert [diagnostic.code for diagnostic in profiles.diagnostics] == ["CP273"] * warned
    data: Any = profiles.intents[0].source.data
    assert {"paused", "net", "kubelet"} & data["spec"].keys() == ({field} if field else set())


@pytest.mark.parametrize(
    "metadata",
    [{"annotations": {"x": True}}, {"annotations": ["x"]}, {"labels": {"x": 1}}, {"labels": "x"}],
)
def test_labels_and_annotations_are_text(metadata: dict[str, Any]) -> None:
    assert [diagnostic.code for diagnostic in read_all(profile({}, **metadata)).diagnostics] == [
        "CP279"
    ]


def test_arguments_are_words() -> None:
    (document,) = read_all(
        profile({"additionalKernelArgs": ["a=b c", "", "irqaffinity=0,1", "d"]})
    ).intents
    assert document.spec.kernel.extra_arguments == ("a=b", "c", "d")
    assert document.spec.isolation.irq_affinity is True
    assert document.at("kernel", "extraArguments", 1) == document.at("kernel", "extraArguments", 0)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"additionalKernelArgs": ["--"]}, "extraArguments.0"),
        ({"additionalKernelArgs": ["memmap=4G$16G"]}, "extraArguments.0"),
        (
            {"net": {"userLevelNetworking": True, "devices": [{"interfaceName": "a\n[b]"}]}},
            "interfaceName",
        ),
        ({"cpu": {"reserved": "0-1", "isolated": "100000"}}, "8191"),
    ],
)
def test_what_the_operator_takes_and_we_do_not(spec: dict[str, Any], words: str) -> None:
    (error,) = errors(read_all(profile(spec)).diagnostics)
    assert error.code == "CP277"
    assert words in error.message


def test_a_list_that_nobody_reads_hides_nothing_else() -> None:
    spec = {
        "cpu": {"reserved": "x", "isolated": "0-1", "shared": "y"},
        "numa": {"topologyPolicy": "bogus"},
        "workloadHints": {"mixedCpus": True},
    }
    profiles = read_all(profile(spec))
    assert [diagnostic.code for diagnostic in profiles.diagnostics] == ["CP208", "CP208", "CP270"]
    assert "topologyPolicy" in profiles.diagnostics[2].message
    assert profiles.broken == {("Intent", "ran-du")}


def test_a_pool_of_another_name() -> None:
    """Objects have the labels of the role in the selector; the pool has its own name."""
    other = POOL | {"metadata": {"name": "cnf.v2", "labels": {"pool": "cnf"}}}
    target = read(profile({}), other, INFRASTRUCTURE).spec.targets[0]
    assert (target.pool, target.pinned_pools) == ("cnf.v2", ())
    assert target.machine_config_label == {"machineconfiguration.openshift.io/role": "worker-cnf"}


@pytest.mark.parametrize("topology", ["External", "DualReplica", "HighlyAvailable"])
def test_topologies_of_which_the_operator_asks_nothing(topology: str) -> None:
    cluster = INFRASTRUCTURE | {
        "status": {"controlPlaneTopology": topology, "cpuPartitioning": "AllNodes"}
    }
    target = read(profile({}), cluster).spec.targets[0]
    assert (target.cpu_partitioning, target.control_plane_topology) == (True, "HighlyAvailable")


@pytest.mark.parametrize(
    ("selector", "objects", "codes"),
    [
        (SELECTOR, [POOL | {"metadata": {"name": "worker-cnf"}}], ["CP271"]),
        ({"node-role.kubernetes.io/worker": "true"}, [], ["CP271"]),
        (
            SELECTOR,
            [
                POOL
                | {
                    "spec": {
                        "nodeSelector": {"matchExpressions": [{"key": ["x"], "operator": "In"}]}
                    }
                }
            ],
            ["CP203", "CP271"],
        ),
    ],
)
def test_no_pool(selector: dict[str, str], objects: list[dict[str, Any]], codes: list[str]) -> None:
    profiles = read_all(profile({"nodeSelector": selector}), *objects)
    assert [diagnostic.code for diagnostic in profiles.diagnostics] == codes
