"""All threads of a node, as /proc/<pid>/task/<tid>/{stat,status} show them.

Also the program, the control group and the unit of systemd that a process has.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.cpuset import EMPTY, CpuSet, CpuSetError
from cpuplan.base.files import TooLarge
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject

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


def read_task(pid: int, tid: int, status: str, stat: str | None) -> Task | None:
    """The thread of these texts; None for one that has ended, or that says no affinity."""
    allowed = cpu_list(status_field(status, "Cpus_allowed_list"))
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
        status_field(status, "Name"),
        allowed,
        bool(flags & _PF_KTHREAD),
        bool(flags & _PF_NO_SETAFFINITY),
        policy,
        priority,
    )


def _without_stat(pid: int, tid: int, status: str, allowed: CpuSet) -> Task | None:
    """Kernel threads have kthreadd as their parent; Linux 6.8 says it outright."""
    if status_field(status, "State")[:1] in _GONE:
        return None
    is_kernel = (
        pid == KTHREADD
        or status_field(status, "PPid") == str(KTHREADD)
        or status_field(status, "Kthread") == "1"
    )
    return Task(pid, tid, status_field(status, "Name"), allowed, is_kernel)


def status_field(status: str, name: str) -> str:
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


#: `kubepods` (cgroupfs), `kubepods.slice`, and with --cgroup-root x `x-kubepods.slice`.
_PODS = re.compile(r"(?:\A|/)(?:[^/]*-)?kubepods(?:-[^/]*)?(?:\.slice)?(?:/|\Z)")
_UNIT = re.compile(r"[^/]+\.(?:service|scope|socket|mount|swap|slice)(?=/|\Z)")
#: Controllers of version 1 in the order in which they are believed, and version 2, which has none.
_CONTROLLERS = ("cpuset", "name=systemd", "")


def path_of(text: str) -> str:
    """The path in /proc/<pid>/cgroup: of the CPUs on version 1, or the only one; else empty."""
    paths: dict[str, str] = {}
    for line in nodetext.lines(text):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        paths |= dict.fromkeys(controllers.split(","), path)
    known = [paths[name] for name in _CONTROLLERS if paths.get(name, "/") != "/"]
    return known[0] if known else ""


def is_pod(path: str) -> bool:
    """Whether a kubelet made the control group, or one above it, for pods."""
    return _PODS.search(path) is not None


def unit_of(path: str) -> str:
    """The innermost unit that systemd has for a control group; its path where there is none."""
    units = _UNIT.findall(path)
    return units[-1] if units else path


#: Threads of one node; where there are more, none is judged.
MAX_THREADS = 100_000


class Threads(NamedTuple):
    """What a root shows of threads. Not `complete`: a copy with some processes only."""

    tasks: tuple[Task, ...] = ()
    #: The control group of each process with user threads, as /proc/<pid>/cgroup has it.
    cgroups: Mapping[int, str] = {}
    problem: str = ""

    def kernel(self) -> Iterator[Task]:
        """The kernel's own threads."""
        return (task for task in self.tasks if task.is_kernel)

    def user(self) -> Iterator[Task]:
        """The threads of programs."""
        return (task for task in self.tasks if not task.is_kernel)


def read_threads(root: Root) -> Threads:
    """Every thread that exists while it is read; those that end meanwhile are left out."""
    tasks: list[Task] = []
    cgroups = {}
    for pid in process_numbers(root.names("proc")):
        threads_of_process = list(_of_process(root, pid))
        tasks += threads_of_process
        if len(tasks) > MAX_THREADS:
            problem = f"there are more than {MAX_THREADS:,} threads"
            root.refuse("proc", TooLarge(problem))
            return Threads(problem=problem)
        if any(not task.is_kernel for task in threads_of_process):
            cgroups[pid] = root.read(f"proc/{pid}/cgroup") or ""
    return Threads(tuple(tasks), cgroups)


def _of_process(root: Root, pid: int) -> Iterator[Task]:
    """The threads of a process; the first one alone where a copy has no folder of threads."""
    folder = f"proc/{pid}"
    tids = process_numbers(root.names(f"{folder}/task"))
    places = [(tid, f"{folder}/task/{tid}") for tid in tids] or [(pid, folder)]
    for tid, place in places:
        status = root.read(f"{place}/status")
        task = read_task(pid, tid, status, root.read(f"{place}/stat")) if status else None
        if task:
            yield task


def process_numbers(names: list[str]) -> list[int]:
    """The numbers of processes or threads among names, ascending."""
    numbers = (nodetext.natural(name) for name in names if name.isdigit())
    return sorted(number for number in numbers if number is not None)


_KEY = "threads"
_ONLINE = "sys/devices/system/cpu/online"


def threads(subject: Subject) -> Threads:
    """Every thread of the node."""
    return subject.once(_KEY, lambda: read_threads(subject.root))


def online(subject: Subject) -> CpuSet:
    """The CPUs that run; the planned ones where nothing says which."""
    expected = subject.expected
    planned = expected.topology.online - expected.pool("offlined").cpus
    return cpu_list(subject.root.read(_ONLINE) or "") or planned


_CACHE = "processes by program"


def running_programs(subject: Subject) -> dict[str, list[int]]:
    """The numbers of processes by the names of their programs, as the kernel has them (comm)."""
    return subject.once(_CACHE, lambda: _programs(subject))


def _programs(subject: Subject) -> dict[str, list[int]]:
    known = {task.pid: task.name for task in threads(subject).tasks if task.pid == task.tid}
    numbers: dict[str, list[int]] = {}
    for number in process_numbers(subject.root.names("proc")):
        comm = known.get(number) or subject.root.read(f"proc/{number}/comm")
        if comm:
            numbers.setdefault(comm.rstrip("\n"), []).append(number)
    return numbers


def are_programs_known(subject: Subject) -> bool:
    """Whether the root shows what runs: a copy of files may have a process or two, or none."""
    return sum(map(len, running_programs(subject).values())) > _FEW


#: A running node has more, threads of the kernel alone.
_FEW = 10
