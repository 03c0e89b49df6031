"""Files of /sys that describe the machine."""

from cpuplan.base import nodetext
from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.base.files import Unreadable
from cpuplan.check.subject import Subject

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
