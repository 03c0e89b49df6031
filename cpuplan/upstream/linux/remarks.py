"""What people should know of a command line: options that are ignored, bent, or say nothing new.

The rules are those of Linux 6.12 (kernel/sched/isolation.c, kernel/rcu/tree_nocb.h,
kernel/irq/irqdesc.c, kernel/workqueue.c).
"""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet
from cpuplan.upstream.linux import cpulist
from cpuplan.upstream.linux.boot import Booted, boot
from cpuplan.upstream.linux.commandline import Line
from cpuplan.upstream.linux.threads import Hardware

#: Kinds: the kernel does something else, does nothing, or would do the same without the option.
BENT, IGNORED, REDUNDANT = "bent", "ignored", "redundant"


class Remark(NamedTuple):
    """About the option `key`."""

    key: str
    kind: str
    text: str


def remarks(text: str, machine: Hardware) -> list[Remark]:
    """All remarks on a command line."""
    line = Line(text)
    booted = boot(line, machine)
    return [
        *_ignored(booted),
        *_tick(line, booted, machine),
        *_domains(line, booted),
        *_callbacks(line, booted),
        *_interrupts(line, booted),
        *_workqueues(line, booted),
    ]


def _ignored(booted: Booted) -> Iterator[Remark]:
    for word in booted.ignored:
        reason = "Linux 6.12 has no such option"
        if word.key in ("isolcpus", "nohz_full"):
            reason = (
                "it is empty, cannot be read, names a CPU that the machine does not have, or "
                "contradicts an earlier list, so that the kernel drops all of it"
            )
        yield Remark(word.key, IGNORED, reason)


def _tick(line: Line, booted: Booted, machine: Hardware) -> Iterator[Remark]:
    """nohz_full= and the CPU that keeps the time."""
    if any(word.key == "nohz_full" for word in booted.ignored):
        return
    given = _bits(line, "nohz_full", booted)
    if given >> machine.boot & 1:
        cpu = machine.boot
        text = f"CPU {cpu} keeps its tick, because it keeps the time, and kthreadd stays on it"
        yield Remark("nohz_full", BENT, text)


def _domains(line: Line, booted: Booted) -> Iterator[Remark]:
    """isolcpus= with flags that leave the scheduler alone."""
    values = [word.value for word in line.words if word.key == "isolcpus"]
    if not values or any(word.key == "isolcpus" for word in booted.ignored):
        return
    flags = {flag for value in values for flag in value.split(",")}
    if booted.nohz_full is not None and "nohz" in flags and not line.has("nohz_full"):
        text = (
            "the flag nohz stops the tick only; nohz_full= takes other work of the kernel off too"
        )
        yield Remark("isolcpus", BENT, text)
    if not booted.isolated and booted.nohz_full is None:
        text = "managed_irq alone keeps interrupts of some devices off, and isolates no CPU"
        yield Remark("isolcpus", BENT, text)


def _callbacks(line: Line, booted: Booted) -> Iterator[Remark]:
    if line.has("rcu_nocb_poll") and booted.callbacks is None:
        yield Remark("rcu_nocb_poll", IGNORED, "no RCU callbacks are taken off any CPU")
    text = line.last("rcu_nocbs")
    if text is None:
        return
    given = cpulist.parse(text, booted.possible.bit_length())
    if given.error:
        problem = "the list cannot be read, so that callbacks are taken off all CPUs"
        yield Remark("rcu_nocbs", BENT, problem)
    elif given.bits and not given.bits & ~(booted.nohz_full or 0):
        yield Remark("rcu_nocbs", REDUNDANT, "nohz_full= takes callbacks off its CPUs too")


def _interrupts(line: Line, booted: Booted) -> Iterator[Remark]:
    text = line.last("irqaffinity")
    if text is None:
        return
    given = cpulist.parse(text, booted.possible.bit_length())
    left = CpuSet.from_bits(booted.default_smp_affinity)
    if given.error or not given.bits:
        problem = f"the list cannot be read to its end, so that interrupts go to CPUs {left}"
        yield Remark("irqaffinity", BENT, problem)
    elif given.bits != booted.default_smp_affinity:
        yield Remark("irqaffinity", BENT, f"the kernel adds its boot CPU: CPUs {left}")


def _workqueues(line: Line, booted: Booted) -> Iterator[Remark]:
    key = "workqueue.unbound_cpus"
    text = line.last(key)
    if text is None:
        return
    given = cpulist.parse(text, booted.possible.bit_length())
    if given.error or not given.bits & booted.workqueue:
        problem = "the list cannot be read, or leaves unbound work no CPU"
        yield Remark(key, IGNORED, problem)
    elif not booted.possible & ~given.bits:
        yield Remark(key, REDUNDANT, "it has all CPUs")


def _bits(line: Line, key: str, booted: Booted) -> int:
    text = line.last(key) or ""
    return cpulist.parse(text, booted.possible.bit_length()).bits & booted.possible
