"""Which boot arguments a plan has, in the order of the node tuning operator's profile."""

from collections.abc import Iterable, Iterator

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.components import chosen, cmdline, isolation
from cpuplan.components.host import bootarguments
from cpuplan.components.kernel.given import NAME, Argument, for_real_time
from cpuplan.components.kernel.pages import of_pages
from cpuplan.components.kernel.vendors import of_vendor
from cpuplan.components.openshift import ovsdpdk
from cpuplan.components.reasons import stated, stated_or, unasked
from cpuplan.diagnostics import Reason
from cpuplan.plan import NodePlan, Pool
from cpuplan.plan.setting import Cost, Effect, Setting, Value
from cpuplan.platforms import versions
from cpuplan.platforms.features import Feature

EFFECT: Effect | None = Effect("/proc/cmdline", Cost.REBOOT)


def settings(plan: NodePlan) -> Iterator[Setting]:
    """One setting for each argument; an extra argument of the intent replaces a computed one."""
    extra = list(_extra(plan))
    replaced = {cmdline.canonical(setting.key) for setting in extra}
    computed = (
        Setting(NAME, key, value, reasons)
        for key, value, reasons in _computed(plan)
        if cmdline.canonical(key) not in replaced
    )
    yield from bootarguments.with_evidence([*computed, *extra], plan.topology)


def _computed(plan: NodePlan) -> Iterator[Argument]:
    if chosen.is_on(plan, "latency"):
        for key, value in _latency(plan):
            yield key, value, (unasked(plan, "latency", NAME, key),)
    yield from _partitioning(plan)
    yield from of_vendor(plan)
    yield from _isolation(plan)
    if chosen.real_time(plan):
        because = (for_real_time(plan, "nosoftlockup"),)
        yield "nosoftlockup", True, because
        yield "rcutree.kthread_prio", "11", because
    yield from of_pages(plan)
    yield from _irq_affinity(plan)


def _latency(plan: NodePlan) -> Iterator[tuple[str, str]]:
    """What TuneD's profile network-latency gives."""
    yield "skew_tick", "1"
    if _has_tuned(plan, (2, 24), "arguments.of_tuned_2_24"):
        yield "tsc", "reliable"
        yield "rcupdate.rcu_normal_after_boot", "1"


def _has_tuned(plan: NodePlan, version: versions.Version, feature: Feature) -> bool:
    """Whether the nodes' TuneD is of this version, as the intent says or else the release."""
    target = plan.node_class.target
    if target.is_profile and target.tuned:
        return versions.from_text(target.tuned) >= version
    return versions.ships(target, feature)


def computed(plan: NodePlan) -> dict[str, Value]:
    """What the plan gives by itself, by key: extra arguments are compared with it."""
    return {key: value for key, value, _ in _computed(plan)}


def _partitioning(plan: NodePlan) -> Iterator[Argument]:
    isolated = isolation.isolated(plan)
    if not isolated.cpus:
        return
    if _nohz_full(plan).cpus and chosen.is_on(plan, "latency"):
        node_class, key = plan.node_class, "rcutree.nohz_full_patience_delay"
        is_known = _has_tuned(plan, (2, 28), "arguments.nohz_full_patience_delay")
        # A kernel before 6.11 ignores it. Where a release brings no kernel, it does not tell which
        # one nodes have.
        if is_known or not node_class.platform.ships_kernel:
            yield key, "1000", (unasked(plan, "latency", NAME, key),)
        yield "nohz", "on", (unasked(plan, "latency", NAME, "nohz"),)
    default = unasked(plan, "rcu-nocbs", NAME, "rcu_nocbs")
    reason = stated_or(plan, "RCU callbacks run on other CPUs", "isolation.rcuNocbs", default)
    without_callbacks = isolation.kept_off(plan, "rcuNocbs", reason)
    if without_callbacks.cpus:
        yield "rcu_nocbs", without_callbacks.cpus, without_callbacks.because
    because = (*isolated.because, *plan.pool("offlined").because)
    if chosen.is_on(plan, "tuned"):
        key, others = "tuned.non_isolcpus", isolation.not_isolated(plan)
        yield key, others, (*because, unasked(plan, "tuned", NAME, key))
    # Elsewhere a file says so: systemd reads its files first, and an argument would override them
    # until the next boot (systemd/systemd, src/core/main.c).
    if chosen.is_on(plan, "system-services") and not plan.node_class.platform.takes_files:
        key, others = "systemd.cpu_affinity", isolation.system_cpus(plan)
        because = (*because, *isolation.because_alone(plan))
        yield key, others, (*because, unasked(plan, "system-services", NAME, key))


