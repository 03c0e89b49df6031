"""/proc/interrupts as kernels print it."""

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.interrupts.irqs import Growth, Table, grown, read_table

BEFORE = """\
           CPU0       CPU1       CPU4       CPU5
  0:        194          0          0          0   IO-APIC   2-edge      timer
  9:          0          0          0          0   IO-APIC   9-fasteoi   acpi
 24:          0          7          0          0   PCI-MSI 6710-edge      PCIe PME, aerdrv, pciehp
 77:        100          0         10          0  IR-PCI-MSIX-0000:3b:00.0  1-edge      mlx5_comp1
 31:        100          0         10          0     GICv3  30 Level     arch_timer
NMI:          0          0          0          0   Non-maskable interrupts
LOC:      21071      16627        100        200   Local timer interrupts
ERR:          0
"""


def test_rows_of_devices() -> None:
    table = read_table(BEFORE)
    assert table.cpus == (0, 1, 4, 5)
    assert {number: row.devices for number, row in table.rows.items()} == {
        0: "timer",
        9: "acpi",
        24: "PCIe PME, aerdrv, pciehp",
        77: "mlx5_comp1",
        31: "arch_timer",
    }


def test_interrupt_that_no_device_asked_for() -> None:
    text = "           CPU0\n  2:          1    XT-PIC   2-edge    \n"
    assert read_table(text).rows[2].devices == ""


def test_what_is_no_table() -> None:
    empty = Table((), {})
    assert read_table("") == empty
    assert read_table("<!doctype html>\n") == empty
    assert read_table("CPU0 CPU1\n 1: 5\n").rows[1].devices == ""


def test_interrupts_that_came_to_some_cpus() -> None:
    later = BEFORE.replace("10          0  IR-PCI", "12          1  IR-PCI")
    later = later.replace("       100        200   Local", "       900        900   Local")
    later = later.replace("  0:        194", "  0:        199")
    cpus = CpuSet((4, 5))
    assert list(grown(read_table(BEFORE), read_table(later), cpus)) == [
        Growth(77, "mlx5_comp1", cpus, 3)
    ]
    assert not list(grown(read_table(BEFORE), read_table(BEFORE), cpus))


def test_cpus_that_changed_meanwhile() -> None:
    assert not list(
        grown(read_table(BEFORE), read_table(BEFORE.replace("CPU5", "CPU6")), CpuSet((4, 5, 6)))
    )
