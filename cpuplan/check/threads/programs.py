"""Threads of programs outside of pods, which may run on CPUs that the plan keeps them off."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text, union
from cpuplan.base.text import at_most, counted
from cpuplan.check.subject import Subject
from cpuplan.check.threads.tasks import Threads, cpu_list, is_pod, online, path_of, threads, unit_of
from cpuplan.components import kernel, units
from cpuplan.components.host import partitions, systemd
from cpuplan.facts.settings.crio import INFRA_CTR_CPUSET
from cpuplan.facts.settings.kernel import CPU_AFFINITY
from cpuplan.plan.expected.evidence import Answer, Heals
from cpuplan.plan.expected.state import Expected
from cpuplan.plan.setting import Setting, Value, cpu_sets

#: The units with a finding on their affinity (CP869), which explains their threads.
FOREIGN_AFFINITY_UNITS = "units with CPUs of others"
#: The name there of systemd itself, whose affinity all units without one have.
SYSTEMD = "systemd"


#: The first process.
INIT_PID = 1


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
        return self.pid == INIT_PID


def stray_programs(
    threads: Threads, promise: Promise, spared: frozenset[str] = frozenset()
) -> list[Strays]:
    """The programs with such threads, those with the most threads first; PID 1 before all.

    Programs of the name `spared` choose their CPUs by themselves. What runs in pods is their own
    check's.
    """
    names = {task.pid: task.name for task in threads.user() if task.tid == task.pid}
    by_program: dict[tuple[str, str], Strays] = {}
    for pid, allowed in _outside(threads, promise):
        name, unit = names.get(pid, "?"), unit_of(path_of(threads.cgroups.get(pid, "")))
        if name not in spared:
            known = by_program.get((name, unit), Strays(name, unit, 0, EMPTY, pid))
            cpus = known.cpus | allowed
            by_program[name, unit] = known._replace(threads=known.threads + 1, cpus=cpus)
    return sorted(
        by_program.values(),
        key=lambda stray: (not stray.is_init, -stray.threads, stray.program, stray.unit),
    )


def _outside(threads: Threads, promise: Promise) -> Iterator[tuple[int, CpuSet]]:
    """(process, forbidden CPUs) of each thread outside of pods that has some."""
    in_pods = {pid for pid, text in threads.cgroups.items() if is_pod(path_of(text))}
    for task in threads.user():
        allowed = task.allowed & promise.online
        is_pinned = allowed <= promise.own
        if allowed & promise.forbidden and not is_pinned and task.pid not in in_pods:
            yield task.pid, allowed & promise.forbidden


#: (component, key) of what keeps programs off CPUs, the strongest first.
_KEEPING = (
    (systemd.NAME, systemd.AFFINITY),
    (kernel.NAME, CPU_AFFINITY.key),
    (kernel.NAME, "isolcpus"),
    (partitions.NAME, partitions.THREADS),
)
#: Open vSwitch chooses its CPUs where it is told to, or has cores of its own.
_OPEN_VSWITCH = frozenset(("ovs-vswitchd", "ovsdb-server"))
#: What watches a container for CRI-O has CPUs of its own.
_MONITOR = frozenset(("conmon",))


def keeping_settings(expected: Expected) -> list[Setting]:
    """The settings that keep programs off CPUs."""
    wanted = ((expected.settings.of(component), key) for component, key in _KEEPING)
    return [setting for settings, key in wanted for setting in settings if setting.key == key]


def planned_argument(expected: Expected, key: str) -> Setting | None:
    """The boot argument `key`, if it is planned."""
    return next(
        (setting for setting in expected.settings.of(kernel.NAME) if setting.key == key), None
    )


def promise_of(expected: Expected, online: CpuSet) -> Promise:
    """What these settings promise of the CPUs that run."""
    forbidden = EMPTY
    for setting in keeping_settings(expected):
        if setting.key == "isolcpus":
            forbidden |= kernel.unbalanced([setting])
        elif setting.component == partitions.NAME:
            forbidden |= cpus_of_value(setting.value)
        else:
            forbidden |= online - (cpus_of_value(setting.value) or online)
    return Promise(forbidden & online, online, expected.pool("isolcpus").cpus)


def cpus_of_value(value: Value) -> CpuSet:
    """The CPUs of a value, a set or a list in text."""
    return cpu_list(value) if isinstance(value, str) else union(cpu_sets(value))


def spared(expected: Expected) -> frozenset[str]:
    """Programs that choose their CPUs, or have them from somebody else, by the plan."""
    names: frozenset[str] = frozenset()
    if any("ovs" in setting.key for setting in expected.settings.of(units.NAME)):
        names |= _OPEN_VSWITCH
    if expected.settings.find(INFRA_CTR_CPUSET):
        names |= _MONITOR
    return names


FACT = "threads outside of pods"
_PROC = "proc"
#: Programs that a finding names.
_FEW = 3


def programs(subject: Subject) -> Iterator[Answer]:
    """CP836: threads outside of pods that may run on CPUs which the plan keeps them off."""
    promised = promise_of(subject.expected, online(subject))
    if not promised.forbidden:
        return
    setting = keeping_settings(subject.expected)[0]
    running = threads(subject)
    if running.problem or not running.tasks:
        reason = running.problem or "there are no processes here"
        yield subject.unverifiable(setting, _PROC, reason)
        yield subject.unverifiable(FACT, _PROC, reason)
        return
    strays = stray_programs(running, promised, spared(subject.expected))
    explained = _explained(subject, strays)
    left = [stray for stray in strays if stray not in explained]
    if left and left[0].is_init:
        yield _differs(subject, setting, setting, promised, left)
        return
    yield _first(subject, setting, running)
    if left:
        yield _differs(subject, FACT, setting, promised, left)
    else:
        yield _others(subject, running, explained)


def _others(subject: Subject, running: Threads, explained: Sequence[Strays]) -> Answer:
    if explained:
        names = ", ".join(stray.program for stray in explained[:_FEW])
        reason = f"{names} may run on isolated CPUs, as files of others say: see CP869"
        return subject.unverifiable(FACT, _PROC, reason)
    if all(task.pid == INIT_PID for task in running.user()):
        return subject.unverifiable(FACT, _PROC, "no process but the first one is here")
    return subject.held(FACT, _PROC)


def _first(subject: Subject, setting: Setting, running: Threads) -> Answer:
    """The first process shows what the setting makes of all that do not choose otherwise."""
    path = f"{_PROC}/{INIT_PID}/status"
    if any(task.pid == INIT_PID for task in running.user()):
        return subject.held(setting, path)
    return subject.unverifiable(setting, path, "the first process is not here")


def _explained(subject: Subject, strays: Sequence[Strays]) -> list[Strays]:
    """Those whose files give them these CPUs, or from which they have inherited them: CP869."""
    units = subject.cache.get(FOREIGN_AFFINITY_UNITS, frozenset())
    first = next((stray.cpus for stray in strays if stray.is_init), EMPTY)
    inherited = first if SYSTEMD in units else EMPTY
    return [stray for stray in strays if stray.unit in units or stray.cpus <= inherited]


def _differs(
    subject: Subject,
    about: Setting | str,
    setting: Setting,
    promised: Promise,
    strays: Sequence[Strays],
) -> Answer:
    """What the first process has, all others inherit, until the next boot."""
    count = sum(stray.threads for stray in strays)
    named = [f"{stray.program} ({stray.unit or 'of no unit'})" for stray in strays]
    return subject.differs(
        about,
        "CP836",
        f"{_PROC}/{strays[0].pid}/status",
        observed=cpus_text(union(stray.cpus for stray in strays)),
        expected=cpus_text(promised.online - promised.forbidden),
        labels=subject.labels(setting.reasons),
        heals=Heals.REBOOT if strays[0].is_init else Heals.RESTART,
        threads=counted(count, "thread"),
        programs=at_most(named, _FEW),
    )
