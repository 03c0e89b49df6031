"""Threads of programs that may run on CPUs which the plan keeps them off."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.check.threads.reading import Threads
from cpuplan.check.threads.unit import is_pod, path_of, unit_of

#: The first process.
INIT = 1


class Promise(NamedTuple):
    """The CPUs that programs outside of pods stay off, but for threads pinned to `own`."""

    forbidden: CpuSet
    online: CpuSet
    #: The pool isolcpus: programs pin threads to it by themselves.
    own: CpuSet = EMPTY


class Strays(NamedTuple):
    """Threads of one program in one unit that may run where they should not."""

    program: str
    unit: str
    threads: int
    cpus: CpuSet
    #: The number of its process.
    pid: int

    @property
    def is_init(self) -> bool:
        """Whether it is the first process, from which all others inherit their CPUs."""
        return self.pid == INIT


def strays(
    threads: Threads, promise: Promise, spared: frozenset[str] = frozenset()
) -> list[Strays]:
    """The programs with such threads, those with the most threads first; PID 1 before all.

    Programs of the name `spared` choose their CPUs by themselves. What runs in pods is their own
    check's.
    """
    names = {task.pid: task.name for task in threads.user() if task.tid == task.pid}
    found: dict[tuple[str, str], Strays] = {}
    for pid, allowed in _outside(threads, promise):
        name, unit = names.get(pid, "?"), unit_of(path_of(threads.cgroups.get(pid, "")))
        if name not in spared:
            known = found.get((name, unit), Strays(name, unit, 0, EMPTY, pid))
            cpus = known.cpus | allowed
            found[name, unit] = known._replace(threads=known.threads + 1, cpus=cpus)
    return sorted(
        found.values(), key=lambda each: (not each.is_init, -each.threads, each.program, each.unit)
    )


def _outside(threads: Threads, promise: Promise) -> Iterator[tuple[int, CpuSet]]:
    """(process, forbidden CPUs) of each thread outside of pods that has some."""
    in_pods = {pid for pid, text in threads.cgroups.items() if is_pod(path_of(text))}
    for task in threads.user():
        allowed = task.allowed & promise.online
        is_pinned = allowed <= promise.own
        if allowed & promise.forbidden and not is_pinned and task.pid not in in_pods:
            yield task.pid, allowed & promise.forbidden
