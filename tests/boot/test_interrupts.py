"""Interrupts have CPUs of their own, and irqbalance keeps to them."""

import pytest

from cpuplan.base.cpuset import CpuSet
from tests.boot import guests, qemu
from tests.boot.seen import Interrupt, Seen

pytestmark = pytest.mark.boot_systemd
NAME = "interrupts"


@pytest.mark.skipif(not qemu.has_queues(), reason="/dev/net/tun is missing: the card has one queue")
def test_the_card_has_queues_that_it_would_spread(interrupts: Seen) -> None:
    queues = _movable(interrupts, "-input.")
    assert len(queues) == 4
    assert [queue for queue in queues if queue.allowed - _cpus()] == []


def test_interrupts_are_on_their_cpus(interrupts: Seen) -> None:
    assert interrupts.mask("proc/irq/default_smp_affinity") >= _cpus()
    strays = [each for each in _movable(interrupts) if each.allowed - _cpus()]
    assert strays == []


def test_irqbalance_runs_and_uses_no_other_cpus(interrupts: Seen) -> None:
    assert [name for name, _ in interrupts.processes() if name == "irqbalance"]
    environment = next(interrupts.folder.glob("proc/*/environ")).read_text().split("\0")
    banned = CpuSet.parse("0-15") - _cpus()
    assert f"IRQBALANCE_BANNED_CPULIST={banned}" in environment


def _movable(seen: Seen, action: str = "") -> list[Interrupt]:
    """Interrupts that the kernel does not place itself, of which an action has this in its name."""
    managed = {int(number) for number in seen.text("run/unmovable").split()}
    return [
        interrupt
        for interrupt in seen.interrupts()
        if interrupt.number not in managed and any(action in name for name in interrupt.actions)
    ]


def _cpus() -> CpuSet:
    return guests.plan(NAME).pool("reserved.nic").cpus
