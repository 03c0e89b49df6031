"""The CPUs of the node against those that the plan was made for."""

from collections.abc import Iterator

from cpuplan.check.subject import Subject
from cpuplan.cpuset import CpuSet, CpuSetError
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.files import Unreadable

SYSTEM = "sys/devices/system/cpu"


def cpu_file(subject: Subject, name: str) -> CpuSet | None:
    """A kernel list of /sys/devices/system/cpu; None if there is no such file, or none to read."""
    path = f"{SYSTEM}/{name}"
    text = subject.root.read(path)
    try:
        return None if text is None else CpuSet.parse_kernel(text)
    except CpuSetError:
        subject.root.refuse(path, Unreadable("it holds no list of CPUs"))
        return None


def cpus(subject: Subject) -> Iterator[Diagnostic]:
    """Present CPUs as in the inventory, online CPUs as in the plan, siblings as in the topology."""
    topology = subject.plan.topology
    online = cpu_file(subject, "online")
    if online is None:
        if not subject.root.refused:
            yield diagnose("CP801", path=subject.root.shown(f"{SYSTEM}/online"))
        return
    present = cpu_file(subject, "present") or online
    wanted = topology.online - subject.plan.pool("offlined").cpus
    if present != topology.online | topology.offline:
        yield diagnose(
            "CP802",
            subject.place(f"{SYSTEM}/present"),
            found=present,
            hardware=subject.plan.node_class.hardware,
            wanted=topology.online | topology.offline,
        )
    elif online != wanted:
        yield diagnose("CP803", subject.place(f"{SYSTEM}/online"), found=online, wanted=wanted)
    yield from _siblings(subject, online)


def _siblings(subject: Subject, online: CpuSet) -> Iterator[Diagnostic]:
    """The first core whose siblings differ: the rest follow from the same cause."""
    topology, offlined = subject.plan.topology, subject.plan.pool("offlined").cpus
    for cpu in (each.cpu for each in topology.cpus):
        path = f"cpu{cpu}/topology/thread_siblings_list"
        siblings = cpu_file(subject, path)
        if siblings is None or cpu not in online:
            continue
        wanted = topology.siblings(cpu) - offlined
        if siblings != wanted:
            place = subject.place(f"{SYSTEM}/{path}")
            yield diagnose("CP804", place, cpu=cpu, found=siblings, wanted=wanted)
            return
