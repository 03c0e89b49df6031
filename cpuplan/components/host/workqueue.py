"""Kernel work that is bound to no CPU, where no boot argument keeps it off the isolated ones.

With isolation by boot arguments, the kernel does so itself (kernel/workqueue.c:
workqueue_init_early, wq_unbound_cpumask).
"""

import re
from collections.abc import Iterator, Sequence

from cpuplan.base.cpuset import CpuSet, CpuSetError, union
from cpuplan.components import chosen, isolation
from cpuplan.components.chosen import unasked
from cpuplan.components.emission import emit
from cpuplan.facts.settings import kernel as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, mask_text

NAME = rows.WORKQUEUE
PATH = "/etc/tmpfiles.d/cpuplan-workqueue.conf"
_LINE = re.compile(r"^w (\S+) - - - - (\S+)$", re.MULTILINE)


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The mask, as a set of CPUs."""
    default = rows.WORKQUEUE_MASK.default
    if not chosen.is_on(plan, default):
        return
    isolated, reason = isolation.isolated(plan), unasked(plan, default)
    by_kernel = [isolation.kept_off(plan, key, reason) for key in ("nohzFull", "domain")]
    if not isolated.cpus <= union(pool.cpus for pool in by_kernel):
        because = (*isolated.because, *isolation.because_alone(plan), reason)
        yield from emit(plan, rows.WORKQUEUE_MASK, isolation.system_cpus(plan), because)


def files(settings: Sequence[Setting]) -> dict[str, str]:
    """The tmpfiles.d(5) file by absolute path; none without settings."""
    return {PATH: render(settings)} if settings else {}


def render(settings: Sequence[Setting]) -> str:
    """A line for each file of sysfs."""
    masks = ((setting.key, setting.value) for setting in settings)
    return "".join(f"w {key} - - - - {mask_text(value)}\n" for key, value in masks)


def parse(text: str) -> dict[str, Value]:
    """The masks as sets of CPUs, by the file of sysfs."""
    return {path: _cpus(mask) for path, mask in _LINE.findall(text)}


def _cpus(mask: str) -> Value:
    try:
        return CpuSet.parse_mask(mask)
    except CpuSetError:
        return mask
