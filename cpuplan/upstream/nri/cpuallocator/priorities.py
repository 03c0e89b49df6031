"""Classes of CPUs by speed, and which of two sets suits a wish for a class better.

Speed Select, where it is active, has a say before these rules; it is not known here.
"""

from typing import NamedTuple

from cpuplan.upstream.kubelet.bits import members
from cpuplan.upstream.nri.sysfs.system import E_CORE, EPP_UNKNOWN, System

HIGH, NORMAL, LOW, NONE = range(4)
NAMES = ("high", "normal", "low", "none")


class Priorities(NamedTuple):
    """The CPUs of each class."""

    high: int
    normal: int
    low: int


def discover(system: System) -> Priorities:
    """The classes, decided for each package on its own (discoverCpufreqPriority)."""
    classes = [0, 0, 0]
    efficient = system.kinds.get(E_CORE, 0)
    others = system.online & ~efficient
    for package in system.packages.values():
        for priority, cpus in enumerate(_of_package(system, package.cpus)):
            only_low = priority == LOW or not others
            classes[priority] |= cpus if only_low else cpus & ~efficient
    return Priorities(*classes)


def _of_package(system: System, cpus: int) -> list[int]:
    """Faster than the slowest is high; a better energy preference than the worst outdoes that."""
    inside = [system.cpus[cpu] for cpu in members(cpus)]
    frequencies = sorted({cpu.base_khz for cpu in inside if cpu.base_khz})
    preferences = sorted({cpu.epp for cpu in inside if cpu.epp != EPP_UNKNOWN})
    classes = [0, 0, 0]
    for cpu in inside:
        priority = NORMAL
        if len(frequencies) > 1:
            priority = HIGH if cpu.base_khz > frequencies[0] else LOW
        if cpu.kind == E_CORE:
            priority = LOW
        elif len(preferences) > 1:
            priority = HIGH if cpu.epp < preferences[-1] else LOW
        classes[priority] |= 1 << cpu.cpu
    return classes


def compare(priorities: Priorities, cpus: int, others: int, wish: int, count: int) -> int:
    """Positive if `cpus` suit the wish for a class better than `others`, 0 for no difference.

    A positive `count` is how many CPUs are wanted: then the tighter of two fitting sets is better.
    """
    if wish == NONE:
        return 0
    if count > 0 and wish in (HIGH, LOW):
        mine, theirs = _counts(priorities[wish], cpus, others)
        if wish == HIGH and not mine and not theirs:
            mine, theirs = _counts(priorities.normal, cpus, others)
        if mine >= count and theirs >= count:
            return theirs - mine
        if mine >= count or theirs >= count:
            return mine - theirs
    for priority in range(wish, NONE):
        mine, theirs = _counts(priorities[priority], cpus, others)
        if count > 0 and priority == wish and mine >= count and theirs >= count:
            return theirs - mine
        if mine != theirs:
            return mine - theirs
    for priority in range(wish):
        mine, theirs = _counts(priorities[priority], cpus, others)
        if mine != theirs:
            return theirs - mine
    return 0


def _counts(of_class: int, cpus: int, others: int) -> tuple[int, int]:
    return (cpus & of_class).bit_count(), (others & of_class).bit_count()
