"""Interrupts on CPUs of their own, on plain nodes and on OpenShift."""

from typing import Any

from cpuplan.backends import configure
from cpuplan.backends.openshift import checks
from cpuplan.base.cpuset import CpuSet
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Value
from cpuplan.solve import solver
from tests.unit.solve.problems import locate, machine, node_class

POOLS = {
    "reserved": {"partitions": {"interrupts": {"cores": 2}, "system": {"cores": 1}}},
    "isolated": "rest",
}


def node(pools: dict[str, Any], interrupts: str | None, **spec: Any) -> ConfiguredPlan:
    isolation = {"interrupts": interrupts} if interrupts else {}
    made = node_class(machine(8), pools, isolation=isolation, **spec)
    return configure(solver.solve(made, locate))


def values(plan: ConfiguredPlan) -> dict[str, Value]:
    """What follows from where interrupts are, by component and key."""
    keys = {
        ("kernel", "irqaffinity"),
        ("interrupts", "CPUS"),
        ("irqbalance", "IRQBALANCE_BANNED_CPULIST"),
        ("systemd", "CPUAffinity"),
        ("crio", "infra_ctr_cpuset"),
        ("kubelet", "reservedSystemCPUs"),
    }
    return {
        f"{setting.component} {setting.key}": setting.value
        for setting in plan.settings
        if (setting.component, setting.key) in keys
    }


def test_interrupts_and_services_are_apart() -> None:
    assert values(node(POOLS, "reserved.interrupts")) == {
        "kernel irqaffinity": CpuSet.parse("0-1"),
        "interrupts CPUS": CpuSet.parse("0-1"),
        "irqbalance IRQBALANCE_BANNED_CPULIST": CpuSet.parse("2-7"),
        "systemd CPUAffinity": CpuSet.parse("2"),
        "crio infra_ctr_cpuset": CpuSet.parse("2"),
        "kubelet reservedSystemCPUs": CpuSet.parse("0-2"),
    }


def test_without_a_word_they_share_the_reserved_cpus() -> None:
    by_key = values(node(POOLS, None))
    assert by_key["kernel irqaffinity"] == by_key["systemd CPUAffinity"] == CpuSet.parse("0-2")


def test_services_stay_where_all_reserved_cpus_are_for_interrupts() -> None:
    """Otherwise they would have no CPU at all."""
    pools = {"reserved": {"partitions": {"interrupts": {"cores": 2}}}, "isolated": "rest"}
    by_key = values(node(pools, "reserved.interrupts"))
    assert by_key["kernel irqaffinity"] == by_key["systemd CPUAffinity"] == CpuSet.parse("0-1")


def test_openshift_has_the_boot_argument() -> None:
    target = {"platform": "openshift", "version": "4.20", "pool": "cnf"}
    plan = node(POOLS, "reserved.interrupts", targets=[target])
    (affinity,) = [setting for setting in plan.settings if setting.key == "irqaffinity"]
    assert affinity.value == CpuSet.parse("0-1")
    assert affinity.reasons[-1].origin == "Intent/ran:spec.isolation.interrupts"


def test_a_profile_has_one_set_for_the_system_and_interrupts() -> None:
    target = {
        "platform": "openshift",
        "version": "4.20",
        "pool": "cnf",
        "mode": "performanceProfile",
    }
    plan = node(POOLS, "reserved.interrupts", targets=[target])
    (problem,) = checks.check_profile(plan, locate)
    assert problem.code == "CP548"
    assert problem.message.startswith("isolation.interrupts is reserved.interrupts; ")


def test_a_reserved_pool_may_have_more_than_its_partitions() -> None:
    pools = {"reserved": {"cores": 3, "partitions": {"interrupts": {"cores": 1}}}}
    plan = node(pools, "reserved.interrupts")
    assert plan.pool("reserved").cpus == CpuSet.parse("0-2")
    assert plan.pool("reserved.interrupts").cpus == CpuSet.parse("0")
