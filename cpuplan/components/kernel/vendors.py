"""Boot arguments that depend on the vendor of the CPUs, or did before one was asked."""

from collections.abc import Iterator

from cpuplan.components import chosen
from cpuplan.components.emission import by_default, emit
from cpuplan.components.reasons import asked_or, of_hardware, of_release, stated, unasked
from cpuplan.diagnostics import Reason
from cpuplan.facts import versions
from cpuplan.facts.settings import kernel as rows
from cpuplan.facts.settings.host import REAL_TIME
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting

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
