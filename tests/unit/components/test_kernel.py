from typing import Any

import pytest

from cpuplan.backends import configure
from cpuplan.base.cpuset import CpuSet
from cpuplan.components import cmdline, kernel
from cpuplan.diagnostics import Reason
from cpuplan.plan import ConfiguredPlan, NodePlan, Pool
from cpuplan.plan.setting import Setting, Settings
from tests.machines.plans import plan, regular


def line(node: ConfiguredPlan) -> list[str]:
    return kernel.arguments(list(kernel.settings(node)))


@pytest.mark.parametrize(
    ("isolation", "present", "absent"),
    [
        (
            {},
            ["isolcpus=managed_irq,2-7", "nohz_full=2-7", "rcu_nocbs=2-7", "nohz=on"],
            ["irqaffinity=0-1"],
        ),
        ({"domain": True}, ["isolcpus=domain,managed_irq,2-7"], []),
        (
            {"domain": True, "managedIrq": False},
            ["isolcpus=domain,2-7"],
            ["isolcpus=managed_irq,2-7"],
        ),
        ({"managedIrq": False}, ["nohz_full=2-7"], ["isolcpus=2-7", "isolcpus="]),
        (
            {"nohzFull": False},
            ["rcu_nocbs=2-7"],
            ["nohz_full=2-7", "nohz=on", "rcutree.nohz_full_patience_delay=1000"],
        ),
        ({"rcuNocbs": False}, ["nohz_full=2-7"], ["rcu_nocbs=2-7"]),
        ({"irqAffinity": True}, ["irqaffinity=0-1"], []),
    ],
)
def test_switches_of_isolation(
    isolation: dict[str, Any], present: list[str], absent: list[str]
) -> None:
    words = line(plan(spec={"isolation": isolation}))
    assert set(present) <= set(words)
    assert not set(absent) & set(words)


@pytest.mark.parametrize(
    ("isolation", "wanted"),
    [
        ({}, ["isolcpus=managed_irq,2-7", "isolcpus=domain,2-3"]),
        ({"managedIrq": False}, ["isolcpus=domain,2-3"]),
        ({"domain": True}, ["isolcpus=domain,managed_irq,2-7"]),
    ],
)
def test_the_scheduler_leaves_the_pool_isolcpus_alone(
    isolation: dict[str, Any], wanted: list[str]
) -> None:
    node = plan(isolated="4-7", isolcpus="2-3", spec={"isolation": isolation})
    assert [word for word in line(node) if word.startswith("isolcpus=")] == wanted
    assert (
        kernel.parse(" ".join(wanted))["isolcpus"] == node.settings.values(kernel.NAME)["isolcpus"]
    )


def test_interrupts_go_to_reserved_cpus_on_kubernetes() -> None:
    assert "irqaffinity=0-1" in line(plan(shared="2", platform="kubernetes", version="1.33"))


def test_arguments_do_not_change_when_cpus_were_switched_off() -> None:
    first = line(plan(regular(cores=8), offlined="6-7"))
    again = line(plan(regular(cores=8, offline=CpuSet.parse("6-7")), isolated="2-5"))
    assert first == again
    assert "systemd.cpu_affinity=0,1" in first


@pytest.mark.parametrize(
    ("model", "word"),
    [(85, "intel_pstate=disable"), (106, "intel_pstate=active"), (207, "intel_pstate=active")],
)
def test_pstate_follows_the_generation(model: int, word: str) -> None:
    assert word in line(plan(model=model))


def test_no_pstate_for_an_unknown_generation() -> None:
    assert not [word for word in line(plan(model=None)) if "pstate" in word]


def test_unknown_vendors_get_what_holds_for_all() -> None:
    words = line(plan(vendor="HygonGenuine"))
    assert not {"iommu=pt", "amd_pstate=guided"} & set(words)
    assert "nohz_full=2-7" in words


OLD_PROFILE = {"mode": "performanceProfile"}
EARLIER_OF_ALL = ["intel_iommu=on", "iommu=pt"]


@pytest.mark.parametrize(
    ("hints", "further"),
    [
        ({"realTime": False}, []),
        ({}, ["tsc=reliable", "nmi_watchdog=0", "mce=off", "intel_pstate=disable"]),
        (
            {"realTime": False, "highPowerConsumption": True},
            ["processor.max_cstate=1", "intel_idle.max_cstate=0"],
        ),
        (
            {"highPowerConsumption": True},
            [
                *["tsc=reliable", "nmi_watchdog=0", "mce=off"],
                *["processor.max_cstate=1", "intel_idle.max_cstate=0", "idle=poll"],
                "intel_pstate=disable",
            ],
        ),
        ({"realTime": False, "perPodPowerManagement": True}, ["intel_pstate=passive"]),
    ],
)
def test_before_4_16_a_profile_gives_every_vendor_the_same(
    hints: dict[str, bool], further: list[str]
) -> None:
    spec = {"workloadHints": hints}
    node = plan(version="4.15", vendor="HygonGenuine", target=OLD_PROFILE, spec=spec)
    words = line(node)
    start = words.index("intel_iommu=on")
    wanted = [*EARLIER_OF_ALL, *further]
    assert words[start : start + len(wanted)] == wanted
    rest = [word for word in words if "cstate" in word or "pstate" in word or "mce" in word]
    assert set(rest) <= set(further)
    reasons = {setting.key: setting.reasons for setting in kernel.settings(node)}
    assert {reason.origin for reason in reasons["intel_iommu"]} == {
        "Intent/ran:spec.targets.0.version"
    }
    assert all(reasons[word.partition("=")[0]] for word in wanted)


