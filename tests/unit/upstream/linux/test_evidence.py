"""Which files show a boot argument, and what they say."""

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.upstream.linux.evidence import of_argument, of_lists
from cpuplan.upstream.linux.isolation import Hardware, Line, boot

MACHINE = Hardware(0xFF, 0x0F, 0xFF)
CPU = "sys/devices/system/cpu"


@pytest.mark.parametrize(
    ("line", "key", "shown"),
    [
        ("isolcpus=domain,4-7", "isolcpus", {f"{CPU}/isolated": "4-7"}),
        ("isolcpus=managed_irq,4-7", "isolcpus", {}),
        ("nohz_full=4-7", "nohz_full", {f"{CPU}/nohz_full": "4-7"}),
        ("nohz_full=0,4-7", "nohz_full", {f"{CPU}/nohz_full": "4-7"}),
        ("nohz_full=4-8", "nohz_full", {f"{CPU}/nohz_full": ""}),
        ("irqaffinity=2-3", "irqaffinity", {"proc/irq/default_smp_affinity": "0,2-3"}),
        ("rcu_nocbs=4-7", "rcu_nocbs", {}),
    ],
)
def test_lists_show_what_the_kernel_makes_of_them(
    line: str, key: str, shown: dict[str, str]
) -> None:
    evidence = of_lists(key, boot(Line(line), MACHINE))
    assert {fact.path: str(fact.value) for fact in evidence} == shown
    assert all(isinstance(fact.value, CpuSet) for fact in evidence)


@pytest.mark.parametrize(
    ("key", "value", "path", "texts"),
    [
        ("nosoftlockup", "", "proc/sys/kernel/soft_watchdog", ("0",)),
        ("transparent_hugepage", "never", "sys/kernel/mm/transparent_hugepage/enabled", ("never",)),
        ("intel_pstate", "disable", f"{CPU}/intel_pstate/status", ("", "off")),
        ("idle", "poll", f"{CPU}/cpuidle/current_driver", ("none", "haltpoll")),
        ("sysctl.vm.swappiness", "10", "proc/sys/vm/swappiness", ("10",)),
        (
            "rcutree.kthread_prio",
            "11",
            "sys/module/rcutree/parameters/kthread_prio",
            ("11",),
        ),
        ("processor.max_cstate", "0x1", "sys/module/processor/parameters/max_cstate", ("0x1", "1")),
        ("kvm.tdp_mmu", "on", "sys/module/kvm/parameters/tdp_mmu", ("on", "Y", "1")),
        ("kvm.tdp_mmu", "0", "sys/module/kvm/parameters/tdp_mmu", ("0", "N")),
    ],
)
def test_other_arguments(key: str, value: str, path: str, texts: tuple[str, ...]) -> None:
    [shown] = of_argument(key, value)
    assert (shown.path, shown.value) == (path, texts)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("skew_tick", "1"),
        ("nohz", "on"),
        ("nmi_watchdog", "panic"),
        ("rd.lv", "x"),
        ("a.b", ""),
    ],
)
def test_what_nothing_shows(key: str, value: str) -> None:
    assert of_argument(key, value) == ()


def test_a_parameter_of_a_newer_kernel_has_its_release() -> None:
    [shown] = of_argument("rcutree.nohz_full_patience_delay", "1000")
    assert shown.since == "6.11"
