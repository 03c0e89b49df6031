"""Boot arguments that depend on the vendor of the CPUs, or did before one was asked."""

from collections.abc import Iterator

from cpuplan.components import chosen
from cpuplan.components.kernel.given import NAME, Argument, for_real_time
from cpuplan.components.reasons import of_hardware, of_release, stated, unasked
from cpuplan.diagnostics import Reason
from cpuplan.plan import NodePlan
from cpuplan.platforms import versions

INTEL, AMD, ARM = "GenuineIntel", "AuthenticAMD", "ARM"
#: `model` of /proc/cpuinfo of Intel's CPUs from Sandy Bridge to Cascade Lake, Kaby and Comet Lake
#: included: those whose intel_pstate driver brings jitter in active mode (TuneD,
#: functions/function_intel_recommended_pstate.py; numbers from the kernel's
#: arch/x86/include/asm/intel-family.h).
BEFORE_ICE_LAKE = frozenset(
    (42, 45, 58, 62, 60, 63, 69, 70, 61, 71, 79, 86, 78, 94, 85, 142, 158, 165, 166),
)


def of_vendor(plan: NodePlan) -> Iterator[Argument]:
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
        yield "nmi_watchdog", "0", (for_real_time(plan, "nmi_watchdog"),)
        yield "mce", "off", (for_real_time(plan, "mce"),)
    if plan.spec.workload_hints.high_power_consumption:
        power = stated(
            plan, "short wake-ups are worth the power", "workloadHints.highPowerConsumption"
        )
        yield "processor.max_cstate", "1", (power,)
        if node_class.cpu_vendor == INTEL:
            yield "intel_idle.max_cstate", "0", (power,)
        if real_time:
            yield "idle", "poll", (power, for_real_time(plan, "idle"))
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
