"""What is set by default, where, and how an intent says otherwise."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest

from cpuplan.backends import kubernetes, openshift
from cpuplan.components import checks, kernel, kubelet, memory
from cpuplan.components.checks import kubelet as kubelet_checks
from cpuplan.facts import platforms
from cpuplan.facts.settings import table as defaults
from cpuplan.facts.settings.row import Default
from cpuplan.language.model.intent import DefaultName
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Setting, Value
from cpuplan.render.explain.reasons import explain_default, explain_setting, rows_of
from cpuplan.upstream.crio import releases
from tests import named_cases
from tests.machines.plans import no_position, plan, regular
from tests.pages import defaults as defaults_page
from tests.unit.components.test_components import PLANS

KUBERNETES: dict[str, Any] = {"platform": "kubernetes", "version": "1.36"}
#: What the ten lines of the README ask for, or need: each has its reason in docs/defaults.md.
NEEDED = {
    # The last two are empty: a base configuration of others may have cgroups that stop the kubelet.
    "kubelet": {
        "cpuManagerPolicy",
        "reservedSystemCPUs",
        "kubeReservedCgroup",
        "systemReservedCgroup",
    },
    "kernel": {"rcu_nocbs", "nohz_full", "isolcpus", "irqaffinity"},
    "crio": {"infra_ctr_cpuset"},
    "kubeletunit": {"--config-dir", "Wants"},
    "systemd": {"CPUAffinity"},
    "interrupts": {"CPUS"},
    "irqbalance": {"IRQBALANCE_BANNED_CPULIST"},
}
#: What switches need of an intent to set anything: with nohz_full=, the kernel sets the mask.
NEEDED_BY = {"workqueues": {"isolation": {"nohzFull": False}}}
#: What a node for real-time workloads boots with beside.
LATENCY = {
    "skew_tick": "1",
    "tsc": "reliable",
    "rcupdate.rcu_normal_after_boot": "1",
    "rcutree.nohz_full_patience_delay": "1000",
    "nohz": "on",
    "nmi_watchdog": "0",
    "mce": "off",
    "nosoftlockup": True,
    "rcutree.kthread_prio": "11",
    "intel_pstate": "active",
}


def of(node: ConfiguredPlan) -> dict[str, dict[str, Value]]:
    """Values by component and key; without what is only expected of others."""
    values: dict[str, dict[str, Value]] = {}
    for setting in node.settings:
        if setting.component != "nrt":
            values.setdefault(setting.component, {})[setting.key] = setting.value
    return values


@pytest.mark.parametrize("version", ["1.30", "1.33", "1.37"])
@pytest.mark.parametrize("vendor", ["GenuineIntel", "AuthenticAMD", "HygonGenuine", ""])
@pytest.mark.parametrize("model", [85, 106, None])
def test_plain_kubernetes_has_what_was_asked_for(
    version: str, vendor: str, model: int | None
) -> None:
    by_component = of(plan(platform="kubernetes", version=version, vendor=vendor, model=model))
    assert {component: set(values) for component, values in by_component.items()} == NEEDED


def test_a_shared_pool_needs_a_handler_and_nothing_else() -> None:
    values = of(plan(shared="2", **KUBERNETES))
    hooks = values["crio"]["runtimes.high-performance.allowed_annotations"]
    assert hooks == (releases.QUOTA, releases.SHARED)
    assert values.keys() == {*NEEDED, "runtimeclass"}
    assert values["kubelet"].keys() == NEEDED["kubelet"]
    assert values["kernel"].keys() == NEEDED["kernel"]


def test_a_node_without_wishes_has_no_objects_and_no_empty_files() -> None:
    node = plan(
        spec={"defaults": [{"disable": "infra-containers", "because": "one"}]}, **KUBERNETES
    )
    assert list(kubernetes.manifests(node)) == []
    assert all(kubernetes.node_files(node).values())
    assert kubernetes.CRIO_DROP_IN.lstrip("/") not in kubernetes.node_files(node)


def test_real_time_workloads_get_all_they_need() -> None:
    values = of(plan(spec={"workloadHints": {"realTime": True}}, **KUBERNETES))["kernel"]
    assert {key: values.get(key) for key in LATENCY} == LATENCY
    assert values.keys() == NEEDED["kernel"] | LATENCY.keys()


@pytest.mark.parametrize(("hint", "wanted"), [(None, True), (True, True), (False, False)])
def test_real_time_is_the_default_of_openshift_only(hint: bool | None, wanted: bool) -> None:
    spec = {} if hint is None else {"workloadHints": {"realTime": hint}}
    assert ("nosoftlockup" in of(plan(spec=spec))["kernel"]) is wanted
    assert ("nosoftlockup" in of(plan(spec=spec, **KUBERNETES))["kernel"]) is (hint is True)


@pytest.mark.parametrize(
    ("field", "value", "keys"),
    [
        ("topologyManagerPolicy", "single-numa-node", {"topologyManagerPolicy"}),
        ("topologyManagerPolicy", "restricted", {"topologyManagerPolicy"}),
        ("cpuManagerReconcilePeriod", "10s", {"cpuManagerReconcilePeriod"}),
        ("systemReserved", {"memory": "2Gi"}, {"systemReserved.memory"}),
        ("evictionHard", {"memory.available": "1Gi"}, {"evictionHard.memory.available"}),
        ("memoryManagerPolicy", "Static", {"memoryManagerPolicy", "reservedMemory"}),
    ],
)
def test_the_kubelet_is_told_what_was_asked_for_and_no_more(
    field: str, value: object, keys: set[str]
) -> None:
    values = of(plan(spec={"kubelet": {field: value}}, **KUBERNETES))["kubelet"]
    assert values.keys() == NEEDED["kubelet"] | keys


@pytest.mark.parametrize(
    ("given", "total"),
    [
        ({}, 100),
        ({"evictionHard": {}}, 100),
        (
            {"evictionHard": {"memory.available": "300Mi"}, "systemReserved": {"memory": "1Gi"}},
            1324,
        ),
    ],
)
def test_a_memory_manager_reserves_what_is_known(given: dict[str, Any], total: int) -> None:
    """The kubelet has a threshold of its own; a warning asks for what the nodes have."""
    node = plan(spec={"kubelet": {"memoryManagerPolicy": "Static", **given}}, **KUBERNETES)
    assert memory.reservation(node) == total * 1024**2
    assert kubelet_checks.check(node, no_position) == []
    warned = [finding.code for finding in checks.check(node, no_position)]
    assert warned == ([] if len(given) == 3 else ["CP562"])


def default_settings() -> Iterator[tuple[ConfiguredPlan, Setting]]:
    """Every setting of many plans that has a default's reason."""
    nodes = [node for name in named_cases.CASES for node in named_cases.compiled(name).plan.nodes]
    for version in ("4.14", "4.17", "4.22", "5.1"):
        nodes.append(plan(regular(cores=8), shared="2", isolcpus="3", version=version))
        dpdk = {
            "openVSwitch": {"dpdk": True},
            "net": {"userLevelNetworking": True, "receivePacketSteering": True},
        }
        nodes.append(plan(regular(cores=8), isolcpus="3", version=version, spec=dpdk))
    for version in ("1.27", "1.33", "1.36"):
        hints = {
            "workloadHints": {"realTime": True, "highPowerConsumption": True},
            "runtime": {"handler": "a"},
        }
        more: dict[str, Any] = {
            "shared": "2",
            "isolcpus": "3",
            "platform": "kubernetes",
            "version": version,
        }
        nodes += [plan(regular(cores=8), spec=spec, **more) for spec in ({}, hints)]
    for node in [*nodes, *PLANS.values()]:
        for setting in node.settings:
            if any(reason.origin == "default" for reason in setting.reasons):
                yield node, setting


