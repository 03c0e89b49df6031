"""What the kernel will make of a plan's boot arguments, predicted with the port of Linux 6.12."""

from functools import lru_cache

from cpuplan.components import kernel
from cpuplan.cpuset import CpuSet
from cpuplan.linux import remarks
from cpuplan.linux.boot import Booted, boot
from cpuplan.linux.commandline import Line
from cpuplan.linux.remarks import Remark
from cpuplan.linux.threads import Hardware
from cpuplan.model.topology import Topology
from cpuplan.plan import ConfiguredPlan

#: The kernel whose rules these are.
LINUX = "Linux 6.12"


@lru_cache(maxsize=64)
def machine_of(topology: Topology) -> Hardware:
    """The machine as a boot finds it: with all CPUs of the inventory, those to be offlined too."""
    every = topology.online | topology.offline
    numa_nodes = topology.numa_nodes
    first = numa_nodes[min(numa_nodes)] if numa_nodes else every
    return Hardware(
        every.bits, CpuSet(topology.cores).bits, first.bits, min(topology.online, default=0)
    )


def booted(plan: ConfiguredPlan) -> Booted:
    """The nodes of a plan after a boot, before units switch CPUs off."""
    return boot(Line(_line(plan)), machine_of(plan.topology))


def remarks_of(plan: ConfiguredPlan) -> list[Remark]:
    """What should be known of the plan's boot arguments."""
    return remarks.remarks(_line(plan), machine_of(plan.topology))


def _line(plan: ConfiguredPlan) -> str:
    return plan.settings.text(kernel.NAME, kernel.render)
