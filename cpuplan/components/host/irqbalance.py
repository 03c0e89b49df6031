"""irqbalance: a drop-in of its unit, which holds whatever the files of its vendors say.

Debian has those in /etc/default, others in /etc/sysconfig, and CRI-O rewrites one of them for every
pod that asks for CPUs without interrupts. A mask that is not empty, zeros included, overrides the
list (classify.c: setup_banned_cpus), so that the service is not given any.
"""

import re
from collections.abc import Iterator, Sequence

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.base.patterns import expression
from cpuplan.components import isolation
from cpuplan.components.chosen import stated
from cpuplan.components.emission import emit
from cpuplan.components.host import interrupts
from cpuplan.facts.settings import host as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value

NAME = rows.IRQBALANCE
ENVIRONMENT_PATH = "/etc/cpuplan/irqbalance"
DROP_IN = "/etc/systemd/system/irqbalance.service.d/99-cpuplan.conf"
LIST, MASK = rows.BANNED_CPULIST.key, "IRQBALANCE_BANNED_CPUS"
#: irqbalance is restarted for each pod that CRI-O takes interrupts from (cri-o/cri-o#9405); systemd
#: gives up after five times in ten seconds.
_DROP_IN = f"""\
[Unit]
StartLimitBurst=100

[Service]
EnvironmentFile={ENVIRONMENT_PATH}
UnsetEnvironment={MASK}
"""
_LINE = expression(r"^\s*(\w+)\s*=\s*\"?([^\"\n]*?)\"?\s*$", re.MULTILINE)


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The CPUs that irqbalance never uses: all that are not for interrupts, or isolated ones."""
    used, isolated = isolation.interrupts(plan), plan.pool("isolated")
    everything = plan.topology.online | plan.topology.offline
    if placed := interrupts.reason(plan):
        others = everything - used.cpus
        yield from emit(plan, rows.BANNED_CPULIST, others, (*used.because, placed))
    elif plan.spec.isolation.globally_disable_irq_load_balancing and isolated.cpus:
        field = "isolation.globallyDisableIrqLoadBalancing"
        because = (*isolated.because, stated(plan, "irqbalance never uses them", field))
        cpus = isolated.cpus | plan.pool("isolcpus").cpus
        yield from emit(plan, rows.BANNED_CPULIST, cpus, because)


def files(settings: Sequence[Setting]) -> dict[str, str]:
    """The drop-in and the environment that it names; none without settings."""
    return {ENVIRONMENT_PATH: render(settings), DROP_IN: _DROP_IN} if settings else {}


def render(settings: Sequence[Setting]) -> str:
    """The environment."""
    return "".join(f"{setting.key}={setting.value}\n" for setting in settings)


def parse(text: str) -> dict[str, Value]:
    """The variables of an environment file; of a repeated one the last."""
    return {name: _cpus(name, value) for name, value in _LINE.findall(text)}


def _cpus(name: str, value: str) -> Value:
    try:
        return CpuSet.parse_kernel(value) if name == LIST else value
    except CpuSetError:
        return value
