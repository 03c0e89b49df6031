"""What a plan promises of interrupts: by which setting they stay off which CPUs."""

from typing import NamedTuple

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.components import derived, kernel
from cpuplan.components.cmdline import lists
from cpuplan.components.host import interrupts, tuned
from cpuplan.plan.expected.state import Expected
from cpuplan.plan.setting import Setting, cpu_sets

_BY_UNIT = "run `systemctl start {unit}` and look at its log"
_BY_TUNED = (
    "look at the log of TuneD on the node, which places interrupts when it loads its profile"
)


class Promise(NamedTuple):
    """The setting, the CPUs that no movable interrupt comes to, and what to do where one does."""

    setting: Setting
    cpus: CpuSet
    remedy: str
    #: Whether interrupts of devices to come are part of it.
    has_default: bool = False


def of(expected: Expected) -> Promise | None:
    """The promise of a plan; None where interrupts may come to every CPU.

    On OpenShift, TuneD places them, unless interrupts are left to CRI-O, which moves them pod by
    pod (`globallyDisableIrqLoadBalancing`).
    """
    for setting in expected.settings.of(interrupts.NAME):
        remedy = _BY_UNIT.format(unit=interrupts.UNIT)
        return Promise(setting, expected.cpus(derived.ISOLATED), remedy)
    options = expected.settings.values(tuned.NAME)
    for setting in expected.settings.of(tuned.NAME):
        cpus = setting.value
        if setting.key == tuned.ISOLATED_CORES and isinstance(cpus, CpuSet):
            is_left = options.get("scheduler.irq_process") == "false"
            return None if is_left else Promise(setting, cpus, _BY_TUNED, has_default=True)
    return None


def managed(expected: Expected) -> tuple[Setting, CpuSet] | None:
    """The boot argument that keeps managed interrupts off CPUs, and these; None without one."""
    for setting in expected.settings.of(kernel.NAME):
        if setting.key == "isolcpus":
            flagged = (
                part
                for part in lists(setting.value)
                if isinstance(part, tuple) and "managed_irq" in part
            )
            cpus = union(cpu_sets(tuple(flagged)))
            return (setting, cpus) if cpus else None
    return None
