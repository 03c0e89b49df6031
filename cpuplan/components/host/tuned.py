"""TuneD: what it sets while a node runs, as a profile of its own.

What boots or systemd can set by themselves is not among it: boot arguments, sysctls (`sysctl`) and
the affinity of services. Options are those of the node tuning operator's profile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from cpuplan.components import chosen
from cpuplan.components.chosen import stated
from cpuplan.components.emission import by_default, emit, given_or
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings import tuned as rows
from cpuplan.facts.settings.row import Row
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, cpus_or_text

if TYPE_CHECKING:
    from cpuplan.language.model.tuning import NetDevice

NAME = rows.NAME
PROFILE = "cpuplan"
#: TuneD before 2.23 looks for profiles in /etc/tuned, later ones in /etc/tuned/profiles only.
PATHS = (f"/etc/tuned/{PROFILE}/tuned.conf", f"/etc/tuned/profiles/{PROFILE}/tuned.conf")
#: Without a profile that somebody chose, TuneD takes the first that a file here recommends.
RECOMMEND_PATH = "/etc/tuned/recommend.d/00-cpuplan.conf"
ISOLATED_CORES = rows.ISOLATED_CORES.key
FREQUENCIES = (
    rows.FORCE_LATENCY,
    rows.GOVERNOR,
    rows.ENERGY_PERF_BIAS,
    rows.MIN_PERF_PCT,
)
THREADS = (rows.SCHEDULER_RUNTIME, rows.KSOFTIRQD, rows.RCUC, rows.KTIMERS)


def of_operator(profile: str) -> str:
    """The name of the profile of a PerformanceProfile, or of what stands for one."""
    return f"openshift-node-performance-{profile}"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Options by `section.option`; none, and so no profile, where nothing needs TuneD."""
    if not plan.spec.workload_hints.per_pod_power_management:
        yield from given(plan, FREQUENCIES)
    yield from given(plan, (rows.FWUPD_TIMER, rows.TRANSPARENT_HUGEPAGES))
    yield from given(plan, (rows.AVC_CACHE_THRESHOLD, *THREADS))
    if chosen.real_time(plan):
        yield from emit(plan, rows.STALLD, rows.STALLD.usually, (real_time(plan),))
    yield from queues(plan)
    yield from max_frequencies(plan)
    yield from given(plan, (rows.TIME_STAMPS,))


def given(plan: NodePlan, options: Iterable[Row]) -> Iterator[Setting]:
    """Options with their usual values, where their defaults hold."""
    for row in options:
        yield from by_default(plan, row, row.usually)


def real_time(plan: NodePlan) -> Reason:
    """Why stalld runs, or not."""
    wanted = chosen.real_time(plan)
    text = "the workloads are real-time" if wanted else "the workloads are not real-time"
    return given_or(plan, rows.STALLD, text)


def queues(plan: NodePlan) -> Iterator[Setting]:
    """As many queues as reserved CPUs, in one section for each entry of devices."""
    net, reserved = plan.spec.net, plan.pool("reserved")
    if not net.user_level_networking:
        return
    reason = stated(
        plan, "user-level networking: one queue for each reserved CPU", "net.userLevelNetworking"
    )
    channels = f"combined {len(reserved.cpus)}"
    because = (*reserved.because, reason)
    if not net.devices:
        yield from emit(plan, rows.NET_CHANNELS, channels, because, section=net_section(0))
    for index, device in enumerate(net.devices):
        section = net_section(index)
        chosen = plan.node_class.reason("these devices", f"net.devices.{index}")
        yield from emit(plan, rows.NET_TYPE, "net", (chosen,), section=section)
        pattern = _udev_regex(device)
        yield from emit(plan, rows.NET_DEVICES, pattern, (chosen,), section=section)
        yield from emit(plan, rows.NET_CHANNELS, channels, (*because, chosen), section=section)


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
            because = (*pool.because, reason)
            yield from emit(plan, rows.MAX_FREQUENCY, str(frequency), because, cpu=str(cpu))


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
            options[key] = cpus_or_text(value.strip()) if key == ISOLATED_CORES else value.strip()
    return options
