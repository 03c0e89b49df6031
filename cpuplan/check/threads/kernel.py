"""Threads of the kernel: those that boot arguments move, and those that stay by design."""

import re
from collections.abc import Iterator, Sequence

from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.base.text import at_most, plural
from cpuplan.check.kernel import arguments
from cpuplan.check.kernel.kernel_log import CMDLINE
from cpuplan.check.subject import Subject
from cpuplan.check.threads import programs
from cpuplan.check.threads.tasks import Task, Threads, cpu_list, is_pod, online, path_of, threads
from cpuplan.components.host import partitions
from cpuplan.facts.settings.kernel import KTHREAD_PRIO, NOHZ_FULL, RCU_NOCBS
from cpuplan.plan.expected.evidence import Answer

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
    """The kernel threads that a boot without ticks keeps off its CPUs."""
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


KERNEL, CALLBACKS, PRIORITY = "kernel threads", "RCU callback threads", "RCU thread priorities"
_PROC = "proc"
_FEW = 3
_WORKQUEUES = "sys/devices/virtual/workqueue/cpumask"
_NOHZ_FULL = f"sys/devices/system/cpu/{NOHZ_FULL.key}"
#: The CPUs that the root of the control groups has, without those of partitions.
_LEFT = "sys/fs/cgroup/cpuset.cpus.effective"
_NONE = "there are no kernel threads here"


def movable(subject: Subject) -> Iterator[Answer]:
    """CP837: threads of the kernel that may run on CPUs that a boot argument keeps them off."""
    planned = programs.planned_argument(subject.expected, NOHZ_FULL.key)
    if planned is None:
        return
    cpus = _kept_off(subject, programs.cpus_of_value(planned.value) & online(subject))
    running = threads(subject)
    if not cpus or not any(running.kernel()):
        reason = running.problem or (_NONE if cpus else "none of the CPUs that they stay off runs")
        yield subject.unverifiable(KERNEL, _PROC, reason)
        return
    strays = [task for task in moved(running) if task.allowed & cpus]
    mask = _workqueues(subject)
    strays += [task for task in unbound_workers(running) if task.allowed & cpus - mask]
    strays = [task for task in strays if not _is_of_pod(subject, task)]
    in_force = subject.root.read(_NOHZ_FULL)
    if not strays:
        yield subject.held(KERNEL, _PROC)
    elif reason := arguments.unbooted(subject, NOHZ_FULL.key):
        yield subject.unverifiable(KERNEL, CMDLINE, reason)
    elif in_force is not None and not cpus <= cpu_list(in_force):
        yield subject.unverifiable(
            KERNEL, _NOHZ_FULL, f"{NOHZ_FULL.key}= is not in force as planned"
        )
    else:
        yield subject.differs(
            KERNEL,
            "CP837",
            f"proc/{strays[0].pid}/status",
            observed=cpus_text(union(task.allowed & cpus for task in strays)),
            expected=cpus_text(online(subject) - cpus),
            labels=subject.labels(planned.reasons),
            threads=_named(strays),
        )


def _kept_off(subject: Subject, cpus: CpuSet) -> CpuSet:
    """What remains forbidden where control groups keep CPUs for themselves.

    When the kernel makes a partition, it gives all its threads the CPUs that no partition has,
    whatever boot arguments say (kernel/cgroup/cpuset.c, update_tasks_cpumask of the top cpuset).
    """
    left = cpu_list(subject.root.read(_LEFT) or "")
    taken = online(subject) - left if left else CpuSet()
    if taken or subject.expected.settings.of(partitions.NAME):
        return cpus & taken
    return cpus


def _workqueues(subject: Subject) -> CpuSet:
    """The CPUs that the mask of unbound workqueues has: the mask is a fact of its own."""
    try:
        return CpuSet.parse_mask(subject.root.read(_WORKQUEUES) or "0")
    except ValueError:
        return CpuSet()


def _is_of_pod(subject: Subject, task: Task) -> bool:
    """Whether a kernel thread works for a pod, as those of vhost do before Linux 6.4."""
    return is_pod(path_of(subject.root.read(f"proc/{task.pid}/cgroup") or ""))


def _named(tasks: Sequence[Task]) -> str:
    names = list(dict.fromkeys(task.name for task in tasks))
    return f"{plural('kernel thread', len(tasks))} {at_most(names, _FEW)}"


def callbacks(subject: Subject) -> Iterator[Answer]:
    """CP838: RCU callbacks that no thread takes off their CPUs, or threads of another priority."""
    running = threads(subject)
    for key, fact in ((RCU_NOCBS.key, CALLBACKS), (KTHREAD_PRIO.key, PRIORITY)):
        if programs.planned_argument(subject.expected, key) and not any(running.kernel()):
            yield subject.unverifiable(fact, _PROC, running.problem or _NONE)
            return
    planned = programs.planned_argument(subject.expected, RCU_NOCBS.key)
    if planned:
        cpus = programs.cpus_of_value(planned.value) & online(subject)
        if not cpus:
            yield subject.unverifiable(CALLBACKS, _PROC, "none of these CPUs runs")
            return
        missing = without_callback_threads(running, cpus)
        reason = arguments.unbooted(subject, RCU_NOCBS.key)
        if missing and reason:
            yield subject.unverifiable(CALLBACKS, CMDLINE, reason)
        elif missing:
            what = f"no thread runs the RCU callbacks of {cpus_text(missing)}"
            yield _differs(subject, CALLBACKS, RCU_NOCBS.key, what)
        else:
            yield subject.held(CALLBACKS, _PROC)
    yield from _priorities(subject)


def _priorities(subject: Subject) -> Iterator[Answer]:
    planned = programs.planned_argument(subject.expected, KTHREAD_PRIO.key)
    text = str(planned.value) if planned else ""
    if not text.isdigit():
        return
    tasks = of_grace_periods(threads(subject))
    others = [task for task in tasks if not has_priority(task, int(text))]
    if not tasks:
        yield subject.unverifiable(PRIORITY, _PROC, "no thread of RCU shows its priority here")
    elif others and (reason := arguments.unbooted(subject, KTHREAD_PRIO.key)):
        yield subject.unverifiable(PRIORITY, CMDLINE, reason)
    elif others:
        what = f"{_named(others)}: real-time priority {others[0].priority} instead of {text}"
        yield _differs(subject, PRIORITY, KTHREAD_PRIO.key, what)
    else:
        yield subject.held(PRIORITY, _PROC)


def _differs(subject: Subject, fact: str, key: str, what: str) -> Answer:
    planned = programs.planned_argument(subject.expected, key)
    return subject.differs(
        fact,
        "CP838",
        _PROC,
        observed=what,
        expected=f"{key}={planned.value}" if planned else "",
        labels=subject.labels(planned.reasons) if planned else (),
    )
