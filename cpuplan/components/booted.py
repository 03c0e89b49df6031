"""What the kernel will make of a plan's boot arguments, predicted with the port of Linux 6.12."""

from cpuplan.components import kernel
from cpuplan.components.host import bootarguments
from cpuplan.components.host.bootarguments import machine_of
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.linux import isolation
from cpuplan.upstream.linux.isolation import Booted, Remark

#: The kernel whose rules these are.
LINUX = "Linux 6.12"


def booted(plan: ConfiguredPlan) -> Booted:
    """The nodes of a plan after a boot, before units switch CPUs off."""
    return bootarguments.booted(plan.settings.of(kernel.NAME), plan.topology)


def remarks_of(plan: ConfiguredPlan) -> list[Remark]:
    """What should be known of the plan's boot arguments."""
    return isolation.remarks(_line(plan), machine_of(plan.topology))


def _line(plan: ConfiguredPlan) -> str:
    return plan.settings.text(kernel.NAME, kernel.render)
