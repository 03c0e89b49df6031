"""All threads of a node."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.files import TooLarge
from cpuplan.check.roots.root import Root
from cpuplan.check.threads.task import Task, read

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


def threads(root: Root) -> Threads:
    """Every thread that exists while it is read; those that end meanwhile are left out."""
    tasks: list[Task] = []
    cgroups = {}
    for pid in numbers(root.names("proc")):
        found = list(_of_process(root, pid))
        tasks += found
        if len(tasks) > MAX_THREADS:
            problem = f"there are more than {MAX_THREADS:,} threads"
            root.refuse("proc", TooLarge(problem))
            return Threads(problem=problem)
        if any(not task.is_kernel for task in found):
            cgroups[pid] = root.read(f"proc/{pid}/cgroup") or ""
    return Threads(tuple(tasks), cgroups)


def _of_process(root: Root, pid: int) -> Iterator[Task]:
    """The threads of a process; the first one alone where a copy has no folder of threads."""
    folder = f"proc/{pid}"
    tids = numbers(root.names(f"{folder}/task"))
    places = [(tid, f"{folder}/task/{tid}") for tid in tids] or [(pid, folder)]
    for tid, place in places:
        status = root.read(f"{place}/status")
        task = read(pid, tid, status, root.read(f"{place}/stat")) if status else None
        if task:
            yield task


def numbers(names: list[str]) -> list[int]:
    """The numbers of processes or threads among names, ascending."""
    numbers = (nodetext.natural(name) for name in names if name.isdigit())
    return sorted(number for number in numbers if number is not None)
