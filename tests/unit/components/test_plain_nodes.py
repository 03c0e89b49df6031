"""What nodes without an operator get beside kubelet, runtime and boot arguments."""

from typing import Any

import pytest

from cpuplan.backends import kubernetes
from cpuplan.components import checks, crio
from cpuplan.components.host import (
    interrupts,
    irqbalance,
    kubelet_unit,
    rps,
    sysctl,
    systemd,
    tuned,
    workqueue,
)
from cpuplan.components.openshift import tuned as of_openshift
from cpuplan.language.model.cluster import ClusterSpec
from cpuplan.plan import ConfiguredPlan
from tests.machines.plans import no_position, plan, regular

KUBERNETES: dict[str, Any] = {"platform": "kubernetes", "version": "1.36"}
REAL_TIME = {"workloadHints": {"realTime": True}}


def text(of: ConfiguredPlan, path: str) -> str:
    return kubernetes.of(of).files[path].data.decode()


def test_no_sysctls_and_no_profile_that_nobody_needs() -> None:
    settings = plan(**KUBERNETES).settings
    assert not settings.of(sysctl.NAME)
    assert not settings.of(tuned.NAME)


def test_real_time_workloads_get_the_values_of_openshift() -> None:
    """The same sysctls and options as there, with two kinds of exceptions.

    These are what its parents need, and what is a default of the operator alone.
    """
    plain = plan(spec=REAL_TIME, **KUBERNETES).settings
    operator = plan(spec=REAL_TIME).settings.values(of_openshift.NAME)
    sysctls = {
        key.removeprefix("sysctl."): value
        for key, value in operator.items()
        if key.startswith("sysctl.")
    }
    by_name = {"net.ipv4.tcp_fastopen", "vm.dirty_ratio", "vm.dirty_background_ratio"}
    assert plain.values(sysctl.NAME).items() <= sysctls.items()
    assert sysctls.keys() - plain.values(sysctl.NAME).keys() == by_name | {"vm.swappiness"}
    options = plain.values(tuned.NAME)
    assert options.items() <= operator.items()
    assert {"service.service.stalld", "cpu.governor", "scheduler.runtime"} <= options.keys()


def test_a_default_of_the_operator_is_had_by_its_name() -> None:
    spec = {"defaults": [{"enable": "swappiness", "because": "one"}]}
    made = plan(spec=spec, **KUBERNETES)
    assert text(made, sysctl.PATH) == "vm.swappiness = 10\n"
    assert not made.settings.of(tuned.NAME)


def test_a_profile_for_what_only_tuned_sets() -> None:
    spec = {
        "hardwareTuning": {"isolatedCpuFreq": 2500000, "reservedCpuFreq": 2800000},
        "net": {"userLevelNetworking": True, "devices": [{"interfaceName": "ens*"}]},
    }
    made = plan(regular(cores=3), spec=spec, **KUBERNETES)
    policy = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_max_freq={}\n"
    expected = (
        "[net]\ntype=net\ndevices_udev_regex=^INTERFACE=ens.*\nchannels=combined 2\n\n[sysfs]\n"
        + policy.format(2, 2500000)
        + policy.format(0, 2800000)
        + policy.format(1, 2800000)
    )
    assert [text(made, path) for path in tuned.PATHS] == [expected, expected]
    assert text(made, tuned.RECOMMEND_PATH) == "[cpuplan]\n"
    assert not made.settings.of(sysctl.NAME)


def test_pods_that_choose_frequencies_get_no_governor() -> None:
    spec = {"workloadHints": {"realTime": True, "perPodPowerManagement": True}}
    options = plan(spec=spec, **KUBERNETES).settings.values(tuned.NAME)
    assert "cpu.governor" not in options
    assert "scheduler.runtime" in options


