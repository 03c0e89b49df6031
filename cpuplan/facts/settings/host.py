"""The operating system: systemd, interrupts, sysctls, and units that prepare a node."""

from functools import partial

from cpuplan.facts.settings.costs import Cost, Impact, Rule
from cpuplan.facts.settings.row import (
    Default,
    Row,
    everywhere,
    for_latency,
    operator_only,
    with_operator,
    without_operator,
)

UNIT_FOLDER = "/etc/systemd/system"
BIN = "/usr/local/bin"
NOT_REAL_TIME = "workloadHints: {realTime: false}"
REAL_TIME = with_operator(
    "real-time",
    "the workloads are real-time",
    off=NOT_REAL_TIME,
    on="workloadHints: {realTime: true}",
).by("workloadHints.realTime", "the workloads are real-time")
_FOR_INTERRUPTS = "isolation: {irqAffinity: false}"

# The kubelet's unit: a drop-in.
KUBELET_UNIT = "kubeletunit"
_KUBELET_UNIT = Rule(
    "kubelet-unit",
    Impact.RESTART,
    "systemctl daemon-reload, and restart of {unit}",
    "A drop-in of the kubelet's unit holds from the next start of the unit on.",
    "systemd.unit(5)",
    costs=Cost.KUBELET_RESTART,
)
_kubelet_unit = partial(Row, KUBELET_UNIT, shown_by="systemctl cat kubelet", cost=_KUBELET_UNIT)
IRQ_PLACING = without_operator(
    "irq-affinity",
    "drivers and irqbalance place interrupts themselves, whatever irqaffinity= says",
    off=_FOR_INTERRUPTS,
)
CONFIG_DIR = _kubelet_unit(
    "--config-dir",
    defaults=(
        without_operator(
            "kubelet-drop-ins", "the kubelet reads a folder of configuration only on request"
        ),
    ),
)
#: Before 1.30, the kubelet reads the folder only with it.
CONFIG_DIR_ALPHA = _kubelet_unit("KUBELET_CONFIG_DROPIN_DIR_ALPHA", field="targets.version")
#: Units that come first or at the same time: they count CPUs and pages, or place interrupts.
WANTS = _kubelet_unit("Wants", defaults=(IRQ_PLACING,))
REQUIRES = _kubelet_unit("Requires", field="pools.offlined and hugePages")
AFTER = _kubelet_unit("After", field="pools.offlined and hugePages")

# systemd: the CPUs of system services, and of slices that keep services in.
SYSTEMD = "systemd"
_AFFINITY = Rule(
    "systemd-affinity",
    Impact.REBOOT,
    "systemctl daemon-reexec, and a reboot for services that run already",
    "CPUAffinity= of the manager holds for services that start after a daemon-reexec. Those "
    "that run keep their CPUs; whether all of them can be restarted is not known.",
    "systemd-system.conf(5)",
    is_certain=False,
)
_SLICE = Rule(
    "slice-cpus",
    Impact.LIVE,
    "systemctl daemon-reload",
    "AllowedCPUs= of a slice holds for its processes after a daemon-reload.",
    "systemd.resource-control(5)",
    costs=Cost.SYSTEMD_RELOAD,
)
_SLICE_GONE = Rule(
    "slice-cpus-removed",
    Impact.REBOOT,
    "systemctl daemon-reload, and a reboot where the slice keeps the old CPUs",
    "A slice whose drop-in is removed keeps its CPUs if cgroups below it use cpusets.",
    "systemd/systemd#43846",
    is_certain=False,
)
SYSTEM_SERVICES = everywhere(
    "system-services", "system services stay off isolated and offlined CPUs"
)
SERVICE_AFFINITY = Row(
    SYSTEMD,
    "CPUAffinity",
    shown_by="/proc/1/status",
    cost=_AFFINITY,
    field="pools.isolated and pools.offlined",
    defaults=(SYSTEM_SERVICES,),
    usually="all others",
)
SERVICE_SLICE = Row(
    SYSTEMD,
    "{slice}",
    shown_by="/sys/fs/cgroup/{slice}/cpuset.cpus.effective",
    cost=_SLICE,
    field="isolation.systemServices",
    when_gone=_SLICE_GONE,
)
SLICES = "slices"
POD_SLICE = Row(
    SLICES,
    "{slice}",
    shown_by="systemctl show --property=AllowedCPUs",
    cost=_SLICE,
    field="qos and pools.isolcpus",
    when_gone=_SLICE_GONE,
)

