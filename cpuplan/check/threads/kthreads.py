"""The steps about threads of the kernel."""

from collections.abc import Iterator, Sequence

from cpuplan.base.cpuset import CpuSet, cpus_text, union
from cpuplan.base.text import at_most, plural
from cpuplan.check.kernel import line
from cpuplan.check.kernel.said import CMDLINE
from cpuplan.check.subject import Subject
from cpuplan.check.threads import kernel, promise
from cpuplan.check.threads.task import Task, cpu_list
from cpuplan.check.threads.unit import is_pod, path_of
from cpuplan.check.threads.view import online, threads
from cpuplan.components.host import partitions
from cpuplan.plan.expected.answer import Answer, Heals

KERNEL, CALLBACKS, PRIORITY = "kernel threads", "RCU callback threads", "RCU thread priorities"
_PROC = "proc"
_FEW = 3
_WORKQUEUES = "sys/devices/virtual/workqueue/cpumask"
_NOHZ_FULL = "sys/devices/system/cpu/nohz_full"
#: The CPUs that the root of the control groups has, without those of partitions.
_LEFT = "sys/fs/cgroup/cpuset.cpus.effective"
_NONE = "there are no kernel threads here"


def movable(subject: Subject) -> Iterator[Answer]:
    """CP837: threads of the kernel that may run on CPUs which `nohz_full=` keeps them off."""
    planned = promise.setting(subject.expected, "nohz_full")
    if planned is None:
        return
    cpus = _kept_off(subject, promise.cpus(planned.value) & online(subject))
    found = threads(subject)
    if not cpus or not any(found.kernel()):
        reason = found.problem or (_NONE if cpus else "none of the CPUs that they stay off runs")
        yield subject.unverifiable(KERNEL, _PROC, reason)
        return
    strays = [task for task in kernel.moved(found) if task.allowed & cpus]
    mask = _workqueues(subject)
    strays += [task for task in kernel.unbound_workers(found) if task.allowed & cpus - mask]
    strays = [task for task in strays if not _is_of_pod(subject, task)]
    in_force = subject.root.read(_NOHZ_FULL)
    if not strays:
        yield subject.held(KERNEL, _PROC)
    elif reason := line.unbooted(subject, "nohz_full"):
        yield subject.unverifiable(KERNEL, CMDLINE, reason)
    elif in_force is not None and not cpus <= cpu_list(in_force):
        yield subject.unverifiable(KERNEL, _NOHZ_FULL, "nohz_full= is not in force as planned")
    else:
        yield subject.differs(
            KERNEL,
            "CP837",
            f"proc/{strays[0].pid}/status",
            observed=cpus_text(union(task.allowed & cpus for task in strays)),
            expected=cpus_text(online(subject) - cpus),
            labels=subject.labels(planned.reasons),
            heals=Heals.LIVE,
            threads=_named(strays),
        )


def _kept_off(subject: Subject, cpus: CpuSet) -> CpuSet:
    """What remains forbidden where control groups keep CPUs for themselves.

    When the kernel makes a partition, it gives all its threads the CPUs that no partition has,
    whatever `nohz_full=` says (kernel/cgroup/cpuset.c, update_tasks_cpumask of the top cpuset).
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
    found = threads(subject)
    for key, fact in (("rcu_nocbs", CALLBACKS), ("rcutree.kthread_prio", PRIORITY)):
        if promise.setting(subject.expected, key) and not any(found.kernel()):
            yield subject.unverifiable(fact, _PROC, found.problem or _NONE)
            return
    planned = promise.setting(subject.expected, "rcu_nocbs")
    if planned:
        cpus = promise.cpus(planned.value) & online(subject)
        if not cpus:
            yield subject.unverifiable(CALLBACKS, _PROC, "none of these CPUs runs")
            return
        missing = kernel.without_callback_threads(found, cpus)
        reason = line.unbooted(subject, "rcu_nocbs")
        if missing and reason:
            yield subject.unverifiable(CALLBACKS, CMDLINE, reason)
        elif missing:
            what = f"no thread runs the RCU callbacks of {cpus_text(missing)}"
            yield _differs(subject, CALLBACKS, "rcu_nocbs", what)
        else:
            yield subject.held(CALLBACKS, _PROC)
    yield from _priorities(subject)


def _priorities(subject: Subject) -> Iterator[Answer]:
    planned = promise.setting(subject.expected, "rcutree.kthread_prio")
    text = str(planned.value) if planned else ""
    if not text.isdigit():
        return
    tasks = kernel.of_grace_periods(threads(subject))
    others = [task for task in tasks if not kernel.has_priority(task, int(text))]
    if not tasks:
        yield subject.unverifiable(PRIORITY, _PROC, "no thread of RCU shows its priority here")
    elif others and (reason := line.unbooted(subject, "rcutree.kthread_prio")):
        yield subject.unverifiable(PRIORITY, CMDLINE, reason)
    elif others:
        what = f"{_named(others)}: real-time priority {others[0].priority} instead of {text}"
        yield _differs(subject, PRIORITY, "rcutree.kthread_prio", what)
    else:
        yield subject.held(PRIORITY, _PROC)


def _differs(subject: Subject, fact: str, key: str, what: str) -> Answer:
    planned = promise.setting(subject.expected, key)
    return subject.differs(
        fact,
        "CP838",
        _PROC,
        observed=what,
        expected=f"{key}={planned.value}" if planned else "",
        labels=subject.labels(planned.reasons) if planned else (),
        heals=Heals.REBOOT,
    )
