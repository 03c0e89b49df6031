"""PCI devices of the inventory: there, and on their NUMA node."""

from collections.abc import Iterator

from cpuplan.check.machine.files import number
from cpuplan.check.machine.online import is_another
from cpuplan.check.subject import Subject
from cpuplan.plan.expected.answer import Answer
from cpuplan.plan.expected.state import Device

_FOLDER = "sys/bus/pci/devices"


def devices(subject: Subject) -> Iterator[Answer]:
    """Each device of the inventory, on the NUMA node that the inventory puts it on."""
    if is_another(subject):
        return
    # Of a copy that has links and not what they lead to, nothing is known.
    listed = [name for name in subject.root.names(_FOLDER) if _is_there(subject, name)]
    for device in subject.expected.devices:
        fact, path = f"machine device {device.address}", f"{_FOLDER}/{device.address}/numa_node"
        node, wanted = number(subject, path), device.numa_node
        is_there = node is not None or device.address in listed
        if not listed or (is_there and node is None and wanted is not None):
            yield subject.unverifiable(fact, path, "there is no such file here")
        elif is_there and wanted in (None, node):
            words = "there" if wanted is None else f"NUMA node {wanted}"
            yield subject.held(fact, path)._replace(expected=words, observed=words)
        else:
            yield _differs(subject, fact, path, device, node if is_there else None)


def _is_there(subject: Subject, address: str) -> bool:
    """Whether a device has its folder; that of each has the class."""
    return subject.root.is_file(f"{_FOLDER}/{address}/class")


def _differs(subject: Subject, fact: str, path: str, device: Device, node: int | None) -> Answer:
    found = "is not there" if node is None else f"is on NUMA node {node}"
    found = "is on no NUMA node" if node == -1 else found
    wanted = "there" if device.numa_node is None else f"NUMA node {device.numa_node}"
    text = f"device {device.address} {found}"
    if device.numa_node is not None:
        text += f"; the inventory has it on {wanted}"
    return subject.differs(
        fact,
        "CP818",
        path,
        observed=found,
        expected=wanted,
        hardware=subject.expected.hardware,
        differences=text,
    )
