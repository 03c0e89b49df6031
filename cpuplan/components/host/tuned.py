"""TuneD: what it sets while a node runs, as a profile of its own.

What boots or systemd can set by themselves is not among it: boot arguments, sysctls (`sysctl`) and
the affinity of services. Options are those of the node tuning operator's profile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from cpuplan.base.cpuset import CpuSet, CpuSetError
from cpuplan.components import chosen
from cpuplan.components.host import sysctl
from cpuplan.components.reasons import stated, stated_or, unasked
from cpuplan.diagnostics import Reason
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Cost, Effect, Evidence, Form, Setting, Value

if TYPE_CHECKING:
    from cpuplan.language.model.tuning import NetDevice

NAME = "tuned"
EFFECT: Effect | None = Effect("tuned-adm verify", Cost.TUNED_RESTART)
PROFILE = "cpuplan"
#: TuneD before 2.23 looks for profiles in /etc/tuned, later ones in /etc/tuned/profiles only.
PATHS = (f"/etc/tuned/{PROFILE}/tuned.conf", f"/etc/tuned/profiles/{PROFILE}/tuned.conf")
#: Without a profile that somebody chose, TuneD takes the first that a file here recommends.
RECOMMEND_PATH = "/etc/tuned/recommend.d/00-cpuplan.conf"
ISOLATED_CORES = "variables.isolated_cores"

#: (default, option, value)
Row = tuple[str, str, str]
FREQUENCIES: tuple[Row, ...] = (
    ("cpu-frequencies", "cpu.force_latency", "cstate.id:1|3"),
    ("cpu-frequencies", "cpu.governor", "performance"),
    ("cpu-frequencies", "cpu.energy_perf_bias", "performance"),
    ("cpu-frequencies", "cpu.min_perf_pct", "100"),
)
FIRMWARE: tuple[Row, ...] = (
    ("firmware-updates", "service.service.fwupd-refresh.timer", "stop,disable"),
)
HUGE_PAGES: tuple[Row, ...] = (("transparent-hugepages", "vm.transparent_hugepages", "never"),)
AVC_CACHE: tuple[Row, ...] = (("avc-cache", "selinux.avc_cache_threshold", "8192"),)
THREADS: tuple[Row, ...] = (
    ("tuned-scheduler", "scheduler.runtime", "0"),
    ("kernel-threads", "scheduler.group.ksoftirqd", "0:f:11:*:ksoftirqd.*"),
    ("kernel-threads", "scheduler.group.rcuc", "0:f:11:*:rcuc.*"),
    ("kernel-threads", "scheduler.group.ktimers", "0:f:11:*:ktimers.*"),
)
TIME_STAMPS: tuple[Row, ...] = (("time-stamps", "rtentsk.enabled", "true"),)
STALLD = "service.service.stalld"
#: Options that one file of the kernel shows.
_SHOWN: dict[str, tuple[str, Form]] = {
    "cpu.min_perf_pct": ("sys/devices/system/cpu/intel_pstate/min_perf_pct", Form.NUMBER),
    "vm.transparent_hugepages": ("sys/kernel/mm/transparent_hugepage/enabled", Form.WORD),
    "selinux.avc_cache_threshold": ("sys/fs/selinux/avc/cache_threshold", Form.NUMBER),
}
_CONNTRACK = ("sys/module/nf_conntrack/parameters/hashsize", Form.NUMBER)
_SYSCTL, _DROPPED = "sysctl.", "sysctl.drop"
_POLICY = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_max_freq"


def of_operator(profile: str) -> str:
    """The name of the profile of a PerformanceProfile, or of what stands for one."""
    return f"openshift-node-performance-{profile}"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Options by `section.option`; none, and so no profile, where nothing needs TuneD."""
    return map(with_evidence, _options(plan))


def with_evidence(setting: Setting, cost: Cost = Cost.TUNED_RESTART) -> Setting:
    """An option with the file that shows it, where that is one.

    An operator that runs TuneD applies a changed profile without a restart.
    """
    key = setting.key
    found = _CONNTRACK if key.endswith(".nf_conntrack_hashsize") else _SHOWN.get(key)
    if key.startswith(_SYSCTL) and key != _DROPPED:
        found = (sysctl.shown_in(key.removeprefix(_SYSCTL)), Form.TEXT)
    if found is None:
        return setting
    path, form = found
    value = int(str(setting.value)) if form is Form.NUMBER else setting.value
    evidence = (Evidence(path, form, value),)
    return setting._replace(effect=Effect(f"/{path}", cost, evidence))


def _options(plan: NodePlan) -> Iterator[Setting]:
    if not plan.spec.workload_hints.per_pod_power_management:
        yield from given(plan, FREQUENCIES)
    yield from given(plan, (*FIRMWARE, *HUGE_PAGES, *AVC_CACHE, *THREADS))
    if chosen.real_time(plan):
        yield Setting(NAME, STALLD, "start,enable", (real_time(plan),))
    yield from queues(plan)
    yield from max_frequencies(plan)
    yield from given(plan, TIME_STAMPS)


