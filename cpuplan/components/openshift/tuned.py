"""TuneD on OpenShift: the common options on top of its own profile and cpu-partitioning.

Sections and options are those of the node tuning operator's profile for the same CPU sets. Boot
arguments are not among them: they stand in the MachineConfig, where a review sees them, and the
parents' are dropped here.
"""

from collections.abc import Iterator

from cpuplan.components import chosen
from cpuplan.components.chosen import of_release, stated, stated_or, unasked
from cpuplan.components.emission import by_default, emit
from cpuplan.components.host import tuned as common
from cpuplan.components.host.tuned import given
from cpuplan.facts import versions
from cpuplan.facts.settings import tuned as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting

NAME = common.NAME
render = common.render
of_operator = common.of_operator
parse = common.parse
#: What cpu-partitioning and its parents leave to others, or set in a way that pods with exclusive
#: CPUs suffer from. RHEL 10 starts the timer of firmware updates by itself.
_ALWAYS = (
    rows.TRANSPARENT_HUGEPAGES,
    rows.TCP_FASTOPEN,
    rows.DIRTY_RATIO,
    rows.DIRTY_BACKGROUND_RATIO,
    rows.SWAPPINESS,
    rows.TIMER_MIGRATION,
    rows.AVC_CACHE_THRESHOLD,
    *common.THREADS,
)
_REAL_TIME = (rows.HUNG_TASK_TIMEOUT, rows.NMI_WATCHDOG, rows.RT_RUNTIME, rows.STAT_INTERVAL)
_NOT_IN_REAL_TIME_KERNELS = "kernel.numa_balancing,net.core.busy_read,net.core.busy_poll"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Options by `section.option`."""
    if not is_used(plan):
        return
    summary = f"CPUs of {plan.node_class.intent}, as cpuplan divides them"
    yield from by_default(plan, rows.SUMMARY, summary)
    yield from given(plan, (rows.INCLUDE,))
    yield from _isolated_cores(plan)
    yield from _cpu(plan)
    if versions.ships(plan.node_class.target, "tuned.fwupd_timer"):
        yield from given(plan, (rows.FWUPD_TIMER,))
    skipped = () if _migrates_timers(plan) else (rows.TIMER_MIGRATION,)
    yield from given(plan, (row for row in _ALWAYS if row not in skipped))
    yield from _real_time(plan)
    yield from _interrupts(plan)
    yield from _queues(plan)
    yield from common.max_frequencies(plan)
    yield from given(plan, (rows.TIME_STAMPS, rows.BOOTLOADER_REPLACE, rows.SKIP_GRUB_CONFIG))


def is_used(plan: NodePlan) -> bool:
    """Whether there is a profile: where TuneD runs on every node, and there are CPUs to isolate."""
    return chosen.is_on(plan, rows.TUNED) and bool(plan.pool("isolated").cpus)


def _isolated_cores(plan: NodePlan) -> Iterator[Setting]:
    """All that the kernel isolates: what pods get, and what is kept from them."""
    isolated, isolcpus = plan.pool("isolated"), plan.pool("isolcpus")
    because = (*isolated.because, *isolcpus.because)
    cpus = chosen.as_operator_lists(plan, isolated.cpus | isolcpus.cpus)
    yield from emit(plan, rows.ISOLATED_CORES, cpus, because)


def _cpu(plan: NodePlan) -> Iterator[Setting]:
    if plan.spec.workload_hints.per_pod_power_management:
        reason = stated(plan, "pods choose frequencies", "workloadHints.perPodPowerManagement")
        yield from emit(plan, rows.CPU_ENABLED, "false", (reason,))
    else:
        yield from given(plan, common.FREQUENCIES)


def _migrates_timers(plan: NodePlan) -> bool:
    """Two releases of the operator leave other kernels than real-time ones to network-latency."""
    by_kernel = versions.ships(plan.node_class.target, "tuned.timer_migration_by_kernel")
    return plan.spec.kernel.real_time or not by_kernel


def _real_time(plan: NodePlan) -> Iterator[Setting]:
    wanted, reason = chosen.real_time(plan), common.real_time(plan)
    stalld = rows.STALLD.usually if wanted else "stop,disable"
    yield from emit(plan, rows.STALLD, stalld, (reason,))
    for row in _REAL_TIME if wanted else ():
        yield from emit(plan, row, row.usually, (unasked(plan, row.default), reason))
    if plan.spec.kernel.real_time:
        because = (stated(plan, "a real-time kernel has none of these", "kernel.realTime"),)
        yield from emit(plan, rows.DROPPED_SYSCTLS, _NOT_IN_REAL_TIME_KERNELS, because)


def _interrupts(plan: NodePlan) -> Iterator[Setting]:
    """TuneD leaves interrupts to CRI-O, which moves them pod by pod, or bans the isolated CPUs."""
    field = "isolation.globallyDisableIrqLoadBalancing"
    if plan.spec.isolation.globally_disable_irq_load_balancing:
        return
    default = unasked(plan, rows.IRQ_BALANCING)
    reason = stated_or(
        plan, "CRI-O takes interrupts from the CPUs of pods that ask for it", field, default
    )
    for row in (rows.IRQBALANCE, rows.DEFAULT_IRQ_AFFINITY, rows.IRQ_PROCESS):
        yield from emit(plan, row, row.usually, (reason,))


def _queues(plan: NodePlan) -> Iterator[Setting]:
    """What the operator of some releases adds to each section, and the common options."""
    net = plan.spec.net
    count = max(len(net.devices), 1) if net.user_level_networking else 1
    if versions.ships(plan.node_class.target, "tuned.conntrack_hashsize"):
        for index in range(count):
            section, because = common.net_section(index), (of_release(plan),)
            yield from emit(plan, rows.CONNTRACK_HASHSIZE, "131072", because, section=section)
    yield from common.queues(plan)
