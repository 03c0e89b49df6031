"""systemd: the CPUs of system services, in configuration of its own (systemd-system.conf(5)).

The file holds without a reboot, after `systemctl daemon-reexec`. The boot argument
systemd.cpu_affinity= would override it until the next boot, so that only nodes that take no files
get it. On request, slices keep services in that choose CPUs themselves.
"""

import re
from collections.abc import Iterator, Sequence

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.components import isolation
from cpuplan.components.chosen import stated
from cpuplan.components.emission import by_default, emit
from cpuplan.facts.settings import host as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value

NAME = rows.SYSTEMD
AFFINITY = rows.SERVICE_AFFINITY.key
#: Of the control groups that are not of pods, each with its section.
SLICES = {"init.scope": "Scope", "system.slice": "Slice", "user.slice": "Slice"}
MANAGER_PATH = "/etc/systemd/system.conf.d/99-cpuplan.conf"
_SECTION = re.compile(r"^# (\S+)\n", re.MULTILINE)
_VALUE = re.compile(rf"^(?:{AFFINITY}|AllowedCPUs)=(.+)$", re.MULTILINE)


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The affinity of all services, and the CPUs of slices by their names."""
    isolated, offlined = isolation.isolated(plan), plan.pool("offlined")
    others = isolation.system_cpus(plan)
    because = (*isolated.because, *offlined.because, *isolation.because_alone(plan))
    if isolated.cpus:
        yield from by_default(plan, rows.SERVICE_AFFINITY, others, because)
    if plan.spec.isolation.system_services == "slices":
        reason = stated(plan, "services can use no other CPUs", "isolation.systemServices")
        for name in SLICES:
            yield from emit(plan, rows.SERVICE_SLICE, others, (*because, reason), slice=name)


def files(settings: Sequence[Setting]) -> dict[str, str]:
    """Drop-ins by absolute path."""
    return {path(setting.key): _text(setting) for setting in settings}


def path(key: str) -> str:
    """The drop-in of a setting. Files count in the order of their names."""
    return MANAGER_PATH if key == AFFINITY else f"/etc/systemd/system/{key}.d/99-cpuplan.conf"


def _text(setting: Setting) -> str:
    """An empty line first: lists of several files add up."""
    section, key = "Manager", AFFINITY
    if setting.key in SLICES:
        section, key = SLICES[setting.key], "AllowedCPUs"
    return f"[{section}]\n{key}=\n{key}={setting.value}\n"


def render(settings: Sequence[Setting]) -> str:
    """All drop-ins, each under a line with its setting."""
    return "".join(f"# {setting.key}\n{_text(setting)}" for setting in settings)


def parse(text: str) -> dict[str, Value]:
    """The settings of `render`'s text."""
    _, *parts = _SECTION.split(text)
    return {key: value_of(content) for key, content in zip(parts[::2], parts[1::2], strict=True)}


def value_of(text: str) -> Value:
    """What the last line of a drop-in says."""
    values = _VALUE.findall(text)
    try:
        return CpuSet.parse(values[-1]) if values else ""
    except CpuSetError:
        return str(values[-1])
