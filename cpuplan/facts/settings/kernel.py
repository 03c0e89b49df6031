"""Linux: boot arguments."""

from functools import partial

from cpuplan.facts.settings.costs import Impact, Rule
from cpuplan.facts.settings.host import REAL_TIME, SYSTEM_SERVICES
from cpuplan.facts.settings.row import Row, everywhere, for_latency, with_operator, without_operator
from cpuplan.facts.settings.tuned import TUNED

NAME = "kernel"
_BOOT = Rule(
    "boot-arguments",
    Impact.REBOOT,
    "reboot",
    "The kernel reads its command line when it boots.",
    "kernel Documentation/admin-guide/kernel-parameters.rst",
)
_row = partial(Row, NAME, shown_by="/proc/cmdline", cost=_BOOT)
_real_time = partial(_row, field="workloadHints.realTime", defaults=(REAL_TIME,))

LATENCY = for_latency(
    "latency", "less jitter of ticks, clocks and RCU, as in TuneD's profile network-latency"
)
IOMMU_OF_DEVICES = with_operator("iommu", "DPDK drivers can use devices (VFIO)")
FREQUENCY_DRIVER = for_latency(
    "frequency-driver",
    "the mode of the frequency driver that brings the least jitter, as TuneD chooses it",
)
MANAGED_IRQ = everywhere(
    "managed-irq",
    "isolated from the kernel's own work: interrupts of multi-queue devices go to other CPUs",
    off="isolation: {managedIrq: false}",
)
SCHEDULER = everywhere(
    "scheduler",
    "the scheduler moves no tasks to or from the pool isolcpus",
    off="pools: without isolcpus",
)

SKEW_TICK = _row("skew_tick", usually="1", defaults=(LATENCY,))
TSC = _row("tsc", usually="reliable", defaults=(LATENCY,))
RCU_NORMAL_AFTER_BOOT = _row("rcupdate.rcu_normal_after_boot", usually="1", defaults=(LATENCY,))
#: Kernels from 6.11 on know it, others ignore it.
PATIENCE_DELAY = _row("rcutree.nohz_full_patience_delay", usually="1000", defaults=(LATENCY,))
NOHZ = _row(
    "nohz",
    usually="on",
    defaults=(
        for_latency("latency", "ticks stop on idle CPUs, as in TuneD's profile cpu-partitioning"),
    ),
)
RCU_NOCBS = _row(
    "rcu_nocbs",
    field="pools.isolated and isolation.rcuNocbs",
    usually="the isolated CPUs",
    defaults=(
        everywhere(
            "rcu-nocbs",
            "isolated from the kernel's own work: RCU callbacks run on other CPUs",
            off="isolation: {rcuNocbs: false}",
        ).by("isolation.rcuNocbs", "RCU callbacks run on other CPUs"),
    ),
)
NON_ISOLCPUS = _row("tuned.non_isolcpus", defaults=(TUNED,))
#: For nodes that take no files, which say so elsewhere.
CPU_AFFINITY = _row("systemd.cpu_affinity", usually="all others", defaults=(SYSTEM_SERVICES,))
IOMMU_PASSTHROUGH = _row("iommu.passthrough", field="targets.version")
INTEL_IOMMU = _row("intel_iommu", usually="on", defaults=(IOMMU_OF_DEVICES,))
IOMMU = _row("iommu", usually="pt", defaults=(IOMMU_OF_DEVICES,))
AMD_PSTATE = _row("amd_pstate", usually="guided", defaults=(FREQUENCY_DRIVER,))
INTEL_PSTATE = _row(
    "intel_pstate", usually="disable before Ice Lake, then active", defaults=(FREQUENCY_DRIVER,)
)
NMI_WATCHDOG = _real_time("nmi_watchdog", usually="0")
MCE = _real_time("mce", usually="off")
MAX_CSTATE = _row("processor.max_cstate", field="workloadHints.highPowerConsumption")
INTEL_IDLE_MAX_CSTATE = _row("intel_idle.max_cstate", field="workloadHints.highPowerConsumption")
IDLE = _real_time("idle", usually="poll with highPowerConsumption")
NOHZ_FULL = _row(
    "nohz_full",
    field="pools.isolated and isolation.nohzFull",
    usually="the isolated CPUs",
    defaults=(
        everywhere(
            "nohz-full",
            "isolated from the kernel's own work: no timer tick while one task runs",
            off="isolation: {nohzFull: false}",
        ).by("isolation.nohzFull", "no timer tick while one task runs"),
    ),
)
ISOLCPUS = _row(
    "isolcpus",
    field="pools.isolated and isolation",
    usually="managed_irq and the isolated CPUs, domain and the pool isolcpus",
    defaults=(MANAGED_IRQ, SCHEDULER),
)
NOSOFTLOCKUP = _real_time("nosoftlockup")
KTHREAD_PRIO = _real_time("rcutree.kthread_prio", usually="11")
DEFAULT_HUGEPAGESZ = _row("default_hugepagesz", field="hugePages.defaultSize")
#: With the number of pages, `hugepages=`.
HUGEPAGESZ = _row("hugepagesz={size}", field="hugePages.pages")
IRQAFFINITY = _row(
    "irqaffinity",
    field="isolation.irqAffinity",
    usually="the reserved CPUs",
    defaults=(
        without_operator(
            "irq-affinity",
            "interrupts go to the reserved CPUs: nothing else keeps them off the isolated ones",
            off="isolation: {irqAffinity: false}",
            on="isolation: {irqAffinity: true}",
        ),
    ),
)
#: Any that an intent names itself, and the order of all.
FURTHER = _row("{argument}", field="kernel.extraArguments")

# Work that is bound to no CPU, where no boot argument keeps it off.
WORKQUEUE = "workqueue"
_MASK_PATH = "/sys/devices/virtual/workqueue/cpumask"
_WORKQUEUE = Rule(
    "workqueue-mask",
    Impact.LIVE,
    "systemd-tmpfiles --create",
    "The mask of unbound workqueues holds at once. One that is no longer set stays until the "
    "node boots.",
    "kernel Documentation/core-api/workqueue.rst, tmpfiles.d(5)",
)
WORKQUEUE_MASK = Row(
    WORKQUEUE,
    _MASK_PATH,
    shown_by=_MASK_PATH,
    cost=_WORKQUEUE,
    field="pools.isolated",
    usually="all others",
    defaults=(
        without_operator(
            "workqueues",
            f"isolated from the kernel's own work, which {NOHZ_FULL.key}= would keep off as well",
        ),
    ),
)
