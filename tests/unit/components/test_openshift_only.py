"""Components of OpenShift: TuneD's profile, receive packet steering, workload partitioning."""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.components import kernel, kubelet
from cpuplan.components.host import rps
from cpuplan.components.openshift import operator_units, ovsdpdk, pinning, tuned
from cpuplan.plan.setting import Value
from tests.machines.plans import plan, regular

OPENSHIFT: dict[str, Any] = {"platform": "openshift", "version": "5.1"}


def options(spec: dict[str, Any]) -> dict[str, Value]:
    """TuneD's options for four cores of which one is reserved."""
    return plan(regular(cores=4), spec=spec, **OPENSHIFT).settings.values(tuned.NAME)


@pytest.mark.parametrize(
    ("spec", "changed"),
    [
        (
            {},
            {
                "service.service.stalld": "start,enable",
                "irqbalance.enabled": "false",
                "cpu.governor": "performance",
            },
        ),
        ({"workloadHints": {"realTime": False}}, {"service.service.stalld": "stop,disable"}),
        ({"workloadHints": {"perPodPowerManagement": True}}, {"cpu.enabled": "false"}),
        (
            {"kernel": {"realTime": True}},
            {"sysctl.drop": "kernel.numa_balancing,net.core.busy_read,net.core.busy_poll"},
        ),
        ({"net": {"userLevelNetworking": True}}, {"net.channels": "combined 2"}),
        (
            {
                "net": {
                    "userLevelNetworking": True,
                    "devices": [{"interfaceName": "ens*"}, {"interfaceName": "!eno1"}],
                }
            },
            {
                "net.devices_udev_regex": "^INTERFACE=ens.*",
                "net_1.devices_udev_regex": "^INTERFACE=(?!eno1)",
            },
        ),
        (
            {
                "net": {
                    "userLevelNetworking": True,
                    "devices": [{"vendorID": "0x8086", "deviceID": "0x158b"}],
                }
            },
            {"net.devices_udev_regex": r"^ID_MODEL_ID=0x158b[\s\S]*^ID_VENDOR_ID=0x8086"},
        ),
        (
            {"hardwareTuning": {"isolatedCpuFreq": 2500000, "reservedCpuFreq": 2800000}},
            {"sysfs./sys/devices/system/cpu/cpufreq/policy1/scaling_max_freq": "2800000"},
        ),
    ],
)
def test_options(spec: dict[str, Any], changed: dict[str, Value]) -> None:
    made = options(spec)
    assert {key: made.get(key) for key in changed} == changed


def test_left_out() -> None:
    assert "irqbalance.enabled" not in options(
        {"isolation": {"globallyDisableIrqLoadBalancing": True}}
    )
    assert "sysctl.kernel.nmi_watchdog" not in options({"workloadHints": {"realTime": False}})
    assert "cpu.governor" not in options({"workloadHints": {"perPodPowerManagement": True}})
    assert not plan(platform="kubernetes", version="1.33").settings.values(tuned.NAME)


def test_devices_have_sections_only_for_their_queues() -> None:
    devices = [{"interfaceName": "ens*"}, {"interfaceName": "eno1"}]
    spec = {"net": {"userLevelNetworking": False, "devices": devices}}
    target = {"mode": "performanceProfile"}
    made = plan(regular(cores=4), spec=spec, target=target, version="4.20")
    keys = made.settings.values(tuned.NAME)
    assert {key for key in keys if key.startswith("net")} == {"net.nf_conntrack_hashsize"}


def test_profile_is_read_back() -> None:
    settings = list(tuned.settings(plan(regular(cores=4), **OPENSHIFT)))
    assert tuned.parse(tuned.render(settings)) == {
        setting.key: setting.value for setting in settings
    }
    assert tuned.render(settings).startswith("[main]\nsummary=")


@pytest.mark.parametrize(("physical", "units"), [(False, ["update-rps@.service"]), (True, [])])
def test_rps(physical: bool, units: list[str]) -> None:
    spec = {"net": {"receivePacketSteering": True, "physicalDeviceRps": physical}}
    settings = list(rps.settings(plan(regular(cores=4), spec=spec, **OPENSHIFT)))
    files = rps.files(settings)
    assert rps.parse(files[rps.SYSCTL_PATH][1]) == {
        "net.core.rps_default_mask": CpuSet.parse("0-1")
    }
    assert files[rps.SCRIPT_PATH][0] == 0o700
    assert (rps.RULES_PATH in files) is bool(units)
    assert list(rps.units(settings)) == units


