"""The kernel command line: boot arguments in the order of the node tuning operator's profile.

All of it follows from the plan and nothing from the CPUs that are online at the moment, so that two
boots get the same line. What TuneD computes on the node changes once CPUs were switched off, and
costs a second reboot.
"""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan import versions
from cpuplan.components import chosen, cmdline, hugepages, isolation
from cpuplan.components.host import bootarguments
from cpuplan.components.openshift import ovsdpdk
from cpuplan.components.reasons import of_hardware, of_release, stated, stated_or, unasked
from cpuplan.cpuset import CpuSet, union
from cpuplan.diagnostics import Reason
from cpuplan.plan import NodePlan, Pool
from cpuplan.platforms.features import Feature
from cpuplan.setting import Cost, Effect, Setting, Value

NAME = "kernel"
EFFECT: Effect | None = Effect("/proc/cmdline", Cost.REBOOT)

INTEL, AMD, ARM = "GenuineIntel", "AuthenticAMD", "ARM"
#: `model` of /proc/cpuinfo of Intel's CPUs from Sandy Bridge to Cascade Lake, Kaby and Comet Lake
#: included: those whose intel_pstate driver brings jitter in active mode (TuneD,
#: functions/function_intel_recommended_pstate.py; numbers from the kernel's
#: arch/x86/include/asm/intel-family.h).
BEFORE_ICE_LAKE = frozenset(
    (42, 45, 58, 62, 60, 63, 69, 70, 61, 71, 79, 86, 78, 94, 85, 142, 158, 165, 166),
)


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


def arguments(settings: Iterable[Setting]) -> list[str]:
    """The words of the command line."""
    return [word for setting in settings for word in cmdline.words(setting.key, setting.value)]


def argument(setting: Setting) -> str:
    """One setting as it stands on the command line."""
    return " ".join(map(cmdline.quote, cmdline.words(setting.key, setting.value)))


def render(settings: Sequence[Setting]) -> str:
    """The command line, on one line without its end."""
    return " ".join(map(cmdline.quote, arguments(settings)))


def parse(text: str) -> dict[str, Value]:
    """A command line, also all of /proc/cmdline; `cmdline.keyed` describes repeated arguments."""
    return cmdline.keyed(text)


def occurrences(text: str) -> dict[str, list[cmdline.Occurrence]]:
    """Every time that each key of `parse` is on the command line."""
    return cmdline.occurrences(text)


#: (key, value, reasons), before it is known whether the intent replaces it.
Argument = tuple[str, Value, tuple[Reason, ...]]


def _computed(plan: NodePlan) -> Iterator[Argument]:
    if chosen.is_on(plan, "latency"):
        for key, value in _latency(plan):
            yield key, value, (unasked(plan, "latency", NAME, key),)
    yield from _partitioning(plan)
    yield from _platform(plan)
    yield from _isolation(plan)
    if chosen.real_time(plan):
        because = (_real_time(plan, "nosoftlockup"),)
        yield "nosoftlockup", True, because
        yield "rcutree.kthread_prio", "11", because
    yield from _huge_pages(plan)
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


def _real_time(plan: NodePlan, key: str) -> Reason:
    default = unasked(plan, "real-time", NAME, key)
    return stated_or(plan, "the workloads are real-time", "workloadHints.realTime", default)


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


def _platform(plan: NodePlan) -> Iterator[Argument]:
    """What depends on the CPU vendor, where the node tuning operator has a profile for it."""
    node_class = plan.node_class
    if versions.ships(node_class.target, "arguments.any_vendor"):
        yield from _of_any_vendor(plan)
        return
    if node_class.architecture == "aarch64" and versions.ships(
        node_class.target, "arguments.arm_iommu_passthrough"
    ):
        yield "iommu.passthrough", "1", (of_release(plan),)
    if node_class.architecture != "x86_64" or node_class.cpu_vendor not in (INTEL, AMD):
        return
    vendor = of_hardware(plan, f"the CPUs are of {node_class.cpu_vendor}", "vendor")
    if chosen.is_on(plan, "iommu"):
        if node_class.cpu_vendor == INTEL:
            yield "intel_iommu", "on", (vendor, unasked(plan, "iommu", NAME, "intel_iommu"))
        yield "iommu", "pt", (vendor, unasked(plan, "iommu", NAME, "iommu"))
    if node_class.cpu_vendor == AMD and (mode := _mode(plan, "amd_pstate", "guided")):
        yield "amd_pstate", mode[0], (vendor, mode[1])
    real_time = chosen.real_time(plan)
    if real_time:
        yield "nmi_watchdog", "0", (_real_time(plan, "nmi_watchdog"),)
        yield "mce", "off", (_real_time(plan, "mce"),)
    if plan.spec.workload_hints.high_power_consumption:
        power = stated(
            plan, "short wake-ups are worth the power", "workloadHints.highPowerConsumption"
        )
        yield "processor.max_cstate", "1", (power,)
        if node_class.cpu_vendor == INTEL:
            yield "intel_idle.max_cstate", "0", (power,)
        if real_time:
            yield "idle", "poll", (power, _real_time(plan, "idle"))
    if node_class.cpu_vendor == INTEL:
        yield from _intel_pstate(plan)


