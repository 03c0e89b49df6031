"""What a change of one setting costs: by its row, and by what its platform does with it."""

from typing import Any

import pytest

from cpuplan.change.impact.setting_rules import Changed, rule_of, rule_on
from cpuplan.facts.settings import crio, host, kernel, kubelet, objects
from cpuplan.facts.settings.costs import Rule
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Setting
from tests.machines.plans import plan


@pytest.mark.parametrize(
    ("component", "key", "after", "rule"),
    [
        ("kernel", "nohz_full", "1-7", "boot-arguments"),
        ("kernel", "nohz_full", None, "boot-arguments"),
        ("kernel", "an.argument.of.others", "1", "boot-arguments"),
        ("slices", "system.slice", "0-1", "slice-cpus"),
        ("slices", "system.slice", None, "slice-cpus-removed"),
        ("nrt", "zones", "1", None),
        ("pinning", "pools", "1", None),
        ("something else", "key", "1", "unknown-file"),
    ],
)
def test_the_rule_of_a_row(component: str, key: str, after: Any, rule: str | None) -> None:
    """Of a key without a row, that of its component's first row."""
    assert rule_of(Changed(component, key, "before", after)) == rule


PLATFORMS = {
    name: plan(platform=name) for name in ("kubernetes", "talos", "bottlerocket", "openshift")
}
HOSTED = plan(target={"mode": "performanceProfile", "controlPlaneTopology": "External"})


@pytest.mark.parametrize(
    ("row", "rules"),
    [
        (
            kernel.NOHZ_FULL,
            ["boot-arguments", "talos-schematic", "bottlerocket-boot", "mco-kernel-arguments"],
        ),
        (
            kubelet.TOPOLOGY_MANAGER_POLICY,
            ["kubelet-config", "talos-kubelet", "bottlerocket-kubelet", "mco-kubelet-config"],
        ),
        (crio.SHARED_CPUSET, ["crio-config", None, None, "mco-file"]),
    ],
)
def test_a_platform_has_its_own_rules(row: Any, rules: list[str | None]) -> None:
    setting = Setting(row.component, row.key, "1", ())
    made = [name(rule_on(node, setting)) for node in PLATFORMS.values()]
    assert made == rules
    assert name(rule_on(HOSTED, setting)) == "hosted-node-pool"


def test_an_object_of_the_api_costs_the_same_on_each_platform() -> None:
    setting = Setting("runtimeclass", "scheduling", "1", ())
    nodes = [*PLATFORMS.values(), HOSTED]
    assert {name(rule_on(node, setting)) for node in nodes} == {"runtime-class"}


@pytest.mark.parametrize(
    ("node", "rule"), [(PLATFORMS["openshift"], "nto-tuned"), (HOSTED, "hosted-tuned")]
)
def test_a_profile_of_tuned_is_applied_by_its_operator(node: ConfiguredPlan, rule: str) -> None:
    assert name(rule_on(node, Setting("tuned", "sysctl.vm.stat_interval", "1", ()))) == rule


@pytest.mark.parametrize(("key", "rule"), [("a.service", "mco-unit"), ("/usr/bin/a", "mco-file")])
def test_a_unit_is_no_file_to_the_machine_config_operator(key: str, rule: str) -> None:
    node = PLATFORMS["openshift"]
    assert name(rule_on(node, Setting(host.UNITS, key, "1", ()))) == rule


def test_what_nothing_notices_has_no_rule_anywhere() -> None:
    for node in (*PLATFORMS.values(), HOSTED):
        assert rule_on(node, Setting(objects.NRT, "zones", "1", ())) is None


def name(rule: Rule | None) -> str | None:
    return rule and rule.id
