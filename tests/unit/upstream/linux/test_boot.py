"""Boots of a machine with eight CPUs; recorded ones are in the suite `crio`."""

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.upstream.linux import bitmap_str
from cpuplan.upstream.linux.isolation import (
    BENT,
    IGNORED,
    REDUNDANT,
    Booted,
    Hardware,
    Line,
    boot,
    remarks,
)

MACHINE = Hardware(0xFF, 0x0F, 0xFF)


def after(text: str) -> Booted:
    return boot(Line(text), MACHINE)


def cpus(bits: int | None) -> str:
    return "(null)" if bits is None else str(CpuSet.from_bits(bits))


@pytest.mark.parametrize(
    ("text", "listed", "error"),
    [
        ("0-3,5", "0-3,5", ""),
        ("0-3 5,", "0-3,5", ""),
        ("0-7:1/2", "0,2,4,6", ""),
        ("ALL", "0-7", ""),
        ("1-N", "1-7", ""),
        ("", "", ""),
        ("0-3,8", "0-3", bitmap_str.ERANGE),
        ("0-3,x", "0-3", bitmap_str.EINVAL),
        ("3-1", "", bitmap_str.EINVAL),
        ("0-7:3/2", "", bitmap_str.EINVAL),
        ("n", "", bitmap_str.EINVAL),
        ("99999999999", "", bitmap_str.EOVERFLOW),
    ],
)
def test_lists(text: str, listed: str, error: str) -> None:
    parsed = bitmap_str.parse(text, 8)
    assert (cpus(parsed.bits), parsed.error) == (listed, error)


def test_a_flag_without_a_comma_reads_into_the_next_option() -> None:
    """The kernel skips the end of the word and goes on behind it."""
    state = after("isolcpus=domain quiet")
    assert state.log[:2] == (
        "isolcpus: Skipped unknown flag domain",
        "isolcpus: Skipped unknown flag quiet",
    )
    assert cpus(state.isolated) == ""


def test_the_second_list_of_a_kind_must_be_the_same() -> None:
    state = after("isolcpus=4-7 isolcpus=6-7")
    assert cpus(state.isolated) == "4-7"
    assert "Housekeeping: nohz_full= must match isolcpus=" in state.log
    assert [word.value for word in state.ignored] == ["6-7"]


def test_threads_that_start_on_the_boot_cpu_stay_there_if_it_is_not_theirs() -> None:
    threads = after("nohz_full=0-3").threads
    assert (cpus(threads.kthreadd), cpus(threads.rcu_preempt)) == ("0", "0")
    assert sorted(map(cpus, threads.rcuog)) == ["0", "4-7"]


def test_an_interrupt_list_keeps_what_comes_before_its_error() -> None:
    assert cpus(after("irqaffinity=2-3,99").default_smp_affinity) == "0,2-3"


@pytest.mark.parametrize(
    ("text", "key", "kind", "words"),
    [
        ("isolcpus=4-8", "isolcpus", IGNORED, "does not have"),
        ("nohz_full=4-8", "nohz_full", IGNORED, "drops all"),
        ("kthread_cpus=0-3", "kthread_cpus", IGNORED, "no such option"),
        ("nohz_full=0-3", "nohz_full", BENT, "CPU 0 keeps its tick"),
        ("isolcpus=managed_irq,4-7", "isolcpus", BENT, "isolates no CPU"),
        ("isolcpus=nohz,4-7", "isolcpus", BENT, "the tick only"),
        ("rcu_nocbs=4-9", "rcu_nocbs", BENT, "all CPUs"),
        ("rcu_nocb_poll", "rcu_nocb_poll", IGNORED, "no RCU callbacks"),
        ("irqaffinity=4-9", "irqaffinity", BENT, "CPUs 0"),
        ("irqaffinity=1-3", "irqaffinity", BENT, "CPUs 0-3"),
        ("workqueue.unbound_cpus=4-9", "workqueue.unbound_cpus", IGNORED, "cannot be read"),
        ("workqueue.unbound_cpus=0-7", "workqueue.unbound_cpus", REDUNDANT, "all CPUs"),
        ("nohz_full=4-7 rcu_nocbs=4-7", "rcu_nocbs", REDUNDANT, "nohz_full="),
    ],
)
def test_remarks(text: str, key: str, kind: str, words: str) -> None:
    (remark,) = remarks(text, MACHINE)
    assert (remark.key, remark.kind) == (key, kind)
    assert words in remark.text


@pytest.mark.parametrize(
    "text",
    ["", "quiet", "isolcpus=domain,managed_irq,4-7 nohz_full=4-7", "irqaffinity=0-3 nohz_full=4-7"],
)
def test_nothing_to_remark(text: str) -> None:
    assert remarks(text, MACHINE) == []
