"""Values that Koordinator's programs read and do nothing about, and two masters of one cpuset."""

from collections.abc import Iterator

from cpuplan.components.koordinator import names
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_OPTIONS,
    CPU_MANAGER_POLICY,
    TOPOLOGY_MANAGER_POLICY,
)
from cpuplan.facts.settings.objects import NUMA_SCORING, SCORING
from cpuplan.plan import NodePlan
from cpuplan.upstream.kubelet.policy_options import DISTRIBUTE_ACROSS_NUMA

#: (field, its value, why it does nothing, what to write instead).
Idle = tuple[str, str, str, str]
_NONE = "koord-scheduler ends with a panic at it, although its documentation names it"
_BURST = "a pod with it gets no CPUs of its own, and no pool"
_UNREAD = "koordlet tells koord-scheduler in a word that it does not know"


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP631 for each such value, CP633 beside the kubelet's static policy."""
    idle = (*_of_node(plan), *_strategies(plan), *_of_scheduler(plan), *_of_pods(plan))
    for field, value, problem, hint in idle:
        position = locate(plan.node_class.place(field))
        yield diagnose("CP631", position, field=field, value=value, problem=problem, hint=hint)
    if plan.node_class.cpu_manager_policy == "static":
        yield diagnose("CP633", locate(plan.node_class.place(CPU_MANAGER_POLICY.field)))
    yield from _bound_by_node(plan, locate)


def _bound_by_node(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP660: LS pods that the node's policy binds to CPUs of their own."""
    policy = plan.spec.koordinator.cpu_bind_policy
    shared = [one.name for one in plan.spec.koordinator.workloads if one.qos_class == "LS"]
    if policy not in (None, "None") and shared:
        position = locate(plan.node_class.place("koordinator.cpuBindPolicy"))
        yield diagnose("CP660", position, policy=policy, workloads=", ".join(shared))


def _of_node(plan: NodePlan) -> Iterator[Idle]:
    given, kubelet = plan.spec.koordinator, plan.spec.kubelet
    if given.cpu_bind_policy == "None":
        text = "it is the same as no label"
        yield "koordinator.cpuBindPolicy", "None", text, "leave it out"
    if given.numa_topology_policy == "None":
        yield "koordinator.numaTopologyPolicy", "None", _NONE, "leave it out"
    policy, scope = kubelet.topology_manager_policy, kubelet.topology_manager_scope
    is_unread = policy in ("restricted", "best-effort")
    is_unread = is_unread or (policy == "single-numa-node" and scope != "pod")
    if policy and is_unread and not given.numa_topology_policy:
        hint = "use koordinator.numaTopologyPolicy, and none for the kubelet"
        yield TOPOLOGY_MANAGER_POLICY.field, policy, _UNREAD, hint


def _strategies(plan: NodePlan) -> Iterator[Idle]:
    """Even distribution, which the proposal has and no release."""
    if names.release(plan.node_class.target) is None:
        return
    given, kubelet = plan.spec.koordinator.numa_allocate_strategy, plan.spec.kubelet
    if given == "DistributeEvenly":
        text = "koord-scheduler treats it as LeastAllocated (koordinator#1421)"
        yield "koordinator.numaAllocateStrategy", given, text, "use LeastAllocated"
    options = kubelet.cpu_manager_policy_options
    if options.get(DISTRIBUTE_ACROSS_NUMA) == "true" and not given:
        field = f"kubelet.{CPU_MANAGER_OPTIONS.head}.{DISTRIBUTE_ACROSS_NUMA}"
        text = "koord-scheduler does not read the option"
        yield field, "true", text, "use koordinator.numaAllocateStrategy"


def _of_scheduler(plan: NodePlan) -> Iterator[Idle]:
    given = plan.spec.koordinator.scheduler
    for field, strategy in (
        (SCORING.key, given.scoring_strategy),
        (NUMA_SCORING.key, given.numa_scoring_strategy),
    ):
        if strategy and strategy.type == "BalancedAllocation":
            place = f"koordinator.scheduler.{field}.type"
            text = "it passes validation, and koord-scheduler does not start"
            yield place, strategy.type, text, "use LeastAllocated or MostAllocated"
    if given.numa_scoring_strategy and given.numa_scoring_strategy.resources:
        place = f"koordinator.scheduler.{NUMA_SCORING.key}.resources"
        hint = f"put the weights into {SCORING.key}"
        yield place, "a list of weights", f"koord-scheduler takes those of {SCORING.key}", hint


def _of_pods(plan: NodePlan) -> Iterator[Idle]:
    for index, workload in enumerate(plan.spec.koordinator.workloads):
        place = f"koordinator.workloads.{index}"
        if workload.qos_class == "SYSTEM" and not plan.spec.koordinator.system_qos:
            text = "without CPUs of their own, its pods share those of LS pods"
            hint = "name a partition in koordinator.systemQos, or use the class LS"
            yield f"{place}.qosClass", "SYSTEM", text, hint
        for field, value in (
            ("requiredCPUBindPolicy", workload.required_cpu_bind_policy),
            ("preferredCPUBindPolicy", workload.preferred_cpu_bind_policy),
        ):
            if value == "ConstrainedBurst":
                hint = "leave it out, and use numaTopologyPolicy for LS pods"
                yield f"{place}.{field}", value, _BURST, hint
        if workload.numa_topology_policy == "None":
            yield f"{place}.numaTopologyPolicy", "None", _NONE, "leave it out"
        packed = "FullPCPUs" in (
            workload.required_cpu_bind_policy,
            workload.preferred_cpu_bind_policy,
        )
        if packed and workload.preferred_cpu_exclusive_policy == "PCPULevel":
            text = "FullPCPUs takes whole cores and does not look at it"
            hint = "leave it out, or use SpreadByPCPUs"
            yield f"{place}.preferredCPUExclusivePolicy", "PCPULevel", text, hint
