from typing import Any

import pytest

from cpuplan.components import cmdline, kernel
from cpuplan.cpuset import CpuSet
from cpuplan.plan import ConfiguredPlan
from cpuplan.setting import Setting, Settings
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
    found = line(plan(spec={"isolation": isolation}))
    assert set(present) <= set(found)
    assert not set(absent) & set(found)


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
    found = line(plan(vendor="HygonGenuine"))
    assert not {"iommu=pt", "amd_pstate=guided"} & set(found)
    assert "nohz_full=2-7" in found


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
    found = line(plan(spec={"kernel": {"extraArguments": extra}}))
    assert found[-len(wanted) :] == wanted
    names = [
        cmdline.canonical(word.partition("=")[0])
        for word in found
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
        ("hugepagesz=2M hugepages=3 hugepagesz=2M hugepages=4", {"hugepagesz=2M": 4}),
        ("hugepages=5", {"hugepages": "5"}),
        ("hugepagesz=1G quiet", {"hugepagesz=1G": True, "quiet": True}),
        ("hugepagesz=1G hugepages=0:2,1:3", {"hugepagesz=1G": "0:2,1:3"}),
        ("console=tty0 console=ttyS0", {"console=tty0": True, "console=ttyS0": True}),
    ],
)
def test_read_as_the_kernel_reads(text: str, wanted: dict[str, Any]) -> None:
    assert kernel.parse(text) == wanted


def test_occurrences_know_their_columns() -> None:
    found = kernel.occurrences("ro nohz_full=1 quiet nohz_full=2-3")["nohz_full"]
    assert [(each.column, each.text) for each in found] == [
        (4, "nohz_full=1"),
        (22, "nohz_full=2-3"),
    ]


def test_blanks_are_quoted() -> None:
    setting = Setting(kernel.NAME, "acpi_osi", "Windows 2020", ())
    assert kernel.parse(kernel.render([setting])) == Settings([setting]).values(kernel.NAME)
