"""TuneD: what it sets while the node runs, as a profile on top of cpu-partitioning.

Sections and options are those of the node tuning operator's profile for the same CPU sets. Boot
arguments are not among them: they stand in the MachineConfig, where a review sees them, and the
parents' are dropped here.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cpuplan import versions
from cpuplan.components import chosen
from cpuplan.components.reasons import of_release, stated, stated_or, unasked
from cpuplan.cpuset import CpuSet, CpuSetError
from cpuplan.model.tuning import NetDevice
from cpuplan.plan import NodePlan
from cpuplan.setting import Cost, Effect, Setting, Value

NAME = "tuned"
EFFECT: Effect | None = Effect("tuned-adm verify", Cost.NOTHING)
ISOLATED_CORES = "variables.isolated_cores"
_PARENTS = "openshift-node,cpu-partitioning"
#: What cpu-partitioning and its parents leave to others, or set in a way that pods with exclusive
#: CPUs suffer from, by the names of the defaults. RHEL 10 starts the timer of firmware updates by
#: itself.
_FREQUENCIES: tuple[tuple[str, str, str], ...] = (
    ("cpu-frequencies", "cpu.force_latency", "cstate.id:1|3"),
    ("cpu-frequencies", "cpu.governor", "performance"),
    ("cpu-frequencies", "cpu.energy_perf_bias", "performance"),
    ("cpu-frequencies", "cpu.min_perf_pct", "100"),
)
_FIRMWARE = (("firmware-updates", "service.service.fwupd-refresh.timer", "stop,disable"),)
_ALWAYS: tuple[tuple[str, str, str], ...] = (
    ("transparent-hugepages", "vm.transparent_hugepages", "never"),
    ("tcp-fastopen", "sysctl.net.ipv4.tcp_fastopen", "3"),
    ("dirty-pages", "sysctl.vm.dirty_ratio", "10"),
    ("dirty-pages", "sysctl.vm.dirty_background_ratio", "3"),
    ("swappiness", "sysctl.vm.swappiness", "10"),
    ("timer-migration", "sysctl.kernel.timer_migration", "1"),
    ("avc-cache", "selinux.avc_cache_threshold", "8192"),
    ("tuned-scheduler", "scheduler.runtime", "0"),
    ("kernel-threads", "scheduler.group.ksoftirqd", "0:f:11:*:ksoftirqd.*"),
    ("kernel-threads", "scheduler.group.rcuc", "0:f:11:*:rcuc.*"),
    ("kernel-threads", "scheduler.group.ktimers", "0:f:11:*:ktimers.*"),
)
_REAL_TIME: tuple[tuple[str, str, str], ...] = (
    ("real-time", "sysctl.kernel.hung_task_timeout_secs", "600"),
    ("real-time", "sysctl.kernel.nmi_watchdog", "0"),
    ("real-time", "sysctl.kernel.sched_rt_runtime_us", "-1"),
    ("real-time", "sysctl.vm.stat_interval", "10"),
)
#: sysctls of network-latency that a real-time kernel has not.
_NOT_IN_REAL_TIME_KERNELS = "kernel.numa_balancing,net.core.busy_read,net.core.busy_poll"
_POLICY = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_max_freq"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Options by `section.option`."""
    if not is_used(plan):
        return
    yield from _given(
        plan,
        [("tuned", "main.summary", f"CPUs of {plan.node_class.intent}, as cpuplan divides them")],
    )
    yield from _given(plan, [("tuned", "main.include", _PARENTS)])
    yield from _isolated_cores(plan)
    yield from _cpu(plan)
    if versions.ships(plan.node_class.target, "tuned.fwupd_timer"):
        yield from _given(plan, _FIRMWARE)
    skipped = () if _migrates_timers(plan) else ("timer-migration",)
    yield from _given(plan, [row for row in _ALWAYS if row[0] not in skipped])
    yield from _real_time(plan)
    yield from _interrupts(plan)
    yield from _queues(plan)
    yield from _max_frequencies(plan)
    yield from _given(plan, [("time-stamps", "rtentsk.enabled", "true")])
    # Without arguments, the plugin writes its file (plugins/plugin_bootloader.py,
    # _instance_post_static) only with the second option. What an earlier profile left there would
    # stay, and the operator would make a MachineConfig of it.
    yield from _given(
        plan, [("tuned", "bootloader.replace", "1"), ("tuned", "bootloader.skip_grub_config", "1")]
    )


def is_used(plan: NodePlan) -> bool:
    """Whether there is a profile: where TuneD runs on every node, and there are CPUs to isolate."""
    return chosen.is_on(plan, "tuned") and bool(plan.pool("isolated").cpus)