def _nohz_full(plan: NodePlan) -> Pool:
    """The CPUs without a tick."""
    default = unasked(plan, "nohz-full", NAME, "nohz_full")
    reason = stated_or(plan, "no timer tick while one task runs", "isolation.nohzFull", default)
    return isolation.kept_off(plan, "nohzFull", reason)


def _isolation(plan: NodePlan) -> Iterator[Argument]:
    always = versions.ships(plan.node_class.target, "arguments.nohz_full_always")
    tickless = _nohz_full(plan)
    asked = any(isolation.own_switches(plan, "nohzFull").values())
    if tickless.cpus and (always or asked or chosen.real_time(plan)):
        yield "nohz_full", tickless.cpus, tickless.because
    lists, because = _isolcpus(plan)
    if lists:
        yield "isolcpus", lists[0] if len(lists) == 1 else lists, because


def _isolcpus(plan: NodePlan) -> tuple[tuple[tuple[Value, ...], ...], tuple[Reason, ...]]:
    """A list of flags and CPUs, or two with a flag each, and the reasons.

    A separate list comes last: kernels before 5.18 know one list only, and drop each later one that
    differs.
    """
    alone = isolation.kept_off(
        plan, "domain", stated(plan, "no load balancing", "isolation.domain")
    )
    default = unasked(plan, "managed-irq", NAME, "isolcpus")
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
        because = (*dict.fromkeys(reasons), unasked(plan, "scheduler", NAME, "isolcpus"))
    lists = (("managed_irq", managed.cpus), ("domain", alone.cpus | apart))
    return tuple(flags for flags in lists if flags[1]), because


def unbalanced(settings: Iterable[Setting]) -> CpuSet:
    """The CPUs that the scheduler leaves alone: those of `isolcpus=domain`."""
    lists = (cmdline.lists(setting.value) for setting in settings if setting.key == "isolcpus")
    flagged = [words for found in lists for words in found if isinstance(words, tuple)]
    return union(
        cpus
        for *flags, cpus in flagged
        if isinstance(cpus, CpuSet) and (not flags or "domain" in flags)
    )


def _irq_affinity(plan: NodePlan) -> Iterator[Argument]:
    """The default affinity of interrupts, which CRI-O's hooks overwrite on OpenShift."""
    if dpdk := ovsdpdk.cpus(plan):
        # Those of the pools, as the node tuning operator adds them up; a CPU in no pool gets no
        # interrupts.
        others = union(pool.cpus for pool in plan.pools if pool.name != "offlined") - dpdk
        yield "irqaffinity", others, (*plan.pool("isolcpus").because, ovsdpdk.reason(plan))
    elif reason := isolation.why_interrupts(plan, NAME, "irqaffinity"):
        pool = isolation.interrupts(plan)
        yield "irqaffinity", pool.cpus, (*pool.because, reason)


def _extra(plan: NodePlan) -> Iterator[Setting]:
    given = plan.spec.kernel.extra_arguments
    for key, value in cmdline.keyed(" ".join(given)).items():
        word = cmdline.words(key, value)[0]
        index = given.index(word) if word in given else 0
        yield Setting(
            NAME,
            key,
            value,
            (plan.node_class.reason("asked for", f"kernel.extraArguments.{index}"),),
        )
