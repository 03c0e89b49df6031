"""sysctl.d(5): what the kernel is told after it has booted, where no operator runs TuneD.

On OpenShift the same values are options of the TuneD profile. TuneD sets those of sysctl.d again
after its own (reapply_sysctl), so that this file holds with any profile.
"""

import re
from collections.abc import Iterator, Sequence

from cpuplan.components import chosen
from cpuplan.components.chosen import stated
from cpuplan.components.emission import by_default, emit
from cpuplan.facts.settings import host as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value

NAME = rows.SYSCTL
#: Files count in the order of their names, whatever folder they are in.
PATH = "/etc/sysctl.d/99-zz-cpuplan.conf"
DEFAULTS = (
    rows.TCP_FASTOPEN,
    rows.DIRTY_RATIO,
    rows.DIRTY_BACKGROUND_RATIO,
    rows.SWAPPINESS,
    rows.TIMER_MIGRATION,
)
REAL_TIME = (rows.HUNG_TASK_TIMEOUT, rows.NMI_WATCHDOG, rows.RT_RUNTIME, rows.STAT_INTERVAL)
_LINE = re.compile(r"^\s*-?([^\s#;=]+)\s*=\s*(.*?)\s*$", re.MULTILINE)


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Values by key."""
    for row in DEFAULTS:
        yield from by_default(plan, row, row.usually)
    if chosen.real_time(plan):
        reason = stated(plan, "the workloads are real-time", "workloadHints.realTime")
        for row in REAL_TIME:
            yield from emit(plan, row, row.usually, (reason,))


def files(settings: Sequence[Setting]) -> dict[str, str]:
    """The file by absolute path; none without settings."""
    return {PATH: render(settings)} if settings else {}


def render(settings: Sequence[Setting]) -> str:
    """A line for each value."""
    return "".join(f"{setting.key} = {setting.value}\n" for setting in settings)


def parse(text: str) -> dict[str, Value]:
    """The values of a file; of a repeated key the last."""
    return dict(_LINE.findall(text))