def _given(plan: NodePlan, rows: Iterable[tuple[str, str, str]]) -> Iterator[Setting]:
    """Options by the names of their defaults."""
    for name, key, value in rows:
        if chosen.is_on(plan, name):
            yield Setting(NAME, key, value, (unasked(plan, name, NAME, key),))


def _isolated_cores(plan: NodePlan) -> Iterator[Setting]:
    """All that the kernel isolates: what pods get, and what is kept from them."""
    isolated, isolcpus = plan.pool("isolated"), plan.pool("isolcpus")
    yield Setting(
        NAME, ISOLATED_CORES, isolated.cpus | isolcpus.cpus, (*isolated.because, *isolcpus.because)
    )


def _cpu(plan: NodePlan) -> Iterator[Setting]:
    if plan.spec.workload_hints.per_pod_power_management:
        reason = stated(plan, "pods choose frequencies", "workloadHints.perPodPowerManagement")
        yield Setting(NAME, "cpu.enabled", "false", (reason,))
    else:
        yield from _given(plan, _FREQUENCIES)


def _migrates_timers(plan: NodePlan) -> bool:
    """Two releases of the operator leave other kernels than real-time ones to network-latency."""
    by_kernel = versions.ships(plan.node_class.target, "tuned.timer_migration_by_kernel")
    return plan.spec.kernel.real_time or not by_kernel


def _real_time(plan: NodePlan) -> Iterator[Setting]:
    wanted, stalld = chosen.real_time(plan), "service.service.stalld"
    text = "the workloads are real-time" if wanted else "the workloads are not real-time"
    reason = stated_or(
        plan, text, "workloadHints.realTime", unasked(plan, "real-time", NAME, stalld)
    )
    yield Setting(NAME, stalld, "start,enable" if wanted else "stop,disable", (reason,))
    for _, key, value in _REAL_TIME if wanted else ():
        yield Setting(NAME, key, value, (unasked(plan, "real-time", NAME, key), reason))
    if plan.spec.kernel.real_time:
        because = (stated(plan, "a real-time kernel has none of these", "kernel.realTime"),)
        yield Setting(NAME, "sysctl.drop", _NOT_IN_REAL_TIME_KERNELS, because)


def _interrupts(plan: NodePlan) -> Iterator[Setting]:
    """TuneD leaves interrupts to CRI-O, which moves them pod by pod, or bans the isolated CPUs."""
    field = "isolation.globallyDisableIrqLoadBalancing"
    if plan.spec.isolation.globally_disable_irq_load_balancing:
        return
    default = unasked(plan, "irq-balancing", NAME, "irqbalance.enabled")
    reason = stated_or(
        plan, "CRI-O takes interrupts from the CPUs of pods that ask for it", field, default
    )
    yield Setting(NAME, "irqbalance.enabled", "false", (reason,))
    yield Setting(NAME, "scheduler.default_irq_smp_affinity", "ignore", (reason,))
    yield Setting(NAME, "scheduler.irq_process", "false", (reason,))


def _queues(plan: NodePlan) -> Iterator[Setting]:
    """As many queues as reserved CPUs, in one section for each entry of devices."""
    net, reserved = plan.spec.net, plan.pool("reserved")
    count = max(len(net.devices), 1) if net.user_level_networking else 1
    if versions.ships(plan.node_class.target, "tuned.conntrack_hashsize"):
        for index in range(count):
            key = f"net_{index}" if index else "net"
            yield Setting(NAME, f"{key}.nf_conntrack_hashsize", "131072", (of_release(plan),))
    if not net.user_level_networking:
        return
    reason = stated(
        plan, "user-level networking: one queue for each reserved CPU", "net.userLevelNetworking"
    )
    channels = f"combined {len(reserved.cpus)}"
    if not net.devices:
        yield Setting(NAME, "net.channels", channels, (*reserved.because, reason))
    for index, device in enumerate(net.devices):
        section = f"net_{index}" if index else "net"
        chosen = plan.node_class.reason("these devices", f"net.devices.{index}")
        yield Setting(NAME, f"{section}.type", "net", (chosen,))
        yield Setting(NAME, f"{section}.devices_udev_regex", _udev_regex(device), (chosen,))
        yield Setting(NAME, f"{section}.channels", channels, (*reserved.because, reason, chosen))


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


def _max_frequencies(plan: NodePlan) -> Iterator[Setting]:
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


def render(settings: Sequence[Setting]) -> str:
    """The profile, tuned.conf(5): sections in the order of their first options."""
    sections: dict[str, list[str]] = {}
    for setting in settings:
        section, _, option = setting.key.partition(".")
        sections.setdefault(section, []).append(f"{option}={setting.value}")
    texts = ("\n".join([f"[{name}]", *lines, ""]) for name, lines in sections.items())
    return "\n".join(texts)


_SECTION = re.compile(r"\[([^\]]+)\]")


def parse(text: str) -> Mapping[str, Value]:
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