@pytest.mark.parametrize(
    ("version", "mode", "architecture", "vendor", "wanted"),
    [
        ("4.20", "performanceProfile", "x86_64", "GenuineIntel", True),
        ("4.20", "performanceProfile", "x86_64", "HygonGenuine", False),
        ("4.20", "mco", "x86_64", "HygonGenuine", True),
        ("4.15", "performanceProfile", "x86_64", "HygonGenuine", True),
        ("4.18", "performanceProfile", "aarch64", "APM", True),
        ("4.17", "performanceProfile", "aarch64", "APM", False),
        ("4.18", "performanceProfile", "x86_64", "APM", False),
        ("4.20", "performanceProfile", "x86_64", "", True),
    ],
)
def test_vendors_that_the_profile_of_tuned_knows(
    version: str, mode: str, architecture: str, vendor: str, wanted: bool
) -> None:
    node = plan(version=version, vendor=vendor, architecture=architecture, target={"mode": mode})
    assert kernel.is_tunable(node) is wanted


@pytest.mark.parametrize(
    ("platform", "version", "wanted"),
    [("openshift", "5.1", True), ("openshift", "4.20", False), ("kubernetes", "1.33", True)],
)
def test_patience_without_ticks_where_the_kernel_may_know_it(
    platform: str, version: str, wanted: bool
) -> None:
    spec = {"defaults": [{"enable": "latency", "because": "ticks"}]}
    words = line(plan(platform=platform, version=version, spec=spec))
    assert ("rcutree.nohz_full_patience_delay=1000" in words) is wanted


def test_offlined_cpus_are_a_reason_for_the_affinity_of_services() -> None:
    node = plan(offlined="7")
    reasons = {setting.key: setting.reasons for setting in kernel.settings(node)}
    origins = {reason.origin for reason in reasons["systemd.cpu_affinity"]}
    assert {"Intent/ran:spec.pools.isolated", "Intent/ran:spec.pools.offlined"} <= origins


@pytest.mark.parametrize(
    ("extra", "wanted"),
    [
        (["rcupdate.rcu_normal_after_boot=0"], ["rcupdate.rcu_normal_after_boot=0"]),
        (["rcupdate.rcu-normal-after-boot=0"], ["rcupdate.rcu-normal-after-boot=0"]),
        (["skew_tick=1"], ["skew_tick=1"]),
        (["console=tty0", "console=ttyS0"], ["console=tty0", "console=ttyS0"]),
        (["quiet", "efi=runtime"], ["quiet", "efi=runtime"]),
    ],
)
def test_extra_arguments_come_last_and_once(extra: list[str], wanted: list[str]) -> None:
    words = line(plan(spec={"kernel": {"extraArguments": extra}}))
    assert words[-len(wanted) :] == wanted
    names = [
        cmdline.canonical(word.partition("=")[0])
        for word in words
        if not word.startswith("console")
    ]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", {}),
        ("quiet", {"quiet": True}),
        ("a=", {"a": ""}),
        ("  a=1\tb=2 \n", {"a": "1", "b": "2"}),
        ('a="x y" b', {"a": "x y", "b": True}),
        ('"a=x y" b', {"a": "x y", "b": True}),
        ('a="x y', {"a": "x y"}),
        ("a=1 a=2", {"a": "2"}),
        ("a=b=c", {"a": "b=c"}),
        ("root=x -- init=y", {"root": "x"}),
        ("rcu-nocbs=0-3:1/2", {"rcu_nocbs": CpuSet.parse("0,2")}),
        ("isolcpus=4-7", {"isolcpus": ("domain", CpuSet.parse("4-7"))}),
        (
            "isolcpus=managed_irq,domain,4,5",
            {"isolcpus": ("domain", "managed_irq", CpuSet.parse("4-5"))},
        ),
        (
            "isolcpus=managed_irq,4-7 isolcpus=domain,6-7",
            {"isolcpus": (("managed_irq", CpuSet.parse("4-7")), ("domain", CpuSet.parse("6-7")))},
        ),
        (
            "isolcpus=4-7 isolcpus=domain,managed_irq,6",
            {"isolcpus": ("domain", CpuSet.parse("4-7"))},
        ),
        ("nohz_full=all", {"nohz_full": "all"}),
        ("tuned.non_isolcpus=00000001,00000003", {"tuned.non_isolcpus": CpuSet.parse("0-1,32")}),
        ("systemd.cpu_affinity=0,1,2", {"systemd.cpu_affinity": CpuSet.parse("0-2")}),
        (
            "hugepagesz=2M hugepages=3 hugepagesz=1G hugepages=4",
            {"hugepagesz=2M": 3, "hugepagesz=1G": 4},
        ),
        # The kernel drops a size that comes again, and the count behind it (mm/hugetlb.c).
        ("hugepagesz=2M hugepages=3 hugepagesz=2M hugepages=4", {"hugepagesz=2M": 3}),
        ("hugepages=5", {"hugepages": "5"}),
        ("hugepagesz=1G quiet", {"hugepagesz=1G": True, "quiet": True}),
        ("hugepagesz=1G hugepages=0:2,1:3", {"hugepagesz=1G": "0:2,1:3"}),
        ("console=tty0 console=ttyS0", {"console=tty0": True, "console=ttyS0": True}),
    ],
)
def test_read_as_the_kernel_reads(text: str, wanted: dict[str, Any]) -> None:
    assert kernel.parse(text) == wanted


