"""The step about threads of programs that no kubelet started."""

from collections.abc import Iterator, Sequence

from cpuplan.base.cpuset import EMPTY, cpus_text, union
from cpuplan.base.text import at_most, counted
from cpuplan.check import reported
from cpuplan.check.subject import Subject
from cpuplan.check.threads import promise, users
from cpuplan.check.threads.reading import Threads
from cpuplan.check.threads.view import online, threads
from cpuplan.plan.expected.answer import Answer, Heals
from cpuplan.plan.setting import Setting

FACT = "threads outside of pods"
_PROC = "proc"
#: Programs that a finding names.
_FEW = 3


def programs(subject: Subject) -> Iterator[Answer]:
    """CP836: threads outside of pods that may run on CPUs which the plan keeps them off."""
    promised = promise.promise(subject.expected, online(subject))
    if not promised.forbidden:
        return
    setting = promise.settings(subject.expected)[0]
    found = threads(subject)
    if found.problem or not found.tasks:
        reason = found.problem or "there are no processes here"
        yield subject.unverifiable(setting, _PROC, reason)
        yield subject.unverifiable(FACT, _PROC, reason)
        return
    strays = users.strays(found, promised, promise.spared(subject.expected))
    explained = _explained(subject, strays)
    left = [each for each in strays if each not in explained]
    if left and left[0].is_init:
        yield _differs(subject, setting, setting, promised, left)
        return
    yield _first(subject, setting, found)
    if left:
        yield _differs(subject, FACT, setting, promised, left)
    else:
        yield _others(subject, found, explained)


def _others(subject: Subject, found: Threads, explained: Sequence[users.Strays]) -> Answer:
    if explained:
        names = ", ".join(each.program for each in explained[:_FEW])
        reason = f"{names} may run on isolated CPUs, as files of others say: see CP869"
        return subject.unverifiable(FACT, _PROC, reason)
    if all(task.pid == users.INIT for task in found.user()):
        return subject.unverifiable(FACT, _PROC, "no process but the first one is here")
    return subject.held(FACT, _PROC)


def _first(subject: Subject, setting: Setting, found: Threads) -> Answer:
    """The first process shows what the setting makes of all that do not choose otherwise."""
    path = f"{_PROC}/{users.INIT}/status"
    if any(task.pid == users.INIT for task in found.user()):
        return subject.held(setting, path)
    return subject.unverifiable(setting, path, "the first process is not here")


def _explained(subject: Subject, strays: Sequence[users.Strays]) -> list[users.Strays]:
    """Those whose files give them these CPUs, or from which they have inherited them: CP869."""
    units = subject.cache.get(reported.UNITS, frozenset())
    first = next((each.cpus for each in strays if each.is_init), EMPTY)
    inherited = first if reported.MANAGER in units else EMPTY
    return [each for each in strays if each.unit in units or each.cpus <= inherited]


def _differs(
    subject: Subject,
    about: Setting | str,
    setting: Setting,
    promised: users.Promise,
    strays: Sequence[users.Strays],
) -> Answer:
    """What the first process has, all others inherit, until the next boot."""
    count = sum(each.threads for each in strays)
    named = [f"{each.program} ({each.unit or 'of no unit'})" for each in strays]
    return subject.differs(
        about,
        "CP836",
        f"{_PROC}/{strays[0].pid}/status",
        observed=cpus_text(union(each.cpus for each in strays)),
        expected=cpus_text(promised.online - promised.forbidden),
        labels=subject.labels(setting.reasons),
        heals=Heals.REBOOT if strays[0].is_init else Heals.RESTART,
        threads=counted(count, "thread"),
        programs=at_most(named, _FEW),
    )
