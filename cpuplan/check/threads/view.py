"""The threads of a node and its CPUs that run, read once for all steps."""

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.subject import Subject
from cpuplan.check.threads.reading import Threads
from cpuplan.check.threads.reading import threads as read
from cpuplan.check.threads.task import cpu_list

_KEY = "threads"
_ONLINE = "sys/devices/system/cpu/online"


def threads(subject: Subject) -> Threads:
    """Every thread of the node."""
    if _KEY not in subject.cache:
        subject.cache[_KEY] = read(subject.root)
    made: Threads = subject.cache[_KEY]
    return made


def online(subject: Subject) -> CpuSet:
    """The CPUs that run; the planned ones where nothing says which."""
    expected = subject.expected
    planned = expected.topology.online - expected.pool("offlined").cpus
    return cpu_list(subject.root.read(_ONLINE) or "") or planned
