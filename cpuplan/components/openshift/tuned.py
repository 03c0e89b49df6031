"""TuneD on OpenShift: the common options on top of its own profile and cpu-partitioning.

Sections and options are those of the node tuning operator's profile for the same CPU sets. Boot
arguments are not among them: they stand in the MachineConfig, where a review sees them, and the
parents' are dropped here.
"""

from collections.abc import Iterator

from cpuplan.components import chosen
from cpuplan.components.host import sysctl
from cpuplan.components.host import tuned as common
from cpuplan.components.host.tuned import ISOLATED_CORES, STALLD, Row, given
from cpuplan.components.reasons import of_release, stated, stated_or, unasked
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Cost, Effect, Setting
from cpuplan.platforms import versions

NAME = common.NAME
EFFECT: Effect | None = Effect("tuned-adm verify", Cost.NOTHING)
render = common.render
of_operator = common.of_operator
parse = common.parse
_PARENTS = "openshift-node,cpu-partitioning"
#: What cpu-partitioning and its parents leave to others, or set in a way that pods with exclusive
#: CPUs suffer from, by the names of the defaults. RHEL 10 starts the timer of firmware updates by
#: itself.
_ALWAYS: tuple[Row, ...] = (
    *common.HUGE_PAGES,
    *((name, f"sysctl.{key}", value) for name, key, value in sysctl.DEFAULTS),
    *common.AVC_CACHE,
    *common.THREADS,
)
#: sysctls of network-latency that a real-time kernel has not.
_NOT_IN_REAL_TIME_KERNELS = "kernel.numa_balancing,net.core.busy_read,net.core.busy_poll"


def settings(plan: NodePlan) -> Iterator[Setting]:
    """Options by `section.option`."""
    for setting in _options(plan):
        yield common.with_evidence(setting, Cost.NOTHING)


def _options(plan: NodePlan) -> Iterator[Setting]:
    if not is_used(plan):
        return
    yield from given(
        plan,
        [("tuned", "main.summary", f"CPUs of {plan.node_class.intent}, as cpuplan divides them")],
    )
    yield from given(plan, [("tuned", "main.include", _PARENTS)])
    yield from _isolated_cores(plan)
    yield from _cpu(plan)
    if versions.ships(plan.node_class.target, "tuned.fwupd_timer"):
        yield from given(plan, common.FIRMWARE)
    skipped = () if _migrates_timers(plan) else ("timer-migration",)
    yield from given(plan, [row for row in _ALWAYS if row[0] not in skipped])
    yield from _real_time(plan)
    yield from _interrupts(plan)
    yield from _queues(plan)
    yield from common.max_frequencies(plan)
    yield from given(plan, common.TIME_STAMPS)
    # Without arguments, the plugin writes its file (plugins/plugin_bootloader.py,
    # _instance_post_static) only with the second option. What an earlier profile left there would
    # stay, and the operator would make a MachineConfig of it.
    yield from given(
        plan, [("tuned", "bootloader.replace", "1"), ("tuned", "bootloader.skip_grub_config", "1")]
    )


def is_used(plan: NodePlan) -> bool:
    """Whether there is a profile: where TuneD runs on every node, and there are CPUs to isolate."""
    return chosen.is_on(plan, "tuned") and bool(plan.pool("isolated").cpus)


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
        yield from given(plan, common.FREQUENCIES)


def _migrates_timers(plan: NodePlan) -> bool:
    """Two releases of the operator leave other kernels than real-time ones to network-latency."""
    by_kernel = versions.ships(plan.node_class.target, "tuned.timer_migration_by_kernel")
    return plan.spec.kernel.real_time or not by_kernel


def _real_time(plan: NodePlan) -> Iterator[Setting]:
    wanted, reason = chosen.real_time(plan), common.real_time(plan)
    yield Setting(NAME, STALLD, "start,enable" if wanted else "stop,disable", (reason,))
    for name, value in sysctl.REAL_TIME if wanted else ():
        key = f"sysctl.{name}"
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
    """What the operator of some releases adds to each section, and the common options."""
    net = plan.spec.net
    count = max(len(net.devices), 1) if net.user_level_networking else 1
    if versions.ships(plan.node_class.target, "tuned.conntrack_hashsize"):
        for index in range(count):
            key = f"{common.net_section(index)}.nf_conntrack_hashsize"
            yield Setting(NAME, key, "131072", (of_release(plan),))
    yield from common.queues(plan)