def test_no_rps_unless_asked_for() -> None:
    assert rps.files(list(rps.settings(plan(**OPENSHIFT)))) == {}


def test_pinning() -> None:
    settings = list(
        pinning.settings(plan(regular(cores=4), target={"cpuPartitioning": True}, **OPENSHIFT))
    )
    assert pinning.parse(pinning.render(settings)) == {"management.cpuset": CpuSet.parse("0-1")}
    assert 'cpuset = "0-1"' in pinning.files(settings)[pinning.CRIO_PATH][1]
    assert 'cpuset = ""' in pinning.default_files()[pinning.DEFAULT_CRIO_PATH][1]
    assert pinning.files(list(pinning.settings(plan(**OPENSHIFT)))) == {}


def dpdk(**spec: Any) -> Any:
    """Eight cores: 0-1 reserved, 2-3 for Open vSwitch, 4-7 isolated."""
    options = {"cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"}}
    given = {"openVSwitch": {"dpdk": True, **spec}, "kubelet": options}
    return plan(regular(cores=8), isolated="4-7", isolcpus="2-3", spec=given, **OPENSHIFT)


def test_dpdk_threads_have_their_cpus_to_themselves() -> None:
    node = dpdk()
    everything = node.settings.values(kernel.NAME)
    assert everything["isolcpus"] == ("managed_irq", CpuSet.parse("2-7"))
    assert everything["irqaffinity"] == CpuSet.parse("0-1,4-7")
    assert node.settings.values(kubelet.NAME)["reservedSystemCPUs"] == CpuSet.parse("0-3")
    assert node.settings.values(tuned.NAME)["variables.isolated_cores"] == CpuSet.parse("2-7")
    systemd = node.settings.of(operator_units.NAME)
    assert (
        "Environment=OVS_DPDK_CPUS=c\n"
        in operator_units.units(systemd)[operator_units.IRQBALANCE_UNIT]
    )
    assert (
        "Delegate=cpuset cpu pids\n"
        in operator_units.files(systemd)[operator_units.OVS_VSWITCHD][1]
    )


def test_cpus_in_no_pool_get_no_interrupts_beside_dpdk() -> None:
    """The operator adds up the lists of its profile (facts/nto.md 2, cpu.ovsDpdk)."""
    options = {"cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"}}
    given = {"openVSwitch": {"dpdk": True}, "kubelet": options}
    node = plan(
        regular(cores=10), isolated="5-7", isolcpus="2-3", offlined="9", spec=given, **OPENSHIFT
    )
    assert node.settings.values(kernel.NAME)["irqaffinity"] == CpuSet.parse("0-1,5-7")


@pytest.mark.parametrize(("balanced", "partition"), [(True, "member"), (False, "isolated")])
def test_dpdk_unit(balanced: bool, partition: str) -> None:
    settings = list(ovsdpdk.settings(dpdk(loadBalancing=balanced)))
    assert f"ovs-dpdk-cpus-configure.sh 2-3 {partition}\n" in ovsdpdk.units(settings)[ovsdpdk.UNIT]
    assert ovsdpdk.parse(ovsdpdk.render(settings)) == {
        setting.key: setting.value for setting in settings
    }
    assert ovsdpdk.files(settings)[ovsdpdk.SCRIPT_PATH][0] == 0o700


def test_units_of_dpdk_are_read_back() -> None:
    settings = list(operator_units.settings(dpdk()))
    assert operator_units.parse(operator_units.render(settings)) == {
        setting.key: setting.value for setting in settings
    }
    assert operator_units.parse(
        operator_units.render(list(operator_units.settings(plan(**OPENSHIFT))))
    ) == plan(**OPENSHIFT).settings.values(operator_units.NAME)


@pytest.mark.parametrize(
    ("cpus", "mask"),
    [
        ((0, 3), CpuSet((0, 3))),
        ((0, 255), CpuSet((0, 255))),
        # The digits are cut from the left, and the last ones are lost.
        ((256,), ",".join(["10000000", *["00000000"] * 7])),
        ((260,), ",".join(["10000000", *["00000000"] * 7])),
        ((287,), CpuSet((287,))),
    ],
)
def test_masks_of_machines_with_more_than_256_cpus(cpus: tuple[int, ...], mask: object) -> None:
    assert rps._short_mask(CpuSet(cpus)) == mask