def given(plan: NodePlan, rows: Iterable[Row]) -> Iterator[Setting]:
    """Options by the names of their defaults, where these hold."""
    for name, key, value in rows:
        if chosen.is_on(plan, name):
            yield Setting(NAME, key, value, (unasked(plan, name, NAME, key),))


def real_time(plan: NodePlan) -> Reason:
    """Why stalld runs, or not."""
    wanted = chosen.real_time(plan)
    text = "the workloads are real-time" if wanted else "the workloads are not real-time"
    return stated_or(plan, text, "workloadHints.realTime", unasked(plan, "real-time", NAME, STALLD))


def queues(plan: NodePlan) -> Iterator[Setting]:
    """As many queues as reserved CPUs, in one section for each entry of devices."""
    net, reserved = plan.spec.net, plan.pool("reserved")
    if not net.user_level_networking:
        return
    reason = stated(
        plan, "user-level networking: one queue for each reserved CPU", "net.userLevelNetworking"
    )
    channels = f"combined {len(reserved.cpus)}"
    if not net.devices:
        yield Setting(NAME, "net.channels", channels, (*reserved.because, reason))
    for index, device in enumerate(net.devices):
        section = net_section(index)
        chosen = plan.node_class.reason("these devices", f"net.devices.{index}")
        yield Setting(NAME, f"{section}.type", "net", (chosen,))
        yield Setting(NAME, f"{section}.devices_udev_regex", _udev_regex(device), (chosen,))
        yield Setting(NAME, f"{section}.channels", channels, (*reserved.because, reason, chosen))


def net_section(index: int) -> str:
    """The section of an entry of devices."""
    return f"net_{index}" if index else "net"


def _udev_regex(device: NetDevice) -> str:
    """A pattern over a device's udev properties, which TuneD reads in the order of their names."""
    parts = []
    if device.device_id:
        parts.append(f"^ID_MODEL_ID={device.device_id}")
    if device.vendor_id:
        parts.append(f"^ID_VENDOR_ID={device.vendor_id}")
    if name := device.interface_name:
        pattern = name.removeprefix("!").replace("*", ".*")
        parts.append(
            f"^INTERFACE=(?!{pattern})" if name.startswith("!") else f"^INTERFACE={pattern}"
        )
    return r"[\s\S]*".join(parts)


def max_frequencies(plan: NodePlan) -> Iterator[Setting]:
    """The highest frequency of each isolated and reserved CPU."""
    tuning = plan.spec.hardware_tuning
    if tuning is None:
        return
    for pool, frequency, field in (
        (plan.pool("isolated"), tuning.isolated_cpu_freq, "isolatedCpuFreq"),
        (plan.pool("isolcpus"), tuning.isolated_cpu_freq, "isolatedCpuFreq"),
        (plan.pool("reserved"), tuning.reserved_cpu_freq, "reservedCpuFreq"),
    ):
        reason = stated(plan, f"at most {frequency} kHz", f"hardwareTuning.{field}")
        for cpu in pool.cpus:
            yield Setting(
                NAME, f"sysfs.{_POLICY.format(cpu)}", str(frequency), (*pool.because, reason)
            )


def files(settings: Sequence[Setting]) -> dict[str, str]:
    """The profile and its recommendation by absolute path; none without settings."""
    if not settings:
        return {}
    text = render(settings)
    return {**dict.fromkeys(PATHS, text), RECOMMEND_PATH: f"[{PROFILE}]\n"}


def render(settings: Sequence[Setting]) -> str:
    """The profile, tuned.conf(5): sections in the order of their first options."""
    sections: dict[str, list[str]] = {}
    for setting in settings:
        section, _, option = setting.key.partition(".")
        sections.setdefault(section, []).append(f"{option}={setting.value}")
    texts = ("\n".join([f"[{name}]", *lines, ""]) for name, lines in sections.items())
    return "\n".join(texts)


_SECTION = re.compile(r"\[([^\]]+)\]")


def parse(text: str) -> dict[str, Value]:
    """The options of a profile, without comments and other lines."""
    options: dict[str, Value] = {}
    section = ""
    for line in map(str.strip, text.splitlines()):
        if match := _SECTION.fullmatch(line):
            section = match[1]
        elif "=" in line and not line.startswith(("#", ";")):
            option, _, value = line.partition("=")
            key = f"{section}.{option.strip()}"
            options[key] = _cpus(value.strip()) if key == ISOLATED_CORES else value.strip()
    return options


def _cpus(text: str) -> Value:
    try:
        return CpuSet.parse(text)
    except CpuSetError:
        return text