@pytest.mark.parametrize("physical", [False, True])
def test_packets_are_steered(physical: bool) -> None:
    """Scripts are run by their shell, since the files of a tree have no mode."""
    spec = {"net": {"receivePacketSteering": True, "physicalDeviceRps": physical}}
    files = kubernetes.of(plan(spec=spec, **KUBERNETES)).files
    assert files[rps.SYSCTL_PATH].data == b"net.core.rps_default_mask = 00000003\n"
    unit = files.get(f"/etc/systemd/system/{rps.UNIT}")
    assert (unit is None) is physical
    assert (rps.RULES_PATH in files) is not physical
    if unit:
        assert b"ExecStart=/bin/bash /usr/local/bin/set-rps-mask.sh %I 0\n" in unit.data


CONFIGURATION = "--config=/var/lib/kubelet/config.yaml"
FOLDER = "--config-dir=/etc/kubernetes/kubelet.conf.d"
KUBELET_UNIT = "/etc/systemd/system/kubelet.service.d/50-cpuplan.conf"
PAGES = {"hugePages": {"pages": [{"size": "2M", "count": 64, "numaNode": 0}]}}


def test_a_kubelet_reads_its_folder() -> None:
    """kubeadm's own variable of the configuration: no file of an administrator replaces it."""
    lines = text(plan(**KUBERNETES), KUBELET_UNIT).splitlines()
    assert lines == [
        "[Unit]",
        "Wants=cpuplan-interrupts.service",
        "",
        "[Service]",
        f'Environment="KUBELET_CONFIG_ARGS={CONFIGURATION} {FOLDER}"',
    ]


@pytest.mark.parametrize(("version", "is_alpha"), [("1.28", True), ("1.29", True), ("1.30", False)])
def test_a_folder_that_is_alpha(version: str, is_alpha: bool) -> None:
    made = text(plan(platform="kubernetes", version=version), KUBELET_UNIT)
    assert ("Environment=KUBELET_CONFIG_DROPIN_DIR_ALPHA=1\n" in made) is is_alpha


def test_a_kubelet_waits_for_what_it_counts() -> None:
    """It requires the units, so that it does not start where pages are short."""
    made = text(plan(offlined="7", spec=PAGES, **KUBERNETES), KUBELET_UNIT)
    units = "set-cpus-offline.service hugepages-allocation-2048kB-NUMA0.service"
    assert f"Requires={units}\nAfter={units}\n" in made


def test_the_kubelet_of_another_unit() -> None:
    target = {"kubeletUnit": "k0sworker.service"}
    files = kubernetes.of(plan(target=target, **KUBERNETES)).files
    assert "/etc/systemd/system/k0sworker.service.d/50-cpuplan.conf" in files
    assert KUBELET_UNIT not in files


def test_no_folder_on_request() -> None:
    spec = {"defaults": [{"disable": "kubelet-drop-ins", "because": "flags of our own"}]}
    assert "[Service]" not in text(plan(spec=spec, **KUBERNETES), KUBELET_UNIT)


def test_interrupts_are_moved_and_kept_away() -> None:
    made = plan(offlined="7", **KUBERNETES)
    assert "Environment=CPUS=0-1\n" in text(made, f"/etc/systemd/system/{interrupts.UNIT}")
    assert f'ENV{{SYSTEMD_WANTS}}+="{interrupts.UNIT}"' in text(made, interrupts.RULES_PATH)
    assert text(made, irqbalance.ENVIRONMENT_PATH) == "IRQBALANCE_BANNED_CPULIST=2-7\n"
    drop_in = text(made, irqbalance.DROP_IN)
    assert f"EnvironmentFile={irqbalance.ENVIRONMENT_PATH}\n" in drop_in
    assert "UnsetEnvironment=IRQBALANCE_BANNED_CPUS\n" in drop_in


@pytest.mark.parametrize(("banned", "expected"), [(False, None), (True, "2-7")])
def test_irqbalance_alone(banned: bool, expected: str | None) -> None:
    isolation = {"irqAffinity": False, "globallyDisableIrqLoadBalancing": banned}
    settings = plan(spec={"isolation": isolation}, **KUBERNETES).settings
    cpus = settings.values(irqbalance.NAME).get(irqbalance.LIST)
    assert (None if cpus is None else str(cpus)) == expected
    assert not settings.of(interrupts.NAME)
    assert "Wants" not in settings.values(kubelet_unit.NAME)