# A partition of control groups instead of boot arguments.
PARTITIONS = "partitions"
_THREADS = "isolcpus-threads.slice"
PARTITION_GROUP = f"sys/fs/cgroup/isolcpus.slice/{_THREADS}"
_PARTITION = Rule(
    "partition",
    Impact.LIVE,
    "systemctl daemon-reload and restart isolate-cpus.service",
    "A partition of control groups isolates CPUs, and gives them back, while the node runs.",
    "kernel Documentation/admin-guide/cgroup-v2.rst (cpuset.cpus.partition)",
    costs=Cost.SYSTEMD_RELOAD,
)
_partition = partial(
    Row,
    PARTITIONS,
    shown_by=f"/{PARTITION_GROUP}/cpuset.cpus.partition",
    cost=_PARTITION,
    field="isolation.by",
)
PARTITION_THREADS = _partition(_THREADS)
#: By which the kubelet waits for it.
PARTITION_DROP_IN = _partition(f"{UNIT_FOLDER}/{{service}}.d/50-isolate-cpus.conf")

# Interrupts that drivers and irqbalance place themselves.
INTERRUPTS = "interrupts"
_INTERRUPTS = Rule(
    "interrupts",
    Impact.LIVE,
    "systemctl daemon-reload and restart cpuplan-interrupts.service, which moves interrupts",
    "The affinity of an interrupt holds at once. The unit runs a script and ends.",
    "kernel Documentation/core-api/irq/irq-affinity.rst",
)
INTERRUPT_CPUS = Row(
    INTERRUPTS,
    "CPUS",
    shown_by="/proc/irq/*/effective_affinity_list",
    cost=_INTERRUPTS,
    field="isolation.interrupts",
    defaults=(IRQ_PLACING,),
)
IRQBALANCE = "irqbalance"
_IRQBALANCE = Rule(
    "irqbalance",
    Impact.RESTART,
    "systemctl daemon-reload, and restart of irqbalance.service",
    "irqbalance reads its environment when it starts.",
    "Irqbalance/irqbalance irqbalance.1",
    costs=Cost.IRQBALANCE_RESTART,
)
BANNED_CPULIST = Row(
    IRQBALANCE,
    "IRQBALANCE_BANNED_CPULIST",
    shown_by="systemctl show irqbalance",
    cost=_IRQBALANCE,
    field="isolation.interrupts and isolation.globallyDisableIrqLoadBalancing",
    defaults=(IRQ_PLACING,),
)

# Packets.
RPS = "rps"
_RPS = Rule(
    "packet-steering",
    Impact.REBOOT,
    "reboot",
    "The default mask holds for network devices that are made later. Those of pods that run "
    "keep theirs.",
    "kernel Documentation/admin-guide/sysctl/net.rst (rps_default_mask)",
)
_rps = partial(Row, RPS, shown_by="/proc/sys/net/core/rps_default_mask", cost=_RPS)
RPS_MASK = _rps("net.core.rps_default_mask", field="net.receivePacketSteering")
#: Physical devices are steered by their queues.
RPS_UNIT = _rps(
    "update-rps@.service",
    field="net.physicalDeviceRps",
    defaults=(
        everywhere(
            "physical-rps",
            "physical devices have hardware queues",
            off="net: {physicalDeviceRps: true}",
        ),
    ),
)

# sysctls: options of TuneD where an operator runs it.
SYSCTL = "sysctl"
_SYSCTL = Rule(
    "sysctl",
    Impact.LIVE,
    "sysctl --system",
    "sysctls hold at once. One that is no longer set keeps its value until the node boots.",
    "sysctl(8), sysctl.d(5)",
)


