"""Slices of pods: their CPUs, what nothing can keep, and files that give the settings back."""

from typing import Any

import pytest

from cpuplan import backends
from cpuplan.base.cpuset import CpuSet
from cpuplan.components import checks, slices
from cpuplan.diagnostics import Severity
from cpuplan.language.model.cluster import ClusterSpec
from tests.machines.plans import no_position, plan

BEST_EFFORT, BURSTABLE = "kubepods-besteffort.slice", "kubepods-burstable.slice"
PLAIN: dict[str, Any] = {"platform": "kubernetes", "version": "1.33"}
STRICT = {"cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"}}
APART = {"bestEffort": "4-5", "other": "0-3,6-7"}
OF_SLICES = ("CP580", "CP581", "CP582", "CP583", "CP584", "CP585")
PROFILE = {"version": "4.22", "target": {"mode": "performanceProfile"}}


def given(sets: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    """A plain node, with these QoS sets and fields of its kubelet."""
    return {**PLAIN, "sets": sets or {}, "spec": {"kubelet": fields}}


@pytest.mark.parametrize(
    ("node", "wanted"),
    [
        pytest.param(given(), {}, id="no sets"),
        pytest.param(given({"bestEffort": "4-5"}), {BEST_EFFORT: "4-5"}, id="best effort"),
        pytest.param(given(APART, **STRICT), {BEST_EFFORT: "4-5", BURSTABLE: "0-3,6-7"}, id="both"),
        pytest.param(
            {**given(), "isolcpus": "6-7"},
            {"kubepods.slice": "0-5", BEST_EFFORT: "0-5", BURSTABLE: "0-5"},
            id="isolcpus",
        ),
        pytest.param({**given(**STRICT), "isolcpus": "6-7"}, {}, id="the kubelet keeps isolcpus"),
        pytest.param(
            {**given(cpuManagerPolicy="none"), "isolcpus": "6-7"},
            {BEST_EFFORT: "0-5", BURSTABLE: "0-5"},
            id="the kubelet sets kubepods.slice itself",
        ),
        pytest.param({"sets": APART, **PROFILE}, {}, id="a profile"),
    ],
)
def test_the_cpus_of_slices(node: dict[str, Any], wanted: dict[str, str]) -> None:
    assert {
        name: str(cpus) for name, cpus in plan(**node).settings.values(slices.NAME).items()
    } == (wanted)


#: (code, plan, words).
ROWS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("CP581", given(APART, configuration={"cgroupDriver": "cgroupfs"}, **STRICT), ["cgroupDriver"]),
    ("CP580", {"v1": True, **given(APART, **STRICT)}, ["cluster site-a"]),
    ("CP581", given(APART, configuration={"cgroupRoot": "/a"}, **STRICT), ["cgroupRoot", "/a"]),
    (
        "CP581",
        given(
            APART, configuration={"cgroupsPerQOS": False, "enforceNodeAllocatable": []}, **STRICT
        ),
        ["cgroupsPerQOS", "false"],
    ),
    ("CP582", {"sets": {"bestEffort": "0-1"}, **PROFILE}, ["mode mco"]),
    ("CP583", given({**APART, "bestEffort": "0,4-5"}), ["CPUs 4-5", "strict-cpu-reservation"]),
    ("CP583", given(APART, cpuManagerPolicy="none"), ["CPUs 4-5", "static policy"]),
    ("CP584", given({"bestEffort": "4-5"}), ["CPUs 4-5 of qos.bestEffort", "BestEffort pods"]),
    (
        "CP585",
        given({"bestEffort": "0,2-5", "other": "0-1,4-7"}, **STRICT),
        ["BestEffort pods", "CPUs 2-3", "CPUs 4-5"],
    ),
]


@pytest.mark.parametrize(("code", "node", "words"), ROWS)
def test_each_finding(code: str, node: dict[str, Any], words: list[str]) -> None:
    fields = dict(node)
    is_v1 = fields.pop("v1", False)
    made = plan(**fields)
    if is_v1:
        made.node_class.cluster_facts = ClusterSpec.model_validate({"cgroupMode": "v1"})
    wrong = [
        finding
        for finding in checks.check(made, no_position)
        if finding.code == code or finding.severity is Severity.ERROR
    ]
    assert [finding.code for finding in wrong] == [code]
    for word in words:
        assert word in f"{wrong[0].message}; {wrong[0].remedy}"


@pytest.mark.parametrize(
    "node",
    [
        given({"bestEffort": "0,4-5"}),
        given(APART, **STRICT),
        given({"bestEffort": "0,4-5"}, cpuManagerPolicy="none"),
        {"sets": APART, "target": {"cpuPartitioning": True}},
        {**given(), "isolcpus": "6-7"},
    ],
)
def test_what_is_kept_is_not_reported(node: dict[str, Any]) -> None:
    codes = {finding.code for finding in checks.check(plan(**node), no_position)}
    assert not codes & {"CP526", *OF_SLICES}


def test_openshift_gets_the_drop_ins_in_its_machine_config() -> None:
    node = plan(sets=APART, target={"cpuPartitioning": True})
    made = backends.of(node.node_class).manifests(node)
    manifests = {manifest.file: manifest.data for manifest in made}
    files = manifests["10-machineconfig-ran.yaml"]["spec"]["config"]["storage"]["files"]
    paths = [file["path"] for file in files]
    assert {slices.path(BEST_EFFORT), slices.path(BURSTABLE)} <= set(paths)


@pytest.mark.parametrize(
    ("texts", "cpus"),
    [
        (["AllowedCPUs=0-1\n", "AllowedCPUs=4\n"], "0-1,4"),
        (["AllowedCPUs=0-1\n", "AllowedCPUs=\nAllowedCPUs=4\n"], "4"),
        (["AllowedCPUs=0 2\n"], "0,2"),
        (["AllowedCPUs=4\nAllowedCPUs=\n"], ""),
        (["CPUWeight=10\n"], ""),
        (["AllowedCPUs=all\n"], ""),
        (["AllowedCPUs=0-1\n", "AllowedCPUs = 2,all\n"], "0-1"),
        (["AllowedCPUs=0-1\n", "AllowedCPUs=3-2\n"], ""),
    ],
)
def test_what_drop_ins_add_up_to(texts: list[str], cpus: str) -> None:
    assert str(slices.allowed(texts)) == cpus


def test_drop_ins_come_after_what_systemd_keeps_of_the_kubelets_writes() -> None:
    assert slices.FILE > "50-AllowedCPUs.conf"
    text = slices.text_of(CpuSet.parse("2-3"))
    assert text.splitlines()[-2:] == ["AllowedCPUs=", "AllowedCPUs=2-3"]
