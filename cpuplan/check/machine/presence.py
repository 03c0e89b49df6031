"""What a node has of its inventory: CPUs that are online, memory, and PCI devices."""

import re
from collections.abc import Iterator

from cpuplan.base import nodetext
from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.base.files import Unreadable
from cpuplan.base.text import quantity_text
from cpuplan.check.kernel.kernel_log import log_of_boot
from cpuplan.check.subject import Subject
from cpuplan.components.derived import ONLINE
from cpuplan.plan.expected.evidence import Answer, Heals
from cpuplan.plan.expected.state import Device

SYSTEM = "sys/devices/system/cpu"
NODES = "sys/devices/system/node"


def cpu_file(subject: Subject, name: str) -> CpuSet | None:
    """A kernel list of /sys/devices/system/cpu; None if there is no such file, or none to read."""
    return cpu_list(subject, f"{SYSTEM}/{name}")


def cpu_list(subject: Subject, path: str) -> CpuSet | None:
    """A kernel list of CPUs; None if there is no such file, or none to read."""
    text = subject.root.read(path)
    try:
        return None if text is None else CpuSet.parse_kernel(text)
    except CpuSetError:
        subject.root.refuse(path, Unreadable("it holds no list of CPUs"))
        return None


def number(subject: Subject, path: str) -> int | None:
    """A decimal number, perhaps negative; None for anything else."""
    return nodetext.integer(subject.root.read(path) or "")


_PRESENT = "machine present CPUs"
_ONLINE = "machine online CPUs"


def is_another_machine(subject: Subject) -> bool:
    """Whether the node has other CPUs than the inventory, so that nothing else needs to be said."""
    present = cpu_file(subject, "present") or cpu_file(subject, "online")
    topology = subject.expected.topology
    return present is not None and present != topology.online | topology.offline


def cpus(subject: Subject) -> Iterator[Answer]:
    """Present and possible CPUs as in the inventory, online and offline ones as in the plan."""
    online = cpu_file(subject, "online")
    if online is None:
        if not subject.root.refused:
            path = f"{SYSTEM}/online"
            yield subject.differs(
                _ONLINE,
                "CP801",
                path,
                observed="no such file",
                expected=str(subject.expected.cpus(ONLINE)),
                path=subject.root.shown(path),
            )
        return
    yield from _present(subject, online)
    if not is_another_machine(subject):
        yield from _online(subject, online)


def _present(subject: Subject, online: CpuSet) -> Iterator[Answer]:
    topology = subject.expected.topology
    wanted = topology.online | topology.offline
    listed = cpu_file(subject, "present")
    path = f"{SYSTEM}/present" if listed is not None else f"{SYSTEM}/online"
    present = online if listed is None else listed
    if present != wanted:
        yield subject.differs(
            _PRESENT,
            "CP802",
            path,
            observed=str(present),
            expected=str(wanted),
            hardware=subject.expected.hardware,
        )
        return
    yield subject.held(_PRESENT, path)._replace(expected=str(wanted), observed=str(present))
    possible, fact = cpu_file(subject, "possible"), "machine possible CPUs"
    if possible is None:
        yield subject.unverifiable(fact, f"{SYSTEM}/possible", "there is no such file here")
    elif wanted <= possible:
        yield subject.held(fact, f"{SYSTEM}/possible")
    else:
        path = f"{SYSTEM}/possible"
        yield subject.differs(
            fact,
            "CP818",
            path,
            observed=str(possible),
            expected=str(wanted),
            heals=Heals.REBOOT,
            hardware=subject.expected.hardware,
            differences=f"the kernel allows CPUs {possible}, and the machine has {wanted}",
        )


