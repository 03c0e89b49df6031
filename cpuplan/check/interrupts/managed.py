"""Managed interrupts: spread by the kernel over all CPUs, a queue each, and moved by nobody.

Writing their affinity gives EIO (kernel/irq/proc.c: irq_can_set_affinity_usr); no file of /proc
tells them apart. With isolcpus=managed_irq they stay off isolated CPUs as long as their queue has
another CPU; a queue for one CPU alone only serves what runs there. They are known by what the
compiled unit was refused, by the kernel's debugging files, and else by the names that drivers give
to interrupts which they ask for with PCI_IRQ_AFFINITY. Their CPUs alone would not do: a movable
interrupt may have been put on one CPU, too.
"""

import re
from collections.abc import Iterator
from typing import Protocol

from cpuplan.base import nodetext
from cpuplan.components.host.interrupts import UNMOVABLE

_DEBUG = "sys/kernel/debug/irq/irqs"
_FLAG = "IRQD_AFFINITY_MANAGED"
#: Timers of the whole machine, which the kernel excludes from balancing (IRQF_NOBALANCING), and of
#: drivers that ask for spread interrupts (pci_alloc_irq_vectors_affinity, and of virtio_blk and
#: virtio_scsi find_vqs with a descriptor of affinity): NVMe but for its admin queue, virtio disks
#: and host adapters of SAS, RAID and Fibre Channel.
_NAMES = re.compile(
    r"(timer|arch_timer|nvme[0-9]+q[1-9][0-9]*|virtio[0-9]+-req(\.[0-9]+|uest(\.[0-9]+)?)|megasas[0-9]+-msix[0-9]+|mpt[23]sas[0-9]+-msix[0-9]+"
    r"|mpi3mr[0-9]+-msix[0-9]+|smartpqi[0-9]*|aacraid[0-9]*|lpfc:[0-9]+|csio\S*-scsi\S*|qla2xxx\S*_qpair\S*"
    r"|qla2xxx \(qpair[0-9]+\)|hisi_sas\S* cq\S*)\Z"
)


class Files(Protocol):
    """Access to the node's files."""

    def read(self, path: str) -> str | None: ...
    def names(self, path: str) -> list[str]: ...


def refused(files: Files) -> set[int]:
    """The interrupts that the compiled unit could not move."""
    words = (files.read(UNMOVABLE) or "").split()
    numbers = map(nodetext.natural, words)
    return {number for number in numbers if number is not None}


def is_managed(files: Files, number: int, devices: str) -> bool:
    """Whether the kernel alone places an interrupt."""
    debug = files.read(f"{_DEBUG}/{number}")
    if debug is not None:
        return _FLAG in debug
    return any(_NAMES.match(name) for name in names(devices))


def names(devices: str) -> Iterator[str]:
    """The names of the devices of a row, which may share an interrupt."""
    return (name.strip() for name in devices.split(","))
