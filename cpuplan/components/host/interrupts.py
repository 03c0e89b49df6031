"""Interrupts that drivers place by hints of their own, whatever `irqaffinity=` says.

A unit moves them when the node starts, and again when udev reports a new device. Managed interrupts
are placed by the kernel (isolcpus=managed_irq) and cannot be moved: the script tells them apart by
the error of the kernel (kernel/irq/proc.c: irq_can_set_affinity_usr).
"""

from collections.abc import Iterator, Sequence

from cpuplan.base.cpuset import CpuSet
from cpuplan.components import isolation, units
from cpuplan.components.base import template
from cpuplan.components.emission import emit
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings import host as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value

NAME = rows.INTERRUPTS
UNIT = "cpuplan-interrupts.service"
CPUS = rows.INTERRUPT_CPUS.key
SCRIPT_PATH = "/usr/local/bin/place-interrupts.sh"
RULES_PATH = "/etc/udev/rules.d/99-cpuplan-interrupts.rules"
#: Where the script leaves the numbers of interrupts that the kernel places, below the root.
UNMOVABLE = "run/cpuplan-unmovable-interrupts"


def reason(plan: NodePlan) -> Reason | None:
    """Why interrupts go to certain CPUs; None where they do not."""
    return isolation.why_interrupts(plan, rows.IRQ_PLACING)


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The CPUs that interrupts are moved to."""
    why, pool = reason(plan), isolation.interrupts(plan)
    if why:
        yield from emit(plan, rows.INTERRUPT_CPUS, pool.cpus, (*pool.because, why))


def files(settings: Sequence[Setting]) -> dict[str, str]:
    """Unit, script and rule by absolute path; none without settings."""
    if not settings:
        return {}
    return {
        f"{units.UNIT_FOLDER}/{UNIT}": render(settings),
        SCRIPT_PATH: template("bin/place-interrupts.sh"),
        RULES_PATH: template("files/99-cpuplan-interrupts.rules"),
    }


def render(settings: Sequence[Setting]) -> str:
    """The unit."""
    values = {setting.key: setting.value for setting in settings}
    return template(f"units/{UNIT}.j2", cpus=str(values[CPUS]), shell=units.SHELL)


def parse(text: str) -> dict[str, Value]:
    """The unit's environment."""
    cpus = units.environment(text).get(CPUS)
    return {} if cpus is None else {CPUS: CpuSet.parse_kernel(cpus)}