@pytest.mark.parametrize(
    ("isolation", "is_needed"),
    [({}, False), ({"nohzFull": False}, True), ({"nohzFull": False, "domain": True}, False)],
)
def test_a_mask_of_workqueues_where_no_argument_gives_one(
    isolation: dict[str, bool], is_needed: bool
) -> None:
    files = kubernetes.of(
        plan(regular(cores=40), spec={"isolation": isolation}, **KUBERNETES)
    ).files
    line = b"w /sys/devices/virtual/workqueue/cpumask - - - - 00000000,00000003\n"
    assert (workqueue.PATH in files) is is_needed
    if is_needed:
        assert files[workqueue.PATH].data == line.replace(b"00000000,", b"")


def test_services_stay_off_in_slices_on_request() -> None:
    made = plan(spec={"isolation": {"systemServices": "slices"}}, shared="2", **KUBERNETES)
    assert text(made, systemd.MANAGER_PATH) == "[Manager]\nCPUAffinity=\nCPUAffinity=0-2\n"
    path = "/etc/systemd/system/{}.d/99-cpuplan.conf"
    for name, section in systemd.SLICES.items():
        assert text(made, path.format(name)) == f"[{section}]\nAllowedCPUs=\nAllowedCPUs=0-2\n"
    without = kubernetes.of(plan(**KUBERNETES)).files
    assert path.format("system.slice") not in without


HOOKS = {"runtime": {"handler": "low-latency"}}
OWN_INTERRUPTS = {"isolation": {"irqAffinity": False}}


def test_cri_o_rewrites_the_file_that_irqbalance_reads() -> None:
    debian = plan(spec=HOOKS, target={"osFamily": "debian"}, **KUBERNETES).settings
    config = debian.values(crio.NAME)
    assert config["irqbalance_config_file"] == "/etc/default/irqbalance"
    assert config["irqbalance_config_restore_file"] == "/etc/default/orig_irq_banned_cpus"
    for family in ("redhat", "suse", None):
        made = plan(spec=HOOKS, target={"osFamily": family}, **KUBERNETES).settings
        assert "irqbalance_config_file" not in made.values(crio.NAME)


@pytest.mark.parametrize(
    ("spec", "family", "codes"),
    [
        ({**HOOKS, **OWN_INTERRUPTS}, None, ["CP575"]),
        ({**HOOKS, **OWN_INTERRUPTS}, "redhat", []),
        (HOOKS, None, []),
        (OWN_INTERRUPTS, None, []),
    ],
)
def test_an_unknown_system_matters_where_interrupts_are_balanced(
    spec: dict[str, Any], family: str | None, codes: list[str]
) -> None:
    target = {"osFamily": family} if family else {}
    findings = checks.check(plan(spec=spec, target=target, **KUBERNETES), no_position)
    assert [finding.code for finding in findings] == codes


def test_slices_need_control_groups_of_version_2() -> None:
    spec = {"isolation": {"systemServices": "slices"}}
    made = plan(spec=spec, **KUBERNETES)
    assert checks.check(made, no_position) == []
    made.node_class.cluster_facts = ClusterSpec.model_validate({"cgroupMode": "v1"})
    assert [finding.code for finding in checks.check(made, no_position)] == ["CP574"]


@pytest.mark.parametrize(
    ("family", "is_read"), [(None, True), ("debian", True), ("redhat", False), ("suse", False)]
)
def test_a_folder_of_grub_where_it_may_be_read(family: str | None, is_read: bool) -> None:
    made = plan(target={"osFamily": family}, **KUBERNETES)
    assert ("etc/default/grub.d/50-cpuplan.cfg" in kubernetes.node_files(made)) is is_read
    assert "cmdline" in kubernetes.node_files(made)
