"""TuneD: options of a profile, by `section.option`, with the values of the operator's profile."""

from cpuplan.facts.settings import host
from cpuplan.facts.settings.costs import Cost, Impact, Rule
from cpuplan.facts.settings.host import REAL_TIME
from cpuplan.facts.settings.row import Default, Form, Row, for_latency, operator_only, with_operator

NAME = "tuned"
_PROFILE = Rule(
    "tuned-profile",
    Impact.RESTART,
    "restart of tuned.service",
    "TuneD reads a profile when it starts, and takes back what the old one set.",
    "redhat-performance/tuned doc/manual (tuned-adm)",
    costs=Cost.TUNED_RESTART,
)
BY_OPERATOR = Rule(
    "nto-tuned",
    Impact.LIVE,
    "TuneD of the node tuning operator applies the changed profile",
    "A changed Tuned object is applied while the node runs. The kernel "
    "arguments that TuneD computes become the MachineConfig 50-nto-POOL, which is compared as "
    "any other.",
    "openshift/cluster-node-tuning-operator pkg/tuned/controller.go",
)


def _row(
    key: str,
    usually: str = "",
    *defaults: Default,
    field: str = "",
    file: tuple[str, Form] | None = None,
) -> Row:
    """`file` is the one that shows the option, below the root, and how."""
    return Row(
        NAME,
        key,
        shown_by=f"/{file[0]}" if file else "tuned-adm verify",
        cost=_PROFILE,
        operator_cost=BY_OPERATOR,
        field=field,
        defaults=defaults,
        usually=usually,
        file=file,
    )


def _of_sysctl(row: Row, *defaults: Default) -> Row:
    """TuneD sets the same sysctls where an operator runs it."""
    file = host.shown_in(row.key), Form.TEXT
    return _row(f"sysctl.{row.key}", row.usually, *(defaults or row.defaults), file=file)


#: The first of the name: the default is that of the profile.
TUNED = operator_only("tuned", "TuneD's scripts read it on OpenShift")
_PARENTS = operator_only("tuned", "OpenShift's own profile, and TuneD's for isolated CPUs")
_FREQUENCIES = for_latency("cpu-frequencies", "frequencies do not drop")
IRQ_BALANCING = with_operator(
    "irq-balancing",
    "CRI-O takes interrupts from the CPUs of pods that ask for it",
    off="isolation: {globallyDisableIrqLoadBalancing: true}",
)

