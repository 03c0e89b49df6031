"""Which boot arguments a plan has, in the order of the node tuning operator's profile."""

from collections.abc import Iterable, Iterator

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.components import chosen, cmdline, isolation
from cpuplan.components.emission import by_default, emit
from cpuplan.components.host import bootarguments
from cpuplan.components.kernel.pages import of_pages
from cpuplan.components.kernel.vendors import of_vendor
from cpuplan.components.openshift import ovsdpdk
from cpuplan.components.reasons import asked_or, stated, stated_or, unasked
from cpuplan.diagnostics import Reason
from cpuplan.facts import versions
from cpuplan.facts.platforms.features import Feature
from cpuplan.facts.settings import kernel as rows
from cpuplan.facts.settings.host import REAL_TIME
from cpuplan.plan import NodePlan, Pool
from cpuplan.plan.setting import Setting, Value


def settings(plan: NodePlan) -> Iterator[Setting]:
    """One setting for each argument; an extra argument of the intent replaces a computed one."""
    extra = list(_extra(plan))
    replaced = {cmdline.canonical(setting.key) for setting in extra}
    own = (each for each in _computed(plan) if cmdline.canonical(each.key) not in replaced)
    yield from bootarguments.with_evidence([*own, *extra], plan.topology)


def _computed(plan: NodePlan) -> Iterator[Setting]:
    yield from _latency(plan)
    yield from _partitioning(plan)
    yield from of_vendor(plan)
    yield from _isolation(plan)
    if chosen.real_time(plan):
        because = (asked_or(plan, REAL_TIME),)
        yield from emit(plan, rows.NOSOFTLOCKUP, True, because)
        yield from emit(plan, rows.KTHREAD_PRIO, rows.KTHREAD_PRIO.usually, because)
    yield from of_pages(plan)
    yield from _irq_affinity(plan)


def _latency(plan: NodePlan) -> Iterator[Setting]:
    """What TuneD's profile network-latency gives."""
    known = [rows.SKEW_TICK]
    if _has_tuned(plan, (2, 24), "arguments.of_tuned_2_24"):
        known += [rows.TSC, rows.RCU_NORMAL_AFTER_BOOT]
    for row in known:
        yield from by_default(plan, row, row.usually)


def _has_tuned(plan: NodePlan, version: versions.Version, feature: Feature) -> bool:
    """Whether the nodes' TuneD is of this version, as the intent says or else the release."""
    target = plan.node_class.target
    if target.is_profile and target.tuned:
        return versions.from_text(target.tuned) >= version
    return versions.ships(target, feature)


def computed(plan: NodePlan) -> dict[str, Value]:
    """What the plan gives by itself, by key: extra arguments are compared with it."""
    return {setting.key: setting.value for setting in _computed(plan)}


def _partitioning(plan: NodePlan) -> Iterator[Setting]:
    isolated = isolation.isolated(plan)
    if not isolated.cpus:
        return
    if _nohz_full(plan).cpus:
        is_known = _has_tuned(plan, (2, 28), "arguments.nohz_full_patience_delay")
        # A kernel before 6.11 ignores it. Where a release brings no kernel, it does not tell which
        # one nodes have.
        if is_known or not plan.node_class.platform.ships_kernel:
            yield from by_default(plan, rows.PATIENCE_DELAY, rows.PATIENCE_DELAY.usually)
        yield from by_default(plan, rows.NOHZ, rows.NOHZ.usually)
    reason = asked_or(plan, rows.RCU_NOCBS.default)
    without_callbacks = isolation.kept_off(plan, "rcuNocbs", reason)
    if without_callbacks.cpus:
        because = without_callbacks.because
        yield from emit(plan, rows.RCU_NOCBS, without_callbacks.cpus, because)
    because = (*isolated.because, *plan.pool("offlined").because)
    yield from by_default(plan, rows.NON_ISOLCPUS, isolation.not_isolated(plan), because)
    # Elsewhere a file says so: systemd reads its files first, and an argument would override them
    # until the next boot (systemd/systemd, src/core/main.c).
    if not plan.node_class.platform.takes_files:
        because = (*because, *isolation.because_alone(plan))
        yield from by_default(plan, rows.CPU_AFFINITY, isolation.system_cpus(plan), because)


