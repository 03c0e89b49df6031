"""Arguments of others: each undoes a plan that needs what it takes, and no other."""

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.components.cmdline import arguments
from cpuplan.upstream.linux.kernel_parameters import Needs, undoing

NEEDS = Needs(
    cpus=CpuSet.parse("0-15"),
    present=CpuSet.parse("0-15"),
    first_threads=CpuSet.parse("0-7"),
    numa_nodes=2,
    arguments=frozenset(("nohz_full", "intel_pstate")),
    has_huge_pages=True,
    system=CpuSet.parse("0-3"),
)


def found(line: str, needs: Needs = NEEDS) -> list[str]:
    return [argument.text for argument in undoing(arguments(line), needs)]


@pytest.mark.parametrize(
    "argument",
    [
        "maxcpus=8",
        "maxcpus=0",
        "nr_cpus=12",
        "possible_cpus=8",
        "nosmp",
        "nosmt",
        "nosmt=force",
        "mitigations=auto,nosmt",
        "l1tf=full",
        "mds=full,nosmt",
        "idle=poll",
        "idle=nomwait",
        "isolcpus=2-3",
        "rcu_nocbs=2-3",
        "irqaffinity=0",
        "systemd.cpu_affinity=0-7",
        "cgroup_disable=memory,cpuset",
        "cgroup_disable=hugetlb",
        "systemd.unified_cgroup_hierarchy=0",
        "hugepages=64",
        "hugetlb=off",
        "numa=off",
        "numa=fake=4",
        "acpi=off",
        "noapic",
        "pci=nomsi,noaer",
        "threadirqs",
        "nohz=off",
        "highres=off",
        "notsc",
        "tsc=unstable",
        "clocksource=hpet",
        "cpufreq.off=1",
        "mem=8G",
    ],
)
def test_undoes_the_plan(argument: str) -> None:
    assert found(f"ro {argument} quiet") == [argument]


@pytest.mark.parametrize(
    "argument",
    [
        "maxcpus=16",
        "nr_cpus=64",
        "mitigations=auto",
        "mitigations=off",
        "l1tf=flush",
        "nohz_full=4-7",  # the plan's own: compared with it elsewhere
        "nohz-full=4-7",
        "systemd.cpu_affinity=0,1,2,3",
        "cgroup_disable=io",
        "systemd.unified_cgroup_hierarchy=1",
        "hugepagesz=1G hugepages=4",  # pools of each size are counted elsewhere
        "numa_balancing=disable",
        "acpi=force",
        "pci=noaer",
        "clocksource=tsc",
        "tsc=reliable",
        "cpufreq.off=0",
        "mem=nopentium",
        "nokaslr",
    ],
)
def test_takes_nothing_from_the_plan(argument: str) -> None:
    assert found(f"ro {argument} quiet") == []


def test_needs_decide() -> None:
    assert found("nosmt nr_cpus=8", NEEDS._replace(cpus=CpuSet.parse("0-7"))) == []
    assert found("nohz=off", NEEDS._replace(has_isolated=False)) == []
    assert found("threadirqs", NEEDS._replace(is_real_time_kernel=True)) == []
    assert found("numa=off", NEEDS._replace(numa_nodes=1)) == []
    assert found("systemd.unified_cgroup_hierarchy=0", NEEDS._replace(is_cgroup_v1=True)) == []
    assert found("cgroup_no_v1=all", NEEDS._replace(is_cgroup_v1=True)) == ["cgroup_no_v1=all"]


def test_each_argument_once() -> None:
    assert found("nosmt idle=poll nosmt") == ["nosmt", "idle=poll"]
