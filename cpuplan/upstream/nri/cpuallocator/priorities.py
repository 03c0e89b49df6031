"""Classes of CPUs by speed, and which of two sets suits a wish for a class better.

Speed Select, where it is active, has a say before these rules; it is not known here.
"""

from typing import NamedTuple

from cpuplan.upstream.kubelet.bits import members
from cpuplan.upstream.nri.sysfs.system import E_CORE, System

HIGH, NORMAL, LOW, NONE = range(4)
NAMES = ("high", "normal", "low", "none")
_EPP_UNKNOWN = 4


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
    preferences = sorted({cpu.epp for cpu in inside if cpu.epp != _EPP_UNKNOWN})
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


def compare(priorities: Priorities, one: int, other: int, wish: int, count: int) -> int:
    """Positive if `one` suits the wish for a class better, 0 if it makes no difference.

    A positive `count` is how many CPUs are wanted: then the tighter of two fitting sets is better.
    """
    if wish == NONE:
        return 0
    if count > 0 and wish in (HIGH, LOW):
        mine, theirs = _counts(priorities[wish], one, other)
        if wish == HIGH and not mine and not theirs:
            mine, theirs = _counts(priorities.normal, one, other)
        if mine >= count and theirs >= count:
            return theirs - mine
        if mine >= count or theirs >= count:
            return mine - theirs
    for priority in range(wish, NONE):
        mine, theirs = _counts(priorities[priority], one, other)
        if count > 0 and priority == wish and mine >= count and theirs >= count:
            return theirs - mine
        if mine != theirs:
            return mine - theirs
    for priority in range(wish):
        mine, theirs = _counts(priorities[priority], one, other)
        if mine != theirs:
            return theirs - mine
    return 0


def _counts(cpus: int, one: int, other: int) -> tuple[int, int]:
    return (one & cpus).bit_count(), (other & cpus).bit_count()