def _online(subject: Subject, online: CpuSet) -> Iterator[Answer]:
    wanted = subject.expected.cpus(ONLINE)
    path = f"{SYSTEM}/online"
    if online != wanted:
        yield subject.differs(
            _ONLINE,
            "CP803",
            path,
            observed=str(online),
            expected=str(wanted),
            said=_said(subject, wanted - online),
        )
        return
    yield subject.held(_ONLINE, path)._replace(expected=str(wanted), observed=str(online))
    topology = subject.expected.topology
    offline, path = cpu_file(subject, "offline"), f"{SYSTEM}/offline"
    known = topology.online | topology.offline
    fact, rest = "machine offline CPUs", known - wanted
    if offline is None:
        yield subject.unverifiable(fact, path, "there is no such file here")
    elif offline & known == rest:
        yield subject.held(fact, path)._replace(expected=str(rest), observed=str(offline))
        yield from _each(subject, known, wanted)
    else:
        yield subject.differs(
            fact, "CP803", path, observed=f"{online - offline}", expected=str(wanted), said=""
        )


def _each(subject: Subject, known: CpuSet, wanted: CpuSet) -> Iterator[Answer]:
    """What each CPU's own file says; the first CPU of most machines has none."""
    paths = {cpu: f"{SYSTEM}/cpu{cpu}/online" for cpu in known}
    words = {cpu: (subject.root.read(path) or "").strip() for cpu, path in paths.items()}
    others = [cpu for cpu, word in words.items() if word == ("0" if cpu in wanted else "1")]
    for cpu in others[:1]:
        online = (wanted | CpuSet(others)) - (wanted & CpuSet(others))
        yield subject.differs(
            _ONLINE, "CP803", paths[cpu], observed=str(online), expected=str(wanted), said=""
        )


def _said(subject: Subject, missing: CpuSet) -> str:
    """The kernel's words on the first CPU that is not online."""
    log = log_of_boot(subject).log
    numbers = re.compile(rf"CPU ?({'|'.join(map(str, missing))})(?!\d)")
    lines = [text for text in log.cpus if numbers.search(text)] if log and missing else []
    return "".join(f"; the kernel said: {text}" for text in lines[:1])


_FOLDER = "sys/bus/pci/devices"


def devices(subject: Subject) -> Iterator[Answer]:
    """Each device of the inventory, on the NUMA node that the inventory puts it on."""
    if is_another_machine(subject):
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
    where = "is not there" if node is None else f"is on NUMA node {node}"
    where = "is on no NUMA node" if node == -1 else where
    wanted = "there" if device.numa_node is None else f"NUMA node {device.numa_node}"
    text = f"device {device.address} {where}"
    if device.numa_node is not None:
        text += f"; the inventory has it on {wanted}"
    return subject.differs(
        fact,
        "CP818",
        path,
        observed=where,
        expected=wanted,
        hardware=subject.expected.hardware,
        differences=text,
    )


_TOTAL = re.compile(r"MemTotal:[ \t]+([0-9]{1,15}) kB")
_MIB = 1024**2
_PART, _FIXED, _CRASH_KERNEL = 32, 256 * _MIB, 512 * _MIB


def memory(subject: Subject) -> Iterator[Answer]:
    """Each node's memory as in the inventory, by what the kernel has of it."""
    if is_another_machine(subject):
        return
    spare = _FIXED
    if "crashkernel=" in (subject.root.read("proc/cmdline") or ""):
        spare += _CRASH_KERNEL
    for node, facts in subject.expected.topology.numa_facts.items():
        path = f"{NODES}/node{node}/meminfo"
        if facts.memory is not None:
            match = _TOTAL.search(subject.root.read(path) or "")
            actual = int(match[1]) * 1024 if match else None
            yield _answer(subject, f"NUMA node {node}", path, facts.memory, actual, spare)


def _answer(
    subject: Subject, what: str, path: str, wanted: int, actual: int | None, spare: int
) -> Answer:
    fact = f"machine memory of {what}"
    if actual is None:
        return subject.unverifiable(fact, path, "there is no such file here")
    known, seen = quantity_text(wanted // _MIB * _MIB), quantity_text(actual // _MIB * _MIB)
    if abs(actual - wanted) <= wanted // _PART + spare:
        return subject.held(fact, path)._replace(expected=known, observed=seen)
    return subject.differs(
        fact,
        "CP818",
        path,
        observed=seen,
        expected=known,
        hardware=subject.expected.hardware,
        differences=f"{what} has {seen} of memory instead of {known}",
    )