def is_tunable(plan: NodePlan) -> bool:
    """Whether TuneD can load the operator's profile, which may include one that does not exist."""
    node_class = plan.node_class
    target, vendor = node_class.target, node_class.cpu_vendor
    if not target.is_profile or versions.ships(target, "arguments.any_vendor"):
        return True
    if node_class.architecture == "aarch64" and versions.ships(
        target, "arguments.every_arm_vendor"
    ):
        return True
    return vendor in ("", INTEL, AMD, ARM)


def _of_any_vendor(plan: NodePlan) -> Iterator[Argument]:
    """What the operator gave to every CPU before its TuneD profile knew vendors."""
    release = of_release(plan)
    hints, real_time = plan.spec.workload_hints, chosen.real_time(plan)
    yield "intel_iommu", "on", (release,)
    yield "iommu", "pt", (release,)
    if real_time:
        for key, value in (("tsc", "reliable"), ("nmi_watchdog", "0"), ("mce", "off")):
            yield key, value, (release,)
    if hints.high_power_consumption:
        yield "processor.max_cstate", "1", (release,)
        yield "intel_idle.max_cstate", "0", (release,)
        if real_time:
            yield "idle", "poll", (release,)
    if hints.per_pod_power_management:
        yield "intel_pstate", "passive", (release,)
    elif real_time:
        yield "intel_pstate", "disable", (release,)


def _intel_pstate(plan: NodePlan) -> Iterator[Argument]:
    model = plan.node_class.cpu_model_number
    usual = "disable" if model in BEFORE_ICE_LAKE else "active"
    if mode := _mode(plan, "intel_pstate", usual if model is not None else ""):
        than = "before" if model in BEFORE_ICE_LAKE else "not before"
        generation = of_hardware(plan, f"CPU model {model} is {than} Ice Lake", "modelNumber")
        yield "intel_pstate", mode[0], (mode[1], generation) if mode[0] == usual else (mode[1],)


def _mode(plan: NodePlan, key: str, usual: str) -> tuple[str, Reason] | None:
    """The mode of the frequency driver that the intent needs, else the usual one where that is set.

    The choice of pods comes first.
    """
    if plan.spec.workload_hints.per_pod_power_management:
        return "passive", stated(
            plan, "pods choose frequencies", "workloadHints.perPodPowerManagement"
        )
    if plan.spec.hardware_tuning:
        return "active", plan.node_class.reason("highest frequencies are set", "hardwareTuning")
    if usual and chosen.is_on(plan, "frequency-driver"):
        return usual, unasked(plan, "frequency-driver", NAME, key)
    return None


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


def _huge_pages(plan: NodePlan) -> Iterator[Argument]:
    spec = plan.spec.huge_pages
    if spec.default_size:
        because = (
            stated(plan, f"huge pages are {spec.default_size} by default", "hugePages.defaultSize"),
        )
        yield "default_hugepagesz", spec.default_size, because
    pages = list(enumerate(spec.pages))
    for index, page in pages:
        if page.numa_node is None:
            because = (
                stated(plan, f"{page.count} pages of {page.size}", f"hugePages.pages.{index}"),
            )
            yield f"hugepagesz={page.size}", page.count, because
    small = [
        index
        for index, page in pages
        if hugepages.to_kib(page.size) == 2048 and page.numa_node is not None
    ]
    of_machine = {hugepages.to_kib(page.size) for _, page in pages if page.numa_node is None}
    if (
        small
        and spec.default_size
        and hugepages.to_kib(spec.default_size) == 1024**2
        and 2048 not in of_machine
    ):
        # The node tuning operator names this size too, so that its sysfs files are there for the
        # units.
        reason = stated(
            plan, "2M pages are set aside later, by NUMA node", f"hugePages.pages.{small[0]}"
        )
        yield "hugepagesz=2M", 0, (reason,)


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
