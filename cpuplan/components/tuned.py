"""TuneD: what it sets while the node runs, as a profile on top of cpu-partitioning (a Tuned object on OpenShift).

Sections and options are those of the node tuning operator's profile for the same CPU sets. Boot arguments are not among
them: they stand in the MachineConfig, where a review sees them, and the parents' are dropped here.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cpuplan.components import versions
from cpuplan.components.reasons import stated
from cpuplan.components.setting import Setting, Value
from cpuplan.cpuset import CpuSet, CpuSetError
from cpuplan.diagnostics import Reason
from cpuplan.intent import NetDevice
from cpuplan.plan import NodePlan

NAME = "tuned"
ISOLATED_CORES = "variables.isolated_cores"
_PARENTS = "openshift-node,cpu-partitioning"
#: What cpu-partitioning and its parents leave to others, or set in a way that pods with exclusive CPUs suffer from.
_ALWAYS: tuple[tuple[str, str, str], ...] = (
    ("vm.transparent_hugepages", "never", "khugepaged would move the pages of running workloads"),
    ("sysctl.net.ipv4.tcp_fastopen", "3", "connections open faster, as in network-latency"),
    ("sysctl.vm.dirty_ratio", "10", "writers wait before much is dirty, as in latency-performance"),
    ("sysctl.vm.dirty_background_ratio", "3", "writing back begins early, as in latency-performance"),
    ("sysctl.vm.swappiness", "10", "memory of processes stays in memory, as in latency-performance"),
    ("sysctl.kernel.timer_migration", "1", "timers leave the CPUs that pods get exclusively"),
    ("selinux.avc_cache_threshold", "8192", "a node with many containers has many access vectors"),
    ("scheduler.runtime", "0", "TuneD places processes once and does not watch for new ones"),
    ("scheduler.group.ksoftirqd", "0:f:11:*:ksoftirqd.*", "soft interrupts run before real-time threads of workloads"),
    ("scheduler.group.rcuc", "0:f:11:*:rcuc.*", "RCU callbacks run before real-time threads of workloads"),
    ("scheduler.group.ktimers", "0:f:11:*:ktimers.*", "timers run before real-time threads of workloads"),
)
#: RHEL 10 starts it by itself.
_FIRMWARE = (
    ("service.service.fwupd-refresh.timer", "stop,disable", "firmware updates raise SMIs, which stop every CPU"),
)
_REAL_TIME: tuple[tuple[str, str, str], ...] = (
    ("sysctl.kernel.hung_task_timeout_secs", "600", "a task may have to wait long for a busy CPU"),
    ("sysctl.kernel.nmi_watchdog", "0", "no watchdog interrupts"),
    ("sysctl.kernel.sched_rt_runtime_us", "-1", "real-time tasks may use all of a CPU"),
    ("sysctl.vm.stat_interval", "10", "statistics are gathered less often"),
)
_FREQUENCIES: tuple[tuple[str, str, str], ...] = (
    ("cpu.force_latency", "cstate.id:1|3", "CPUs wake up from shallow C-states only"),
    ("cpu.governor", "performance", "frequencies do not sink"),
    ("cpu.energy_perf_bias", "performance", "frequencies do not sink"),
    ("cpu.min_perf_pct", "100", "frequencies do not sink"),
)
#: sysctls of network-latency that a real-time kernel has not.
_NOT_IN_REAL_TIME_KERNELS = "kernel.numa_balancing,net.core.busy_read,net.core.busy_poll"
_POLICY = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_max_freq"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Options by `section.option`; on OpenShift only, where TuneD runs on every node, and for CPUs to isolate."""
    if plan.node_class.target.platform != "openshift" or not plan.pool("isolated").cpus:
        return
    parents = Reason("OpenShift's own profile, and TuneD's for isolated CPUs", "default")
    yield Setting(NAME, "main.summary", f"CPUs of {plan.node_class.intent}, as cpuplan divides them", (parents,))
    yield Setting(NAME, "main.include", _PARENTS, (parents,))
    yield from _isolated_cores(plan)
    yield from _cpu(plan)
    if versions.ships(plan.node_class.target, "tuned.fwupd_timer"):
        yield from _given(_FIRMWARE)
    yield from _given(_ALWAYS)
    yield from _real_time(plan)
    yield from _interrupts(plan)
    yield from _queues(plan)
    yield from _max_frequencies(plan)
    socket = Reason(
        "a socket with time stamps is open already, so that nobody's first one switches static keys", "default"
    )
    yield Setting(NAME, "rtentsk.enabled", "true", (socket,))
    elsewhere = Reason("the parents' boot arguments give way to those of the MachineConfig", "default")
    yield Setting(NAME, "bootloader.replace", "1", (elsewhere,))
    # Without arguments, the plugin writes its file (plugins/plugin_bootloader.py, _instance_post_static) only with this
    # option. What an earlier profile left there would stay, and the operator would make a MachineConfig of it.
    none = Reason("TuneD notes down that it has no boot arguments, whatever an earlier profile had", "default")
    yield Setting(NAME, "bootloader.skip_grub_config", "1", (none,))