def test_every_default_is_listed_with_its_reason() -> None:
    page = defaults_page.page()
    count = 0
    for node, setting in default_settings():
        platform = node.node_class.platform
        rows = rows_of(setting)
        texts = {reason.text for reason in setting.reasons if reason.origin == "default"}
        assert {row.reason for row in rows} == texts, setting
        assert all(row.on.includes(platform) for row in rows), (platform, setting)
        shown = explain_setting(setting, "worker-0", lambda _origin: None)
        for row in rows:
            assert f"| `{row.name}` |" in page
            assert row.reason in page
            assert row.reason in shown
            assert (row.off_by or f"disable: {row.name}") in shown
        count += 1
    assert count > 1000


def test_the_names_of_switches_are_those_of_the_table() -> None:
    assert set(get_args(DefaultName)) == set(defaults.SWITCHES)


@pytest.mark.parametrize(
    "name",
    [name for name, row in defaults.SWITCHES.items() if row.possible.includes(platforms.OPENSHIFT)],
)
def test_no_can_be_said_of_each(name: str) -> None:
    """Each switch takes away all that has its reasons, and nothing else."""
    whole = plan(regular(cores=8), version="5.1", model=106)
    without = plan(
        regular(cores=8),
        version="5.1",
        model=106,
        spec={"defaults": [{"disable": name, "because": "no"}]},
    )
    before, after = of(whole), of(without)
    gone = {
        (component, key)
        for component, values in before.items()
        for key in values
        if key not in after.get(component, {})
    }
    own = {
        (setting.component, setting.key)
        for setting in whole.settings
        if name in {row.name for row in rows_of(setting)}
    }
    if name == "tuned":
        own = {("tuned", key) for key in before["tuned"]} | {("kernel", "tuned.non_isolcpus")}
    if name == "handler":
        own |= {("runtimeclass", key) for key in before["runtimeclass"]}
    assert own
    assert gone == own
    kinds = [manifest.data["kind"] for manifest in openshift.manifests(without)]
    assert ("Tuned" in kinds) is (name != "tuned")
    assert ("RuntimeClass" in kinds) is (name != "handler")
    # The newest release has all switches; it is not proven.
    assert [finding.code for finding in checks.check(without, no_position)] == ["CP5625"]


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, row in defaults.SWITCHES.items()
        if row.possible.includes(platforms.KUBERNETES)
    ],
)
def test_yes_can_be_said_on_kubernetes(name: str) -> None:
    spec = {"defaults": [{"enable": name, "because": "it is wanted"}], **NEEDED_BY.get(name, {})}
    node = plan(spec=spec, **KUBERNETES)
    switched = [
        setting for setting in node.settings if name in {row.name for row in _rows(setting)}
    ]
    assert switched
    assert [finding.code for finding in checks.check(node, no_position)] == []
    if not defaults.SWITCHES[name].on.includes(platforms.KUBERNETES):
        assert any(
            reason.origin == "Intent/ran:spec.defaults.0"
            for setting in switched
            for reason in setting.reasons
        )


def _rows(setting: Setting) -> list[Default]:
    texts = {reason.text for reason in setting.reasons}
    return [
        row for row in defaults.defaults_of(setting.component, setting.key) if row.reason in texts
    ]


def test_scripts_stay_where_units_run_them() -> None:
    pages = {"pages": [{"size": "2M", "count": 8, "numaNode": 0}]}
    node = plan(
        offlined="7",
        spec={"hugePages": pages, "defaults": [{"disable": "scripts", "because": "unused"}]},
    )
    values = of(node)["units"]
    assert {
        "/usr/local/bin/hugepages-allocation.sh",
        "/usr/local/bin/set-cpus-offline.sh",
    } <= values.keys()


@pytest.mark.parametrize("name", dict.fromkeys(row.name for row in defaults.DEFAULTS))
def test_each_has_a_page(name: str) -> None:
    assert explain_default(name).startswith(f"default {name}, set on ")


def test_an_extra_argument_is_no_default() -> None:
    node = plan(spec={"kernel": {"extraArguments": ["intel_iommu=on"]}}, **KUBERNETES)
    assert kernel.parse(kernel.render(list(kernel.settings(node))))["intel_iommu"] == "on"
    assert kubelet.cpu_options(node) == {}
