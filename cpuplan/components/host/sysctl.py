"""sysctl.d(5): what the kernel is told after it has booted, where no operator runs TuneD.

On OpenShift the same values are options of the TuneD profile. TuneD sets those of sysctl.d again
after its own (reapply_sysctl), so that this file holds with any profile.
"""

import re
from collections.abc import Iterator, Sequence

from cpuplan.components import chosen
from cpuplan.components.reasons import stated, unasked
from cpuplan.diagnostics import Reason
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Cost, Effect, Setting, Value

NAME = "sysctl"
EFFECT: Effect | None = Effect("/proc/sys", Cost.NOTHING)
#: Files count in the order of their names, whatever folder they are in.
PATH = "/etc/sysctl.d/99-zz-cpuplan.conf"
#: Where the kernel shows the values in force, below the root.
SHOWN_BELOW = "proc/sys/"
#: (default, key, value): those of TuneD's profiles network-latency and cpu-partitioning, corrected
#: as the node tuning operator does.
DEFAULTS: tuple[tuple[str, str, str], ...] = (
    ("tcp-fastopen", "net.ipv4.tcp_fastopen", "3"),
    ("dirty-pages", "vm.dirty_ratio", "10"),
    ("dirty-pages", "vm.dirty_background_ratio", "3"),
    ("swappiness", "vm.swappiness", "10"),
    ("timer-migration", "kernel.timer_migration", "1"),
)
REAL_TIME: tuple[tuple[str, str], ...] = (
    ("kernel.hung_task_timeout_secs", "600"),
    ("kernel.nmi_watchdog", "0"),
    ("kernel.sched_rt_runtime_us", "-1"),
    ("vm.stat_interval", "10"),
)
_LINE = re.compile(r"^\s*-?([^\s#;=]+)\s*=\s*(.*?)\s*$", re.MULTILINE)


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Values by key."""
    for name, key, value in DEFAULTS:
        if chosen.is_on(plan, name):
            yield _setting(key, value, unasked(plan, name, NAME, key))
    if chosen.real_time(plan):
        for key, value in REAL_TIME:
            reason = stated(plan, "the workloads are real-time", "workloadHints.realTime")
            yield _setting(key, value, reason)


def _setting(key: str, value: str, reason: Reason) -> Setting:
    return Setting(NAME, key, value, (reason,), Effect(f"/{shown_in(key)}", Cost.NOTHING))


def shown_in(key: str) -> str:
    """The file that has the value in force, below the root."""
    return SHOWN_BELOW + key.replace(".", "/")


def files(settings: Sequence[Setting]) -> dict[str, str]:
    """The file by absolute path; none without settings."""
    return {PATH: render(settings)} if settings else {}


def render(settings: Sequence[Setting]) -> str:
    """A line for each value."""
    return "".join(f"{setting.key} = {setting.value}\n" for setting in settings)


def parse(text: str) -> dict[str, Value]:
    """The values of a file; of a repeated key the last."""
    return dict(_LINE.findall(text))
