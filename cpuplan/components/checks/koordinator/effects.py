"""Values that Koordinator's programs read and do nothing about, and two masters of one cpuset."""

from collections.abc import Iterator

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.plan import NodePlan
from cpuplan.source import Locate

#: (field, its value, why it does nothing, what to write instead).
Idle = tuple[str, str, str, str]
_NONE = "koord-scheduler ends with a panic at it, although its documentation names it"
_BURST = "a pod with it gets no CPUs of its own, and no pool"
_UNREAD = "koordlet tells koord-scheduler in a word that it does not know"


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP631 for each such value, CP633 beside the kubelet's static policy."""
    for field, value, problem, hint in (*_of_node(plan), *_of_scheduler(plan), *_of_pods(plan)):
        position = locate(plan.node_class.place(field))
        yield diagnose("CP631", position, field=field, value=value, problem=problem, hint=hint)
    if plan.node_class.cpu_manager_policy == "static":
        yield diagnose("CP633", locate(plan.node_class.place("kubelet.cpuManagerPolicy")))


def _of_node(plan: NodePlan) -> Iterator[Idle]:
    given, kubelet = plan.spec.koordinator, plan.spec.kubelet
    if given.cpu_bind_policy == "None":
        text = "it is the same as no label"
        yield "koordinator.cpuBindPolicy", "None", text, "leave it out"
    if given.numa_allocate_strategy == "DistributeEvenly":
        text = "koord-scheduler treats it as LeastAllocated (koordinator#1421)"
        yield "koordinator.numaAllocateStrategy", "DistributeEvenly", text, "use LeastAllocated"
    if given.numa_topology_policy == "None":
        yield "koordinator.numaTopologyPolicy", "None", _NONE, "leave it out"
    policy, scope = kubelet.topology_manager_policy, kubelet.topology_manager_scope
    is_unread = policy in ("restricted", "best-effort")
    is_unread = is_unread or (policy == "single-numa-node" and scope != "pod")
    if policy and is_unread and not given.numa_topology_policy:
        hint = "use koordinator.numaTopologyPolicy, and none for the kubelet"
        yield "kubelet.topologyManagerPolicy", policy, _UNREAD, hint
    if _option(plan, "distribute-cpus-across-numa"):
        field = "kubelet.cpuManagerPolicyOptions"
        text = "koord-scheduler does not read it"
        yield field, "distribute-cpus-across-numa", text, "use koordinator.numaAllocateStrategy"


def _option(plan: NodePlan, name: str) -> bool:
    """Whether the kubelet has an option, and no label of the node says what it asks for."""
    options = plan.spec.kubelet.cpu_manager_policy_options
    return options.get(name) == "true" and not plan.spec.koordinator.numa_allocate_strategy


def _of_scheduler(plan: NodePlan) -> Iterator[Idle]:
    given = plan.spec.koordinator.scheduler
    for field, strategy in (
        ("scoringStrategy", given.scoring_strategy),
        ("numaScoringStrategy", given.numa_scoring_strategy),
    ):
        if strategy and strategy.type == "BalancedAllocation":
            place = f"koordinator.scheduler.{field}.type"
            text = "it passes validation, and koord-scheduler does not start"
            yield place, strategy.type, text, "use LeastAllocated or MostAllocated"
    if given.numa_scoring_strategy and given.numa_scoring_strategy.resources:
        place = "koordinator.scheduler.numaScoringStrategy.resources"
        hint = "put the weights into scoringStrategy"
        yield place, "a list of weights", "koord-scheduler takes those of scoringStrategy", hint


def _of_pods(plan: NodePlan) -> Iterator[Idle]:
    for index, workload in enumerate(plan.spec.koordinator.workloads):
        place = f"koordinator.workloads.{index}"
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
