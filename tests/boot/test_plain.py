"""A plain Kubernetes node with every pool does what its plan says."""

import pytest

from cpuplan.base.cpuset import CpuSet
from tests.boot import guests
from tests.boot.seen import CPU, Seen

pytestmark = pytest.mark.boot_systemd
NAME = "plain"


def pool(name: str) -> CpuSet:
    return guests.plan(NAME).pool(name).cpus


def test_the_kernel_took_every_boot_argument(plain: Seen) -> None:
    isolated = pool("isolated") | pool("isolcpus")
    assert plain.cpus(f"{CPU}/isolated") == pool("isolcpus")
    assert plain.cpus(f"{CPU}/nohz_full") == isolated
    assert plain.mask("proc/irq/default_smp_affinity") == pool("reserved")
    assert "incorrect CPU range" not in plain.text("dmesg")


def test_offlined_cpus_are_off(plain: Seen) -> None:
    assert plain.cpus(f"{CPU}/offline") & CpuSet.parse("0-15") == pool("offlined")


def test_pages_are_on_their_numa_nodes(plain: Seen) -> None:
    assert (plain.pages(0, 2048), plain.pages(1, 2048)) == (64, 32)


def test_processes_of_the_system_stay_off_isolated_cpus(plain: Seen) -> None:
    isolated = pool("isolated") | pool("isolcpus")
    strays = [(name, str(cpus)) for name, cpus in plain.processes() if cpus & isolated]
    assert strays == []


def test_interrupts_are_on_the_reserved_cpus(plain: Seen) -> None:
    managed = {int(number) for number in plain.text("run/unmovable").split()}
    strays = [
        interrupt
        for interrupt in plain.interrupts()
        if interrupt.number not in managed and interrupt.allowed - pool("reserved")
    ]
    assert strays == []


def test_only_queues_of_the_disk_are_placed_by_the_kernel(plain: Seen) -> None:
    """virtio_blk asks the kernel to spread its queues; the network card does not."""
    managed = {int(number) for number in plain.text("run/unmovable").split()}
    actions = {
        action
        for interrupt in plain.interrupts()
        if interrupt.number in managed
        for action in interrupt.actions
    }
    assert actions
    assert all("-req." in action for action in actions)