#: Where the kernel shows the values of sysctls in force, below the root.
SYSCTLS_BELOW = "proc/sys/"


def shown_in(sysctl: str) -> str:
    """The file that has the value of a sysctl, below the root."""
    return SYSCTLS_BELOW + sysctl.replace(".", "/")


def _sysctl(key: str, usually: str, *defaults: Default, field: str = "") -> Row:
    """`usually` is the value of TuneD's network-latency and cpu-partitioning, as corrected."""
    shown_by = f"/{shown_in(key)}"
    return Row(SYSCTL, key, shown_by, _SYSCTL, field=field, defaults=defaults, usually=usually)


_real_time_sysctl = partial(_sysctl, field="workloadHints.realTime")
TCP_FASTOPEN = _sysctl(
    "net.ipv4.tcp_fastopen",
    "3",
    with_operator("tcp-fastopen", "connections open faster, as in network-latency"),
)
DIRTY_RATIO = _sysctl(
    "vm.dirty_ratio",
    "10",
    with_operator(
        "dirty-pages", "few pages are dirty before writers wait, as in latency-performance"
    ),
)
DIRTY_BACKGROUND_RATIO = _sysctl(
    "vm.dirty_background_ratio",
    "3",
    with_operator("dirty-pages", "dirty pages are written back early, as in latency-performance"),
)
SWAPPINESS = _sysctl(
    "vm.swappiness",
    "10",
    with_operator(
        "swappiness", "the kernel rarely swaps memory of processes, as in latency-performance"
    ),
)
TIMER_MIGRATION = _sysctl(
    "kernel.timer_migration",
    "1",
    for_latency("timer-migration", "timers leave the CPUs that pods get exclusively"),
)
HUNG_TASK_TIMEOUT = _real_time_sysctl(
    "kernel.hung_task_timeout_secs",
    "600",
)
NMI_WATCHDOG = _real_time_sysctl("kernel.nmi_watchdog", "0")
RT_RUNTIME = _real_time_sysctl("kernel.sched_rt_runtime_us", "-1")
STAT_INTERVAL = _real_time_sysctl("vm.stat_interval", "10")

# Units that prepare a node before its kubelet starts; scripts and files by path.
UNITS = "units"
BOOT = Rule(
    "boot-units",
    Impact.REBOOT,
    "reboot",
    "Units that switch CPUs off, or check huge pages, run once, before the kubelet starts and "
    "counts them.",
    "systemd.service(5); kubernetes/kubernetes#124066",
)
_ALLOCATION = Rule(
    "huge-pages-at-run-time",
    Impact.REBOOT,
    "reboot, or a run of {unit} and a restart of the kubelet where memory is not fragmented",
    "Huge pages of a NUMA node can be set aside while a node runs, if the kernel finds enough "
    "contiguous memory, which nothing promises.",
    "kernel Documentation/admin-guide/mm/hugetlbpage.rst",
    is_certain=False,
)
_unit = partial(Row, UNITS, shown_by="systemctl cat", cost=BOOT)
OFFLINE_UNIT = _unit("set-cpus-offline.service", field="pools.offlined")
ALLOCATION_UNIT = _unit(
    "hugepages-allocation-{kib}kB-NUMA{node}.service", cost=_ALLOCATION, field="hugePages.pages"
)
CHECK_UNIT = _unit("hugepages-check-{kib}kB.service", field="hugePages.pages")
OFFLINE_SCRIPT = _unit(
    f"{BIN}/set-cpus-offline.sh",
    defaults=(operator_only("scripts", "set-cpus-offline.service runs it"),),
)
ALLOCATION_SCRIPT = _unit(
    f"{BIN}/hugepages-allocation.sh",
    cost=BOOT,
    defaults=(operator_only("scripts", "units of huge pages run it"),),
)
CHECK_SCRIPT = _unit(f"{BIN}/hugepages-check.sh", field="hugePages.pages")