def _nohz_full(plan: NodePlan) -> Pool:
    """The CPUs without a tick."""
    reason = asked_or(plan, rows.NOHZ_FULL.default)
    return isolation.kept_off(plan, "nohzFull", reason)


def _isolation(plan: NodePlan) -> Iterator[Setting]:
    always = versions.ships(plan.node_class.target, "arguments.nohz_full_always")
    tickless = _nohz_full(plan)
    asked = any(isolation.own_switches(plan, "nohzFull").values())
    if tickless.cpus and (always or asked or chosen.real_time(plan)):
        yield from emit(plan, rows.NOHZ_FULL, tickless.cpus, tickless.because)
    lists, because = _isolcpus(plan)
    if lists:
        value = lists[0] if len(lists) == 1 else lists
        yield from emit(plan, rows.ISOLCPUS, value, because)


def _isolcpus(plan: NodePlan) -> tuple[tuple[tuple[Value, ...], ...], tuple[Reason, ...]]:
    """A list of flags and CPUs, or two with a flag each, and the reasons.

    A separate list comes last: kernels before 5.18 know one list only, and drop each later one that
    differs.
    """
    alone = isolation.kept_off(
        plan, "domain", stated(plan, "no load balancing", "isolation.domain")
    )
    default = unasked(plan, rows.MANAGED_IRQ)
    reason = stated_or(plan, "managed interrupts stay off", "isolation.managedIrq", default)
    managed = isolation.kept_off(plan, "managedIrq", reason)
    if isolation.by_partitions(plan):
        flags = (("managed_irq", managed.cpus),) if managed.cpus else ()
        return flags, managed.because
    because = tuple(dict.fromkeys((*alone.because, *managed.because)))
    if alone.cpus and alone.cpus == managed.cpus:
        return (("domain", "managed_irq", alone.cpus),), because
    # CPUs of Open vSwitch have a cgroup instead.
    apart = plan.pool("isolcpus").cpus - ovsdpdk.cpus(plan)
    if apart and not plan.spec.isolation.domain:
        reasons = (*isolation.isolated(plan).because, *because)
        because = (*dict.fromkeys(reasons), unasked(plan, rows.SCHEDULER))
    lists = (("managed_irq", managed.cpus), ("domain", alone.cpus | apart))
    return tuple(flags for flags in lists if flags[1]), because


def unbalanced(settings: Iterable[Setting]) -> CpuSet:
    """The CPUs that the scheduler leaves alone: those of `isolcpus=domain`."""
    lists = (
        cmdline.lists(setting.value) for setting in settings if setting.key == rows.ISOLCPUS.key
    )
    flagged = [words for found in lists for words in found if isinstance(words, tuple)]
    return union(
        cpus
        for *flags, cpus in flagged
        if isinstance(cpus, CpuSet) and (not flags or "domain" in flags)
    )


def _irq_affinity(plan: NodePlan) -> Iterator[Setting]:
    """The default affinity of interrupts, which CRI-O's hooks overwrite on OpenShift."""
    if dpdk := ovsdpdk.cpus(plan):
        # Those of the pools, as the node tuning operator adds them up; a CPU in no pool gets no
        # interrupts.
        others = union(pool.cpus for pool in plan.pools if pool.name != "offlined") - dpdk
        because = (*plan.pool("isolcpus").because, ovsdpdk.reason(plan))
        yield from emit(plan, rows.IRQAFFINITY, others, because)
    elif reason := isolation.why_interrupts(plan, rows.IRQAFFINITY.default):
        pool = isolation.interrupts(plan)
        yield from emit(plan, rows.IRQAFFINITY, pool.cpus, (*pool.because, reason))


def _extra(plan: NodePlan) -> Iterator[Setting]:
    given = plan.spec.kernel.extra_arguments
    for key, value in cmdline.keyed(" ".join(given)).items():
        word = cmdline.words(key, value)[0]
        index = given.index(word) if word in given else 0
        because = (plan.node_class.reason("asked for", f"kernel.extraArguments.{index}"),)
        yield from emit(plan, rows.FURTHER, value, because, argument=key)
