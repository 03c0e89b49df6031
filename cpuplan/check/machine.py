"""Are these the CPUs that the plan was made for?"""

from collections.abc import Iterator

from cpuplan.check.subject import Subject
from cpuplan.cpuset import CpuSet, CpuSetError
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.files import Unreadable
from cpuplan.source import Position

SYSTEM = "sys/devices/system/cpu"


def cpu_file(subject: Subject, name: str) -> CpuSet | None:
    """A kernel list of /sys/devices/system/cpu; None where the kernel has no such file, or it
    cannot be read.
    """
    path = f"{SYSTEM}/{name}"
    text = subject.root.read(path)
    try:
        return None if text is None else CpuSet.parse_kernel(text)
    except CpuSetError:
        subject.root.refuse(path, Unreadable("it holds no list of CPUs"))
        return None


def cpus(subject: Subject) -> Iterator[Diagnostic]:
    """Present CPUs against the inventory, online CPUs against the plan, siblings against the
    topology.
    """
    topology = subject.plan.topology
    wanted = topology.online - subject.plan.pool("offlined").cpus
    online = cpu_file(subject, "online")
    if online is None:
        if not subject.root.refused:
            yield diagnose("CP801", path=subject.root.shown(f"{SYSTEM}/online"))
        return
    present = cpu_file(subject, "present") or online
    place = Position(subject.root.shown(f"{SYSTEM}/present"), 1, 1)
    if present != topology.online | topology.offline:
        hardware = subject.plan.node_class.hardware
        yield diagnose(
            "CP802",
            place,
            found=present,
            hardware=hardware,
            wanted=topology.online | topology.offline,
        )
    elif online != wanted:
        place = Position(subject.root.shown(f"{SYSTEM}/online"), 1, 1)
        yield diagnose("CP803", place, found=online, wanted=wanted)
    yield from _siblings(subject, online)


def _siblings(subject: Subject, online: CpuSet) -> Iterator[Diagnostic]:
    """The first core whose siblings differ: the rest follow from the same cause."""
    offlined = subject.plan.pool("offlined").cpus
    for cpu in subject.plan.topology.cpus:
        path = f"cpu{cpu.cpu}/topology/thread_siblings_list"
        found = cpu_file(subject, path)
        if found is None or cpu.cpu not in online:
            continue
        wanted = subject.plan.topology.siblings(cpu.cpu) - offlined
        if found != wanted:
            place = Position(subject.root.shown(f"{SYSTEM}/{path}"), 1, 1)
            yield diagnose("CP804", place, cpu=cpu.cpu, found=found, wanted=wanted)
            return