def _given(rows: Iterable[tuple[str, str, str]], *reasons: Reason) -> Iterator[Setting]:
    for key, value, text in rows:
        yield Setting(NAME, key, value, (Reason(text, "default"), *reasons))


def _isolated_cores(plan: NodePlan) -> Iterator[Setting]:
    """All that the kernel isolates: what pods get, and what is kept from them."""
    isolated, isolcpus = plan.pool("isolated"), plan.pool("isolcpus")
    yield Setting(NAME, ISOLATED_CORES, isolated.cpus | isolcpus.cpus, (*isolated.because, *isolcpus.because))


def _cpu(plan: NodePlan) -> Iterator[Setting]:
    if plan.spec.workload_hints.per_pod_power_management:
        reason = stated(plan, "pods choose frequencies", "workloadHints.perPodPowerManagement")
        yield Setting(NAME, "cpu.enabled", "false", (reason,))
    else:
        yield from _given(_FREQUENCIES)


def _real_time(plan: NodePlan) -> Iterator[Setting]:
    wanted = plan.spec.workload_hints.real_time
    text = "the workloads are real-time" if wanted else "the workloads are not real-time"
    reason = stated(plan, text, "workloadHints.realTime")
    yield Setting(NAME, "service.service.stalld", "start,enable" if wanted else "stop,disable", (reason,))
    if wanted:
        yield from _given(_REAL_TIME, reason)
    if plan.spec.kernel.real_time:
        because = (stated(plan, "a real-time kernel has none of these", "kernel.realTime"),)
        yield Setting(NAME, "sysctl.drop", _NOT_IN_REAL_TIME_KERNELS, because)


def _interrupts(plan: NodePlan) -> Iterator[Setting]:
    """TuneD keeps its hands off interrupts, since CRI-O moves them pod by pod; or bans the isolated CPUs for good."""
    field = "isolation.globallyDisableIrqLoadBalancing"
    if plan.spec.isolation.globally_disable_irq_load_balancing:
        return
    reason = stated(plan, "CRI-O takes interrupts from the CPUs of pods that ask for it", field)
    yield Setting(NAME, "irqbalance.enabled", "false", (reason,))
    yield Setting(NAME, "scheduler.default_irq_smp_affinity", "ignore", (reason,))
    yield Setting(NAME, "scheduler.irq_process", "false", (reason,))


def _queues(plan: NodePlan) -> Iterator[Setting]:
    """As many queues as reserved CPUs, in one section for each entry of devices."""
    net, reserved = plan.spec.net, plan.pool("reserved")
    if not net.user_level_networking:
        return
    reason = stated(plan, "user-level networking: one queue for each reserved CPU", "net.userLevelNetworking")
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
    """A pattern over the lines of a device's udev properties, which TuneD sees in the order of their names."""
    parts = []
    if device.device_id:
        parts.append(f"^ID_MODEL_ID={device.device_id}")
    if device.vendor_id:
        parts.append(f"^ID_VENDOR_ID={device.vendor_id}")
    if name := device.interface_name:
        pattern = name.removeprefix("!").replace("*", ".*")
        parts.append(f"^INTERFACE=(?!{pattern})" if name.startswith("!") else f"^INTERFACE={pattern}")
    return r"[\s\S]*".join(parts)


def _max_frequencies(plan: NodePlan) -> Iterator[Setting]:
    tuning = plan.spec.hardware_tuning
    if tuning is None:
        return
    for pool, frequency, field in (
        (plan.pool("isolated"), tuning.isolated_cpu_freq, "isolatedCpuFreq"),
        (plan.pool("reserved"), tuning.reserved_cpu_freq, "reservedCpuFreq"),
    ):
        reason = stated(plan, f"at most {frequency} kHz", f"hardwareTuning.{field}")
        for cpu in pool.cpus:
            yield Setting(NAME, f"sysfs.{_POLICY.format(cpu)}", str(frequency), (*pool.because, reason))


def render(settings: Sequence[Setting]) -> str:
    """The profile, tuned.conf(5): a section after the other, in the order of their first options."""
    sections: dict[str, list[str]] = {}
    for setting in settings:
        section, _, option = setting.key.partition(".")
        sections.setdefault(section, []).append(f"{option}={setting.value}")
    return "\n".join("".join(f"{line}\n" for line in (f"[{name}]", *lines)) for name, lines in sections.items())


_SECTION = re.compile(r"\[([^\]]+)\]")


def parse(text: str) -> Mapping[str, Value]:
    """The options of a profile; lines that are neither sections nor options are passed over, as comments are."""
    found: dict[str, Value] = {}
    section = ""
    for line in map(str.strip, text.splitlines()):
        if match := _SECTION.fullmatch(line):
            section = match[1]
        elif "=" in line and not line.startswith(("#", ";")):
            option, _, value = line.partition("=")
            key = f"{section}.{option.strip()}"
            found[key] = _cpus(value.strip()) if key == ISOLATED_CORES else value.strip()
    return found


def _cpus(text: str) -> Value:
    try:
        return CpuSet.parse(text)
    except CpuSetError:
        return text
