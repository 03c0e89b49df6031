"""The programs that run on a node."""

from cpuplan.check.subject import Subject
from cpuplan.check.threads.reading import numbers
from cpuplan.check.threads.view import threads

_CACHE = "processes by program"


def of(subject: Subject) -> dict[str, list[int]]:
    """The numbers of processes by the names of their programs, as the kernel has them (comm)."""
    if _CACHE not in subject.cache:
        known = {task.pid: task.name for task in threads(subject).tasks if task.pid == task.tid}
        found: dict[str, list[int]] = {}
        for number in numbers(subject.root.names("proc")):
            comm = known.get(number) or subject.root.read(f"proc/{number}/comm")
            if comm:
                found.setdefault(comm.rstrip("\n"), []).append(number)
        subject.cache[_CACHE] = found
    programs: dict[str, list[int]] = subject.cache[_CACHE]
    return programs


def are_known(subject: Subject) -> bool:
    """Whether the root shows what runs: a copy of files may have a process or two, or none."""
    return sum(map(len, of(subject).values())) > _FEW


#: A running node has more, threads of the kernel alone.
_FEW = 10