SUMMARY = _row("main.summary", "", _PARENTS)
INCLUDE = _row("main.include", "openshift-node,cpu-partitioning", _PARENTS)
ISOLATED_CORES = _row("variables.isolated_cores", field="pools.isolated and pools.isolcpus")
CPU_ENABLED = _row("cpu.enabled", field="workloadHints.perPodPowerManagement")
FORCE_LATENCY = _row(
    "cpu.force_latency",
    "cstate.id:1|3",
    for_latency("cpu-frequencies", "CPUs wake up from shallow C-states only"),
)
GOVERNOR = _row("cpu.governor", "performance", _FREQUENCIES)
ENERGY_PERF_BIAS = _row("cpu.energy_perf_bias", "performance", _FREQUENCIES)
MIN_PERF_PCT = _row(
    "cpu.min_perf_pct",
    "100",
    _FREQUENCIES,
    file=("sys/devices/system/cpu/intel_pstate/min_perf_pct", Form.NUMBER),
)
FWUPD_TIMER = _row(
    "service.service.fwupd-refresh.timer",
    "stop,disable",
    for_latency("firmware-updates", "firmware updates raise SMIs, which stop every CPU"),
)
TRANSPARENT_HUGEPAGES = _row(
    "vm.transparent_hugepages",
    "never",
    for_latency("transparent-hugepages", "khugepaged would move the pages of running workloads"),
    file=("sys/kernel/mm/transparent_hugepage/enabled", Form.WORD),
)
TCP_FASTOPEN = _of_sysctl(host.TCP_FASTOPEN)
DIRTY_RATIO = _of_sysctl(host.DIRTY_RATIO)
DIRTY_BACKGROUND_RATIO = _of_sysctl(host.DIRTY_BACKGROUND_RATIO)
SWAPPINESS = _of_sysctl(host.SWAPPINESS)
TIMER_MIGRATION = _of_sysctl(host.TIMER_MIGRATION)
AVC_CACHE_THRESHOLD = _row(
    "selinux.avc_cache_threshold",
    "8192",
    with_operator("avc-cache", "a node with many containers has many access vectors"),
    file=("sys/fs/selinux/avc/cache_threshold", Form.NUMBER),
)
SCHEDULER_RUNTIME = _row(
    "scheduler.runtime",
    "0",
    for_latency("tuned-scheduler", "TuneD places processes once and does not watch for new ones"),
)
KSOFTIRQD = _row(
    "scheduler.group.ksoftirqd",
    "0:f:11:*:ksoftirqd.*",
    for_latency("kernel-threads", "soft interrupts run before real-time threads of workloads"),
)
RCUC = _row(
    "scheduler.group.rcuc",
    "0:f:11:*:rcuc.*",
    for_latency("kernel-threads", "RCU callbacks run before real-time threads of workloads"),
)
KTIMERS = _row(
    "scheduler.group.ktimers",
    "0:f:11:*:ktimers.*",
    for_latency("kernel-threads", "timers run before real-time threads of workloads"),
)
STALLD = _row("service.service.stalld", "start,enable", REAL_TIME, field="workloadHints.realTime")
HUNG_TASK_TIMEOUT = _of_sysctl(host.HUNG_TASK_TIMEOUT, REAL_TIME)
NMI_WATCHDOG = _of_sysctl(host.NMI_WATCHDOG, REAL_TIME)
RT_RUNTIME = _of_sysctl(host.RT_RUNTIME, REAL_TIME)
STAT_INTERVAL = _of_sysctl(host.STAT_INTERVAL, REAL_TIME)
#: sysctls of network-latency that a real-time kernel has not.
DROPPED_SYSCTLS = _row("sysctl.drop", field="kernel.realTime")
IRQBALANCE = _row("irqbalance.enabled", "false", IRQ_BALANCING)
DEFAULT_IRQ_AFFINITY = _row("scheduler.default_irq_smp_affinity", "ignore", IRQ_BALANCING)
IRQ_PROCESS = _row("scheduler.irq_process", "false", IRQ_BALANCING)
#: Sections `net`, `net_1`, ..., one for each entry of devices.
CONNTRACK_HASHSIZE = _row(
    "{section}.nf_conntrack_hashsize",
    field="targets.version",
    file=("sys/module/nf_conntrack/parameters/hashsize", Form.NUMBER),
)
NET_TYPE = _row("{section}.type", field="net.devices")
NET_DEVICES = _row("{section}.devices_udev_regex", field="net.devices")
NET_CHANNELS = _row("{section}.channels", field="net.userLevelNetworking")
MAX_FREQUENCY = _row(
    "sysfs./sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_max_freq", field="hardwareTuning"
)
TIME_STAMPS = _row(
    "rtentsk.enabled",
    "true",
    for_latency(
        "time-stamps",
        "a socket with time stamps is always open, so that opening one does not switch static keys",
    ),
)
# Without arguments, the plugin writes its file (plugins/plugin_bootloader.py,
# _instance_post_static) only with the second option. What an earlier profile left there would
# stay, and the operator would make a MachineConfig of it.
BOOTLOADER_REPLACE = _row(
    "bootloader.replace",
    "1",
    operator_only(
        "tuned", "boot arguments of the MachineConfig replace those of the parent profiles"
    ),
)
SKIP_GRUB_CONFIG = _row(
    "bootloader.skip_grub_config",
    "1",
    operator_only(
        "tuned",
        "TuneD records that it has no boot arguments, even if an earlier profile had some",
    ),
)
