"""The kernel command line: boot arguments of a plan, as text, and what the kernel makes of them.

They are in the order of the node tuning operator's profile. All of it follows from the plan and
nothing from the CPUs that are online at the moment, so that two boots get the same line. What TuneD
computes on the node changes once CPUs were switched off, and costs a second reboot. What shows that
an argument took effect is predicted for the machine and the whole line, by the port of Linux 6.12.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from cpuplan.base.cpuset import CpuSet, union
from cpuplan.base.topology import Topology
from cpuplan.components import chosen, cmdline, hugepages, isolation
from cpuplan.components.chosen import asked_or, of_hardware, of_release, stated, stated_or, unasked
from cpuplan.components.emission import by_default, emit
from cpuplan.components.openshift import ovsdpdk
from cpuplan.diagnostics import Reason
from cpuplan.facts import versions
from cpuplan.facts.platforms import Feature
from cpuplan.facts.settings import kernel as rows
from cpuplan.facts.settings.host import REAL_TIME
from cpuplan.facts.settings.row import Form
from cpuplan.plan import ConfiguredPlan, NodePlan, Pool
from cpuplan.plan.setting import Evidence, Setting, Value
from cpuplan.upstream.linux import evidence, hugetlb
from cpuplan.upstream.linux.evidence import Shown
from cpuplan.upstream.linux.isolation import Booted, Hardware, Line, Remark, boot, remarks

NAME = rows.NAME


@lru_cache(maxsize=64)
def machine_of(topology: Topology) -> Hardware:
    """The machine as a boot finds it: with all CPUs of the inventory, those to be offlined too."""
    every = topology.online | topology.offline
    numa_nodes = topology.numa_nodes
    first = numa_nodes[min(numa_nodes)] if numa_nodes else every
    return Hardware(
        every.bits, CpuSet(topology.cores).bits, first.bits, min(topology.online, default=0)
    )


def booted_by(settings: Iterable[Setting], topology: Topology) -> Booted:
    """What Linux makes of the arguments of a plan."""
    words: list[str] = []
    for setting in settings:
        words += cmdline.words(setting.key, setting.value)
    line = " ".join(map(cmdline.quote, words))
    return _boot(line, machine_of(topology))


@lru_cache(maxsize=1 << 10)
def _boot(line: str, machine: Hardware) -> Booted:
    return boot(Line(line), machine)


def with_evidence(settings: list[Setting], topology: Topology) -> Iterator[Setting]:
    """The arguments, each with the files that show its effect."""
    after = booted_by(settings, topology)
    for setting in settings:
        shown = tuple(map(_as_evidence, _shown(setting, after)))
        if setting.effect:
            yield setting._replace(effect=setting.effect._replace(evidence=shown))


def _shown(setting: Setting, after: Booted) -> tuple[Shown, ...]:
    key, value = cmdline.canonical(setting.key), setting.value
    if key in cmdline.CPU_LISTS:
        return evidence.of_lists(key, after)
    return evidence.of_argument(key, "" if value is True else str(value))


def _as_evidence(shown: Shown) -> Evidence:
    return Evidence(shown.path, Form(shown.form), shown.value, shown.since)


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


INTEL, AMD, ARM = "GenuineIntel", "AuthenticAMD", "ARM"
#: `model` of /proc/cpuinfo of Intel's CPUs from Sandy Bridge to Cascade Lake, Kaby and Comet Lake
#: included: those whose intel_pstate driver brings jitter in active mode (TuneD,
#: functions/function_intel_recommended_pstate.py; numbers from the kernel's
#: arch/x86/include/asm/intel-family.h).
BEFORE_ICE_LAKE = frozenset(
    (42, 45, 58, 62, 60, 63, 69, 70, 61, 71, 79, 86, 78, 94, 85, 142, 158, 165, 166),
)


def of_vendor(plan: NodePlan) -> Iterator[Setting]:
    """What depends on the CPU vendor, where the node tuning operator has a profile for it."""
    node_class = plan.node_class
    if versions.ships(node_class.target, "arguments.any_vendor"):
        yield from _of_any_vendor(plan)
        return
    if node_class.architecture == "aarch64" and versions.ships(
        node_class.target, "arguments.arm_iommu_passthrough"
    ):
        yield from emit(plan, rows.IOMMU_PASSTHROUGH, "1", (of_release(plan),))
    if node_class.architecture != "x86_64" or node_class.cpu_vendor not in (INTEL, AMD):
        return
    vendor = of_hardware(plan, f"the CPUs are of {node_class.cpu_vendor}", "vendor")
    if node_class.cpu_vendor == INTEL:
        yield from by_default(plan, rows.INTEL_IOMMU, rows.INTEL_IOMMU.usually, (vendor,))
    yield from by_default(plan, rows.IOMMU, rows.IOMMU.usually, (vendor,))
    if node_class.cpu_vendor == AMD and (mode := _mode(plan, "guided")):
        yield from emit(plan, rows.AMD_PSTATE, mode[0], (vendor, mode[1]))
    real_time = (asked_or(plan, REAL_TIME),) if chosen.real_time(plan) else ()
    if real_time:
        yield from emit(plan, rows.NMI_WATCHDOG, rows.NMI_WATCHDOG.usually, real_time)
        yield from emit(plan, rows.MCE, rows.MCE.usually, real_time)
    if plan.spec.workload_hints.high_power_consumption:
        text = "short wake-ups are worth the power"
        power = stated(plan, text, "workloadHints.highPowerConsumption")
        yield from emit(plan, rows.MAX_CSTATE, "1", (power,))
        if node_class.cpu_vendor == INTEL:
            yield from emit(plan, rows.INTEL_IDLE_MAX_CSTATE, "0", (power,))
        if real_time:
            yield from emit(plan, rows.IDLE, "poll", (power, *real_time))
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


def _of_any_vendor(plan: NodePlan) -> Iterator[Setting]:
    """What the operator gave to every CPU before its TuneD profile knew vendors."""
    release = (of_release(plan),)
    hints, real_time = plan.spec.workload_hints, chosen.real_time(plan)
    yield from emit(plan, rows.INTEL_IOMMU, "on", release)
    yield from emit(plan, rows.IOMMU, "pt", release)
    if real_time:
        for row in (rows.TSC, rows.NMI_WATCHDOG, rows.MCE):
            yield from emit(plan, row, row.usually, release)
    if hints.high_power_consumption:
        yield from emit(plan, rows.MAX_CSTATE, "1", release)
        yield from emit(plan, rows.INTEL_IDLE_MAX_CSTATE, "0", release)
        if real_time:
            yield from emit(plan, rows.IDLE, "poll", release)
    if hints.per_pod_power_management:
        yield from emit(plan, rows.INTEL_PSTATE, "passive", release)
    elif real_time:
        yield from emit(plan, rows.INTEL_PSTATE, "disable", release)


def _intel_pstate(plan: NodePlan) -> Iterator[Setting]:
    model = plan.node_class.cpu_model_number
    usual = "disable" if model in BEFORE_ICE_LAKE else "active"
    if mode := _mode(plan, usual if model is not None else ""):
        than = "before" if model in BEFORE_ICE_LAKE else "not before"
        generation = of_hardware(plan, f"CPU model {model} is {than} Ice Lake", "modelNumber")
        because = (mode[1], generation) if mode[0] == usual else (mode[1],)
        yield from emit(plan, rows.INTEL_PSTATE, mode[0], because)


def _mode(plan: NodePlan, usual: str) -> tuple[str, Reason] | None:
    """The mode of the frequency driver that the intent needs, else the usual one where that is set.

    The choice of pods comes first.
    """
    if plan.spec.workload_hints.per_pod_power_management:
        return "passive", stated(
            plan, "pods choose frequencies", "workloadHints.perPodPowerManagement"
        )
    if plan.spec.hardware_tuning:
        return "active", plan.node_class.reason("highest frequencies are set", "hardwareTuning")
    if usual and chosen.is_on(plan, rows.FREQUENCY_DRIVER):
        return usual, unasked(plan, rows.FREQUENCY_DRIVER)
    return None


def of_pages(plan: NodePlan) -> Iterator[Setting]:
    """Those of the machine, and the sizes that units set aside later by NUMA node."""
    spec = plan.spec.huge_pages
    if spec.default_size:
        because = (
            stated(plan, f"huge pages are {spec.default_size} by default", "hugePages.defaultSize"),
        )
        yield from emit(plan, rows.DEFAULT_HUGEPAGESZ, spec.default_size, because)
    pages = list(enumerate(spec.pages))
    for index, page in pages:
        if page.numa_node is None:
            because = (
                stated(plan, f"{page.count} pages of {page.size}", f"hugePages.pages.{index}"),
            )
            yield from emit(plan, rows.HUGEPAGESZ, page.count, because, size=page.size)
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
        yield from emit(plan, rows.HUGEPAGESZ, 0, (reason,), size="2M")


def settings(plan: NodePlan) -> Iterator[Setting]:
    """One setting for each argument; an extra argument of the intent replaces a computed one.

    One that says of huge pages what the plan says by itself changes nothing. Lists of isolcpus=
    that the kernel takes together are one setting.
    """
    own, extra = list(_computed(plan)), list(_extra(plan))
    computed_by_key = {cmdline.canonical(setting.key): setting for setting in own}
    extra = [
        _with_computed(setting, computed_by_key.get(cmdline.canonical(setting.key)))
        for setting in extra
    ]
    extra = [setting for setting in extra if setting not in own]
    replaced = {cmdline.canonical(setting.key) for setting in extra}
    own = [made for made in own if cmdline.canonical(made.key) not in replaced]
    yield from with_evidence([*own, *extra], plan.topology)


def _with_computed(extra: Setting, made: Setting | None) -> Setting:
    """An extra argument beside the computed one of its key, as the kernel takes both."""
    if made is None:
        return extra
    name = cmdline.canonical(extra.key).partition("=")[0]
    if name in hugetlb.NAMES and (
        extra.value is True or cmdline.same(extra.key, extra.value, made.value)
    ):
        return made
    if extra.key != rows.ISOLCPUS.key:
        return extra
    value = cmdline.together(made.value, extra.value)
    return (
        extra
        if value == extra.value
        else extra._replace(value=value, reasons=(*made.reasons, *extra.reasons))
    )


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
        cpus = chosen.as_operator_lists(plan, without_callbacks.cpus)
        yield from emit(plan, rows.RCU_NOCBS, cpus, without_callbacks.because)
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
        cpus = chosen.as_operator_lists(plan, tickless.cpus)
        yield from emit(plan, rows.NOHZ_FULL, cpus, tickless.because)
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
    both = chosen.as_operator_lists(plan, managed.cpus)
    because = tuple(dict.fromkeys((*alone.because, *managed.because)))
    if alone.cpus and alone.cpus == managed.cpus:
        return (("domain", "managed_irq", both),), because
    # CPUs of Open vSwitch have a cgroup instead.
    apart = plan.pool("isolcpus").cpus - ovsdpdk.cpus(plan)
    if apart and not plan.spec.isolation.domain:
        reasons = (*isolation.isolated(plan).because, *because)
        because = (*dict.fromkeys(reasons), unasked(plan, rows.SCHEDULER))
    lists = (("managed_irq", both), ("domain", alone.cpus | apart))
    return tuple(flags for flags in lists if flags[1]), because


def unbalanced(settings: Iterable[Setting]) -> CpuSet:
    """The CPUs that the scheduler leaves alone: those of `isolcpus=domain`."""
    lists: list[Value] = []
    for setting in settings:
        if setting.key == rows.ISOLCPUS.key:
            lists += cmdline.lists(setting.value)
    flagged = (words for words in lists if isinstance(words, tuple))
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


#: The kernel whose rules these are.
LINUX = "Linux 6.12"


def booted(plan: ConfiguredPlan) -> Booted:
    """The nodes of a plan after a boot, before units switch CPUs off."""
    return booted_by(plan.settings.of(NAME), plan.topology)


def remarks_of(plan: ConfiguredPlan) -> list[Remark]:
    """What should be known of the plan's boot arguments."""
    return remarks(_line(plan), machine_of(plan.topology))


def _line(plan: ConfiguredPlan) -> str:
    return plan.settings.text(NAME, render)
