"""What the kernel makes of compiled boot arguments, and what is said of it."""

from typing import Any

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.components import checks, kernel
from cpuplan.diagnostics.codes import isolation
from cpuplan.render.explain.reasons import explain_kernel
from tests.machines.plans import no_position, plan
from tests.unit.components import test_slices

PLAIN: dict[str, Any] = {"platform": "kubernetes", "version": "1.33"}


def extra(*arguments: str, **isolation: Any) -> dict[str, Any]:
    return {**PLAIN, "spec": {"kernel": {"extraArguments": arguments}, "isolation": isolation}}


ROWS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("CP536", extra("kthread_cpus=0-1"), ["kthread_cpus=0-1", "no such option"]),
    (
        "CP536",
        {
            **PLAIN,
            "reserved": "1-2",
            "isolated": "0,3-7",
            "spec": {"rules": [{"disable": "cpu0-reserved", "because": "it is fast"}]},
        },
        ["nohz_full=0,3-7", "CPU 0 keeps its tick"],
    ),
    (
        "CP537",
        extra("workqueue.unbound_cpus=0-7"),
        ["workqueue.unbound_cpus=0-7 changes nothing", "it has all CPUs"],
    ),
    ("CP539", extra(by="partitions"), ["there is no pool isolcpus"]),
    ("CP539", extra(by="partitions", domain=True), ["runtime.handler"]),
    ("CP538", extra(managedIrq=True, nohzFull=False), ["isolates no CPU"]),
    (
        "CP600",
        {**PLAIN, "isolated": "4-7", "isolcpus": "2-3"},
        ["before 5.18 ignores isolcpus=domain,2-3", "those of nohz_full=2-7"],
    ),
]


@pytest.mark.parametrize(("code", "node", "words"), ROWS)
def test_each_finding(code: str, node: dict[str, Any], words: list[str]) -> None:
    findings = checks.check(plan(**node), no_position)
    wrong = [finding for finding in findings if finding.code >= "CP536"]
    assert [finding.code for finding in wrong] == [code]
    for word in words:
        assert word in wrong[0].message


def test_every_code_has_a_row() -> None:
    rows = {code for code, *_ in (*ROWS, *test_slices.ROWS)}
    assert rows == isolation.CODES.keys()


def test_isolated_cpus_are_those_of_the_intent() -> None:
    state = kernel.booted(plan(**extra(domain=True)))
    assert CpuSet.from_bits(state.isolated) == CpuSet.parse("2-7")
    assert CpuSet.from_bits(state.threads.init) == CpuSet.parse("0-1")


def test_explained() -> None:
    text = explain_kernel(plan(**extra("kthread_cpus=0-1", domain=True)), "worker-0")
    assert (
        text
        == """\
What Linux 6.12 makes of the boot arguments of worker-0:

files
  /sys/devices/system/cpu/isolated        2-7
  /sys/devices/system/cpu/nohz_full       2-7
  /proc/irq/default_smp_affinity          0-1
  /sys/devices/virtual/workqueue/cpumask  0-1
  /proc/sys/kernel/watchdog_cpumask       0-1
  managed interrupts                      0-1

threads
  init, until systemd sets its own  0-1
  kthreadd                          0-1
  kswapd0                           0-7
  rcu_preempt                       0-1
  kworkers without a CPU            0-1
  rcuog                             0-1
  RCU callbacks are taken off       2-7

remarks
  kthread_cpus (ignored): Linux 6.12 has no such option
  rcu_nocbs (redundant): nohz_full= takes callbacks off its CPUs too
"""
    )
