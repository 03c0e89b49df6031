"""Interrupts stay off the CPUs that the plan keeps them from."""

import time
from collections.abc import Iterator, Sequence

from cpuplan.base.cpuset import EMPTY, CpuSet, cpus_text
from cpuplan.check.interrupts import counts, promised, seen
from cpuplan.check.interrupts.promised import Promise
from cpuplan.check.interrupts.seen import Interrupt
from cpuplan.check.kernel import line
from cpuplan.check.kernel.said import CMDLINE
from cpuplan.check.subject import Subject
from cpuplan.components import derived
from cpuplan.plan.expected.answer import Answer

#: The second reading of a snapshot.
LATER = "cpuplan/interrupts.later"
_COUNTED = "counts of interrupts"
_MANAGED = "managed interrupts"
#: How long the counts of a running host are watched, in seconds.
_PAUSE = 0.25
_NO_FOLDER = f"there is no /{seen.FOLDER} here"


def placed(subject: Subject) -> Iterator[Answer]:
    """CP873, of all interrupts together, and CP866 of those that came to CPUs meanwhile."""
    promise = promised.of(subject.expected)
    if promise is None:
        return
    found = [each for each in _interrupts(subject) if not each.is_managed]
    if not found:
        yield subject.unverifiable(promise.setting, seen.FOLDER, _NO_FOLDER)
        return
    strays = {each.number: cpus for each in found if (cpus := _stray(subject, promise, each))}
    named = [
        f"{each.number} ({each.devices}) on {cpus_text(strays[each.number])}"
        for each in found
        if each.number in strays
    ]
    named += _default(subject, promise)
    if named:
        yield _on_isolated(subject, promise, named)
    else:
        yield subject.held(promise.setting, seen.FOLDER)
    yield _counts(subject, promise, [each for each in found if each.number not in strays])


def _interrupts(subject: Subject) -> list[Interrupt]:
    if seen.FOLDER not in subject.cache:
        subject.cache[seen.FOLDER] = seen.all_of(subject.root)
    found: list[Interrupt] = subject.cache[seen.FOLDER]
    return found


def _stray(subject: Subject, promise: Promise, interrupt: Interrupt) -> CpuSet:
    """The CPUs that an interrupt must not come to, and may or does.

    None where the kernel has placed it nowhere: it is not started, or one of each CPU. Effective
    CPUs outside of the allowed ones are those before a move, which is made when the interrupt comes
    the next time (kernel/irq/migration.c): one that never came leaves them without a trace.
    """
    may, does = interrupt.allowed & subject.expected.cpus(derived.ONLINE), interrupt.effective
    if does is None:
        return may & promise.cpus
    if not does:
        return EMPTY
    return (may | does if interrupt.came else may) & promise.cpus


def _default(subject: Subject, promise: Promise) -> list[str]:
    """What interrupts of devices to come would get."""
    cpus = seen.mask(subject.root.read(seen.DEFAULT)) if promise.has_default else None
    strays = cpus & promise.cpus if cpus else None
    return [f"those of new devices on {cpus_text(strays)}"] if strays else []


def _on_isolated(subject: Subject, promise: Promise, named: Sequence[str]) -> Answer:
    text = seen.named(named)
    wanted = f"none on {cpus_text(promise.cpus)}"
    return subject.differs(
        promise.setting,
        "CP873",
        seen.FOLDER,
        observed=text,
        expected=wanted,
        interrupts=text,
        how=promise.remedy,
    )


def _counts(subject: Subject, promise: Promise, others: Sequence[Interrupt]) -> Answer:
    """Whether CPUs got interrupts between two readings, of those that must not come to them.

    One that was moved comes once more to where it was: it is then that it is moved
    (kernel/irq/migration.c).
    """
    first, second = subject.root.read(seen.TABLE), _later(subject)
    if first is None or second is None:
        reason = f"{subject.root.kind.value} has one reading of the counts"
        return subject.unverifiable(_COUNTED, seen.TABLE, reason)
    numbers = {each.number for each in others}
    growths = counts.grown(counts.read(first), counts.read(second), promise.cpus)
    named = [
        f"{each.number} ({each.devices}) {each.times} times on {cpus_text(each.cpus)}"
        for each in growths
        if each.number in numbers and each.times > 1
    ]
    if not named:
        return subject.held(_COUNTED, seen.TABLE)
    return subject.differs(
        _COUNTED,
        "CP866",
        seen.TABLE,
        observed=seen.named(named),
        expected=f"none on {cpus_text(promise.cpus)}",
        labels=subject.labels(promise.setting.reasons),
    )


def _later(subject: Subject) -> str | None:
    """A second reading: that of the snapshot, or one of a running host a little later."""
    captured = subject.root.read(LATER)
    if captured is not None or not subject.root.is_running:
        return captured
    time.sleep(_PAUSE)
    return subject.root.read(seen.TABLE)


def managed(subject: Subject) -> Iterator[Answer]:
    """CP868: with isolcpus=managed_irq the kernel gives queues of several CPUs to the others."""
    promise = promised.managed(subject.expected)
    if promise is None:
        return
    setting, cpus = promise
    online = subject.expected.cpus(derived.ONLINE)
    found = [each for each in _interrupts(subject) if each.is_managed and each.effective]
    shared = [each for each in found if each.allowed & cpus and (each.allowed & online) - cpus]
    strays = [each for each in shared if each.effective and each.effective & cpus]
    if not _interrupts(subject):
        yield subject.unverifiable(_MANAGED, seen.FOLDER, _NO_FOLDER)
    elif not shared:
        reason = "no managed interrupt has both isolated CPUs and others"
        yield subject.unshown(_MANAGED, seen.FOLDER, reason)
    elif not strays:
        yield subject.held(_MANAGED, seen.FOLDER)
    elif reason := line.unbooted(subject, "isolcpus"):
        yield subject.unverifiable(_MANAGED, CMDLINE, reason)
    else:
        named = [f"{each.number} ({each.devices}) on {each.effective}" for each in strays]
        yield subject.differs(
            _MANAGED,
            "CP868",
            seen.FOLDER,
            observed=seen.named(named),
            expected=f"none on {cpus_text(cpus)}",
            labels=subject.labels(setting.reasons),
        )