def test_occurrences_know_their_columns() -> None:
    times = kernel.occurrences("ro nohz_full=1 quiet nohz_full=2-3")["nohz_full"]
    assert [(occurrence.column, occurrence.text) for occurrence in times] == [
        (4, "nohz_full=1"),
        (22, "nohz_full=2-3"),
    ]


def test_blanks_are_quoted() -> None:
    setting = Setting(kernel.NAME, "acpi_osi", "Windows 2020", ())
    assert kernel.parse(kernel.render([setting])) == Settings([setting]).values(kernel.NAME)


DPDK = {"domain": True, "nohzFull": True}


@pytest.mark.parametrize(
    ("isolation", "own", "wanted"),
    [
        (
            {"nohzFull": False},
            DPDK,
            ["nohz_full=4-5", "rcu_nocbs=2-7", "isolcpus=managed_irq,2-7", "isolcpus=domain,4-5"],
        ),
        (
            {},
            {"nohzFull": False, "rcuNocbs": False, "managedIrq": False},
            ["nohz_full=2-3,6-7", "rcu_nocbs=2-3,6-7", "isolcpus=managed_irq,2-3,6-7"],
        ),
        (
            {"managedIrq": False, "nohzFull": False, "rcuNocbs": False},
            {"managedIrq": True, "domain": True},
            ["isolcpus=domain,managed_irq,4-5"],
        ),
        ({}, {}, ["nohz_full=2-7", "rcu_nocbs=2-7", "isolcpus=managed_irq,2-7"]),
    ],
)
def test_a_partition_is_isolated_in_its_own_way(
    isolation: dict[str, Any], own: dict[str, bool], wanted: list[str]
) -> None:
    node = with_partition({"isolation": isolation}, own)
    keys = ("nohz_full=", "rcu_nocbs=", "isolcpus=")
    assert [word for word in line(node) if word.startswith(keys)] == sorted(
        wanted, key=lambda word: (word.startswith("isolcpus"), not word.startswith("rcu"))
    )
    for setting in kernel.settings(node):
        assert setting.reasons


def with_partition(spec: dict[str, Any], own: dict[str, bool]) -> ConfiguredPlan:
    """A plan whose partition dpdk has CPUs 4 and 5."""
    pools = {
        "reserved": "0-1",
        "isolated": {"partitions": {"dpdk": {"cpus": "4-5", "isolation": own}}},
    }
    made = plan(spec={**spec, "pools": pools})
    dpdk = Pool("isolated.dpdk", CpuSet.parse("4-5"), (Reason("dpdk is 4-5", "test"),))
    return configure(NodePlan(made.node_class, made.pools, (dpdk,)))


def test_a_partition_is_a_reason_for_its_arguments() -> None:
    node = with_partition({"isolation": {"nohzFull": False}}, DPDK)
    (nohz,) = [setting for setting in kernel.settings(node) if setting.key == "nohz_full"]
    assert [reason.text for reason in nohz.reasons] == [
        "dpdk is 4-5",
        "isolated.dpdk has nohzFull",
    ]
    assert nohz.reasons[-1].origin == (
        "Intent/ran:spec.pools.isolated.partitions.dpdk.isolation.nohzFull"
    )


@pytest.mark.parametrize(
    ("isolation", "own", "cpus"),
    [
        ({}, {}, ""),
        ({"domain": True}, {}, "2-7"),
        ({}, DPDK, "4-5"),
        ({"managedIrq": False}, DPDK, "4-5"),
    ],
)
def test_cpus_without_load_balancing(
    isolation: dict[str, Any], own: dict[str, bool], cpus: str
) -> None:
    node = with_partition({"isolation": isolation}, own)
    assert kernel.unbalanced(kernel.settings(node)) == CpuSet.parse(cpus)
