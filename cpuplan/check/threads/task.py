"""A thread, as /proc/<pid>/task/<tid>/{stat,status} and the cgroup of its process show it."""

from functools import lru_cache
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.cpuset import EMPTY, CpuSet, CpuSetError

#: Of the flags in stat (include/linux/sched.h).
_PF_NO_SETAFFINITY = 0x04000000
_PF_KTHREAD = 0x00200000
#: The parent of all other kernel threads.
KTHREADD = 2
#: States of threads that no longer run (proc_pid_stat(5)).
_GONE = ("Z", "X", "x")
#: Of the fields of stat behind the name, counted from the state (proc_pid_stat(5): field 3).
_STATE, _PARENT, _FLAGS, _PRIORITY, _POLICY = 0, 1, 6, 37, 38


class Task(NamedTuple):
    """One thread that exists; what a missing `stat` would have said is None."""

    pid: int
    tid: int
    name: str
    allowed: CpuSet
    is_kernel: bool
    #: Whether the kernel refuses another affinity.
    is_bound: bool | None = None
    #: The scheduling policy (1: SCHED_FIFO), and the real-time priority.
    policy: int | None = None
    priority: int | None = None


def read(pid: int, tid: int, status: str, stat: str | None) -> Task | None:
    """The thread of these texts; None for one that has ended, or that says no affinity."""
    allowed = cpu_list(field(status, "Cpus_allowed_list"))
    if not allowed:
        return None
    fields = [] if stat is None else stat.rpartition(")")[2].split()
    if len(fields) <= _POLICY:
        return _without_stat(pid, tid, status, allowed)
    if fields[_STATE] in _GONE:
        return None
    flags, policy, priority = (nodetext.natural(fields[at]) for at in (_FLAGS, _POLICY, _PRIORITY))
    if flags is None:
        return _without_stat(pid, tid, status, allowed)
    return Task(
        pid,
        tid,
        field(status, "Name"),
        allowed,
        bool(flags & _PF_KTHREAD),
        bool(flags & _PF_NO_SETAFFINITY),
        policy,
        priority,
    )


def _without_stat(pid: int, tid: int, status: str, allowed: CpuSet) -> Task | None:
    """Kernel threads have kthreadd as their parent; Linux 6.8 says it outright."""
    if field(status, "State")[:1] in _GONE:
        return None
    is_kernel = (
        pid == KTHREADD or field(status, "PPid") == str(KTHREADD) or field(status, "Kthread") == "1"
    )
    return Task(pid, tid, field(status, "Name"), allowed, is_kernel)


def field(status: str, name: str) -> str:
    """A line of /proc/<pid>/status; empty without one."""
    if status.startswith(f"{name}:"):
        start = 0
    else:
        start = status.find(f"\n{name}:") + 1
        if not start:
            return ""
    end = status.find("\n", start)
    return status[start + len(name) + 1 : end if end >= 0 else None].strip()


@lru_cache(maxsize=4096)
def cpu_list(text: str) -> CpuSet:
    """A kernel list; empty for none, and for one that cannot be read."""
    try:
        return CpuSet.parse_kernel(text)
    except CpuSetError:
        return EMPTY
