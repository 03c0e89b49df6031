"""Threads of the kernel that `nohz_full=` moves, and those that stay where they are by design.

Threads of one CPU (ksoftirqd/N, migration/N, kworker/N:) and rescuers of workqueues never move:
they carry PF_NO_SETAFFINITY. kswapdN and kcompactdN run on all CPUs of their NUMA node before Linux
6.14, isolated ones too; threads irq/N- follow their interrupt. Workers of unbound workqueues follow
the mask of these.
"""

import re
from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.threads.reading import Threads
from cpuplan.check.threads.task import Task

#: Of a NUMA node, or of an interrupt.
_PLACED = re.compile(r"(?:kswapd|kcompactd)[0-9]+\Z|irq/")
#: Of the CPU that its name ends with.
_OF_CPU = re.compile(r".*/([0-9]{1,5})\Z")
#: Runs callbacks of the CPU in its name, elsewhere.
_CALLBACKS = re.compile(r"rcuo[ps]/([0-9]{1,5})\Z")
_OFFLOADED = re.compile(r"rcuo[gps]/")
_UNBOUND_WORKER = "kworker/u"
#: Threads that the kernel lets move, for copies whose files do not tell which these are.
_KNOWN = re.compile(
    r"(?:kthreadd|kauditd|kdevtmpfs|khugepaged|khungtaskd|ksmd|oom_reaper|watchdogd"
    r"|rcu_(?:preempt|sched|bh)|rcu_tasks_.*|rcuo[gps]/[0-9]+|jbd2/.*|xfsaild/.*)\Z"
)
#: The threads of RCU that `rcutree.kthread_prio=` is about since it exists (kernel/rcu/tree.c).
_GRACE_PERIODS = re.compile(r"rcu_(?:preempt|sched)\Z|rcu[bc]/[0-9]+\Z")
_SCHED_FIFO = 1


def moved(threads: Threads) -> Iterator[Task]:
    """The kernel threads that a boot with `nohz_full=` keeps off its CPUs."""
    return (task for task in threads.kernel() if _is_moved(task))


def unbound_workers(threads: Threads) -> Iterator[Task]:
    """The workers of unbound workqueues."""
    return (task for task in threads.kernel() if task.name.startswith(_UNBOUND_WORKER))


def _is_moved(task: Task) -> bool:
    if _PLACED.match(task.name) or task.is_bound:
        return False
    if task.is_bound is None:
        return _KNOWN.match(task.name) is not None
    return bool(_OFFLOADED.match(task.name)) or not _is_of_cpu(task)


def _is_of_cpu(task: Task) -> bool:
    of_cpu = _OF_CPU.match(task.name)
    return of_cpu is not None and task.allowed == CpuSet([int(of_cpu[1])])


def without_callback_threads(threads: Threads, cpus: CpuSet) -> CpuSet:
    """The CPUs of which no thread runs the RCU callbacks elsewhere: not offloaded."""
    matches = (_CALLBACKS.match(task.name) for task in threads.kernel())
    return cpus - CpuSet(int(match[1]) for match in matches if match)


def of_grace_periods(threads: Threads) -> list[Task]:
    """The threads of RCU's grace periods whose scheduling policy is known."""
    tasks = (task for task in threads.kernel() if _GRACE_PERIODS.match(task.name))
    return [task for task in tasks if task.policy is not None]


def has_priority(task: Task, priority: int) -> bool:
    """Whether a thread is scheduled as a real-time thread of this priority."""
    return (task.policy, task.priority) == (_SCHED_FIFO, priority)
