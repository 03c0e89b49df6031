"""What Koordinator cannot keep of a plan or a cluster, does nothing about, or gets wrong."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.base.cpuset import cpus_text
from cpuplan.components import isolation, kubelet
from cpuplan.components.checks import base
from cpuplan.components.checks.base import Problem
from cpuplan.components.chosen import is_written, stated
from cpuplan.components.koordinator import colocation, node, release_names, scheduler, slo
from cpuplan.components.nrt import can_have_zones
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_OPTIONS,
    CPU_MANAGER_POLICY,
    TOPOLOGY_MANAGER_POLICY,
)
from cpuplan.facts.settings.objects import BIND_POLICY, NUMA_SCORING, SCORING
from cpuplan.language.model.allocators import BOUND, KoordinatorWorkload
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.upstream.koordinator.extension import constants, qos, releases
from cpuplan.upstream.koordinator.extension.releases import Span
from cpuplan.upstream.koordinator.webhook import cluster_colocation_profile
from cpuplan.upstream.kubelet.policy_options import DISTRIBUTE_ACROSS_NUMA
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.pod import CPU, Container, Pod

#: (field, its value, why it does nothing, what to write instead).
Idle = tuple[str, str, str, str]
_NONE = "koord-scheduler ends with a panic at it, although its documentation names it"
_BURST = "a pod with it gets no CPUs of its own, and no pool"
_UNREAD = "koordlet tells koord-scheduler in a word that it does not know"


def _check_idle(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP631 for each such value, CP633 beside the kubelet's static policy."""
    idle = (
        *_idle_of_node(plan),
        *_idle_strategies(plan),
        *_idle_of_scheduler(plan),
        *_idle_of_pods(plan),
    )
    for field, value, problem, hint in idle:
        position = locate(plan.node_class.place(field))
        yield diagnose("CP631", position, field=field, value=value, problem=problem, hint=hint)
    if plan.node_class.cpu_manager_policy == "static":
        yield diagnose("CP633", locate(plan.node_class.place(CPU_MANAGER_POLICY.field)))
    yield from _bound_by_node(plan, locate)


def _bound_by_node(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP660: LS pods that the node's policy binds to CPUs of their own."""
    policy = plan.spec.koordinator.cpu_bind_policy
    workloads = plan.spec.koordinator.workloads
    shared = [workload.name for workload in workloads if workload.qos_class == "LS"]
    if policy not in (None, "None") and shared:
        position = locate(plan.node_class.place("koordinator.cpuBindPolicy"))
        yield diagnose("CP660", position, policy=policy, workloads=", ".join(shared))


def _idle_of_node(plan: NodePlan) -> Iterator[Idle]:
    given, of_kubelet = plan.spec.koordinator, plan.spec.kubelet
    if given.cpu_bind_policy == "None":
        text = "it is the same as no label"
        yield "koordinator.cpuBindPolicy", "None", text, "leave it out"
    if given.numa_topology_policy == "None":
        yield "koordinator.numaTopologyPolicy", "None", _NONE, "leave it out"
    policy, scope = of_kubelet.topology_manager_policy, of_kubelet.topology_manager_scope
    is_unread = policy in ("restricted", "best-effort")
    is_unread = is_unread or (policy == "single-numa-node" and scope != "pod")
    if policy and is_unread and not given.numa_topology_policy:
        hint = "use koordinator.numaTopologyPolicy, and none for the kubelet"
        yield TOPOLOGY_MANAGER_POLICY.field, policy, _UNREAD, hint


def _idle_strategies(plan: NodePlan) -> Iterator[Idle]:
    """Even distribution, which the proposal has and no release."""
    if release_names.release(plan.node_class.target) is None:
        return
    given = plan.spec.koordinator.numa_allocate_strategy
    if given == "DistributeEvenly":
        text = "koord-scheduler treats it as LeastAllocated (koordinator#1421)"
        yield "koordinator.numaAllocateStrategy", given, text, "use LeastAllocated"
    options = plan.spec.kubelet.cpu_manager_policy_options
    if options.get(DISTRIBUTE_ACROSS_NUMA) == "true" and not given:
        field = f"kubelet.{CPU_MANAGER_OPTIONS.head}.{DISTRIBUTE_ACROSS_NUMA}"
        text = "koord-scheduler does not read the option"
        yield field, "true", text, "use koordinator.numaAllocateStrategy"


def _idle_of_scheduler(plan: NodePlan) -> Iterator[Idle]:
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


def _idle_of_pods(plan: NodePlan) -> Iterator[Idle]:
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


def check_layout(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP630 at each statement that cannot hold."""
    for field, problem, hint in (
        *_unkept_of_target(plan),
        *_unkept_of_pools(plan),
        *_unkept_of_system(plan),
    ):
        position = locate(plan.node_class.place(field))
        yield diagnose("CP630", position, field=field, problem=problem, hint=hint)


def _unkept_of_target(plan: NodePlan) -> Iterator[Problem]:
    node_class = plan.node_class
    if not node_class.platform.has_runtime_choice:
        field = node_class.target_field("platform")
        text = "cpuplan writes Koordinator's objects for kubernetes only"
        yield field, text, "use mechanism: kubelet"
    yield from base.other_drivers(plan)


def _unkept_of_pools(plan: NodePlan) -> Iterator[Problem]:
    why = "no container has shared CPUs beside exclusive ones; LS pods share what is free"
    yield from base.shared_pool(plan, why)
    for field in base.partition_fields(plan):
        text = "its pods may come to all isolated CPUs"
        yield field, text, f"leave it out, {base.BALLOONS}"
    for field in base.qos_fields(plan):
        text = "koordlet writes the CPUs of BestEffort and other pods as load and pods change"
        hint = "use koordinator.cpuSuppressThresholdPercent and classes of workloads"
        yield field, text, f"{hint}, {base.BALLOONS}"
    because = stated(plan, "no load balancing", "isolation.domain")
    if isolation.kept_off(plan, "domain", because).cpus & plan.pool("isolated").cpus:
        text = "LS and BE pods share the isolated CPUs, and need load balancing there"
        yield "isolation.domain", text, f"use false, {base.KUBELET}"


def _unkept_of_system(plan: NodePlan) -> Iterator[Problem]:
    name = plan.spec.koordinator.system_qos
    if name and not name.startswith("reserved."):
        text = f"{name} is no partition of reserved, so the kubelet counts its CPUs for pods"
        yield "koordinator.systemQos", text, "name one such as reserved.daemons"
    elif name and not plan.pool(name).cpus:
        text = f"the layout has no CPUs for {name}"
        yield "koordinator.systemQos", text, "add the partition to pools.reserved.partitions"
    if name and is_written(plan, "isolation.interrupts") and plan.spec.isolation.interrupts == name:
        text = f"{name} is for interrupts"
        yield "koordinator.systemQos", text, "name another partition"


#: (field, its value, why it means nothing).
Meaningless = tuple[str, str, str]
_ONE_THREAD = "its cores have one thread"
_ARM = "on Arm, Koordinator supports {} only"


def _check_machine(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP634 for policies, CP636 for CPUs that are counted wrongly."""
    node_class = plan.node_class
    for field, value, problem in (*_meaningless_of_node(plan), *_meaningless_of_workloads(plan)):
        yield diagnose(
            "CP634",
            locate(node_class.place(field)),
            field=field,
            value=value,
            hardware=node_class.hardware,
            problem=problem,
        )
    for place, problem, hint in (*_split_cores(plan), *_without_zones(plan)):
        yield diagnose(
            "CP636", locate(place), hardware=node_class.hardware, problem=problem, hint=hint
        )


def _meaningless_of_node(plan: NodePlan) -> Iterator[Meaningless]:
    given = plan.spec.koordinator
    for field, value in (
        ("koordinator.cpuBindPolicy", given.cpu_bind_policy),
        (f"koordinator.scheduler.{BIND_POLICY.key}", given.scheduler.default_cpu_bind_policy),
    ):
        if value == "SpreadByPCPUs" and (why := _why_meaningless(plan, "FullPCPUs")):
            yield field, value, why
    policy = given.numa_topology_policy
    if policy not in (None, "None") and len(plan.topology.numa_nodes) == 1:
        yield "koordinator.numaTopologyPolicy", str(policy), "it has one NUMA node"


def _meaningless_of_workloads(plan: NodePlan) -> Iterator[Meaningless]:
    for index, workload in enumerate(plan.spec.koordinator.workloads):
        place = f"koordinator.workloads.{index}"
        for field, value, meaningless, instead in (
            (
                "requiredCPUBindPolicy",
                workload.required_cpu_bind_policy,
                "SpreadByPCPUs",
                "FullPCPUs",
            ),
            (
                "preferredCPUBindPolicy",
                workload.preferred_cpu_bind_policy,
                "SpreadByPCPUs",
                "FullPCPUs",
            ),
            (
                "preferredCPUExclusivePolicy",
                workload.preferred_cpu_exclusive_policy,
                "PCPULevel",
                "NUMANodeLevel",
            ),
        ):
            if value == meaningless and (why := _why_meaningless(plan, instead)):
                yield f"{place}.{field}", str(value), why


def _why_meaningless(plan: NodePlan, instead: str) -> str:
    """Why a policy about threads of cores means nothing; empty where it does mean something."""
    if plan.node_class.architecture == "aarch64":
        return _ARM.format(instead)
    return _ONE_THREAD if plan.topology.threads_per_core == 1 else ""


def _split_cores(plan: NodePlan) -> Iterator[tuple[str, str, str]]:
    """Cores of which some threads are off: threads per core is then no whole number."""
    online = plan.topology.online - plan.pool("offlined").cpus
    left = [siblings & online for siblings in plan.topology.cores.values() if siblings & online]
    sizes = {len(threads) for threads in left}
    if len(sizes) > 1:
        odd = next(threads for threads in left if len(threads) == min(sizes))
        problem = (
            f"some cores have {max(sizes)} threads online and others {min(sizes)}, such as that of "
            f"{cpus_text(odd)}"
        )
        offlined = plan.pool("offlined").cpus
        field = "pools.offlined" if offlined else "selector"
        hint = "switch off whole cores, or all second threads"
        yield plan.node_class.place(field), problem, hint


def _without_zones(plan: NodePlan) -> Iterator[tuple[str, str, str]]:
    """A NUMA policy where koordlet can publish no zones that the scheduler finds."""
    policy = plan.spec.koordinator.numa_topology_policy
    if policy in (None, "None") or can_have_zones(plan):
        return
    nodes = ", ".join(map(str, plan.topology.numa_facts))
    problem = f"its NUMA nodes are {nodes}, and zones are counted from 0 without gaps"
    place = plan.node_class.place("koordinator.numaTopologyPolicy")
    yield place, problem, "leave numaTopologyPolicy out for these nodes"


#: numaScoringStrategy of NodeNUMAResourceArgs (pkg/scheduler/apis/config).
_NUMA_SCORING = Span((1, 4))


def _check_release(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP632 for what the release lacks, CP6200 to CP6202 for what it does otherwise."""
    target = plan.node_class.target
    for field, since in _lacking_of_release(plan):
        yield diagnose(
            "CP632",
            locate(plan.node_class.place(field)),
            field=field,
            since=releases.name_of(since),
            release=target.koordinator,
        )
    yield from _doing_less(plan, locate)


def _lacking_of_release(plan: NodePlan) -> Iterator[tuple[str, tuple[int, int]]]:
    """(field, first release) of what is asked for in vain."""
    target = plan.node_class.target
    for field, key in _asked_of_node(plan):
        if not release_names.knows(target, key):
            yield field, releases.NODE_NAMES[key].since
    for field, span in (*_asked_of_config(plan), *_asked_of_pods(plan)):
        if not release_names.reads(target, span):
            yield field, span.since


def _asked_of_node(plan: NodePlan) -> Iterator[tuple[str, str]]:
    """(field, label or annotation) that the intent asks for."""
    given = plan.spec.koordinator
    rows = (
        ("numaTopologyPolicy", given.numa_topology_policy, constants.NUMA_TOPOLOGY_POLICY),
        ("numaReservation", given.numa_reservation, constants.ENABLE_NUMA_RESERVATION),
        ("systemQos", given.system_qos, constants.SYSTEM_QOS_RESOURCE),
    )
    for field, value, key in rows:
        if value:
            yield f"koordinator.{field}", key


def _asked_of_config(plan: NodePlan) -> Iterator[tuple[str, Span]]:
    """(field, when it came) of keys of the ConfigMaps."""
    given = plan.spec.koordinator
    threshold = releases.CONFIG_KEYS[slo.THRESHOLD]
    rows = (
        (
            "cpuAmplificationRatio",
            given.cpu_amplification_ratio,
            releases.CONFIG_KEYS[slo.AMPLIFICATION],
        ),
        ("cpuSuppressThresholdPercent", given.cpu_suppress_threshold_percent, threshold),
        ("cpuSuppressPolicy", given.cpu_suppress_policy, threshold),
        (f"scheduler.{BIND_POLICY.key}", given.scheduler.default_cpu_bind_policy, Span()),
        (f"scheduler.{SCORING.key}", given.scheduler.scoring_strategy, Span()),
        (f"scheduler.{NUMA_SCORING.key}", given.scheduler.numa_scoring_strategy, _NUMA_SCORING),
    )
    for field, value, span in rows:
        if value:
            yield f"koordinator.{field}", span


def _asked_of_pods(plan: NodePlan) -> Iterator[tuple[str, Span]]:
    """(field, when it came) of annotations of workloads, and of the class SYSTEM."""
    for index, workload in enumerate(plan.spec.koordinator.workloads):
        place = f"koordinator.workloads.{index}"
        if workload.required_cpu_bind_policy:
            field = "requiredCPUBindPolicy"
            yield f"{place}.{field}", releases.FIELDS[constants.RESOURCE_SPEC][field]
        if workload.numa_topology_policy:
            yield f"{place}.numaTopologyPolicy", releases.POD_NAMES[constants.NUMA_TOPOLOGY_SPEC]
        if workload.qos_class == "SYSTEM":
            yield f"{place}.qosClass", releases.NODE_NAMES[constants.SYSTEM_QOS_RESOURCE]


def _doing_less(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    node_class = plan.node_class
    position = locate(node_class.place(node_class.target_field("koordinator")))
    given = plan.spec.koordinator.numa_topology_policy
    if release_names.release(node_class.target) is None and given not in (None, "None"):
        label = release_names.name(node_class.target, constants.NUMA_TOPOLOGY_POLICY)
        yield diagnose("CP6200", position, named=label, known=constants.NUMA_TOPOLOGY_POLICY)
    if plan.spec.koordinator.cpu_amplification_ratio and kubelet.reserved_cpus(plan):
        place = node_class.place("koordinator.cpuAmplificationRatio")
        yield diagnose("CP6201", locate(place))
    is_subtracted = release_names.knows(node_class.target, constants.RESERVATION)
    if is_subtracted and kubelet.reserved_cpus(plan) and not node.has_apply_policy(plan):
        yield diagnose("CP6202", position, name=node_class.name)


#: What the node's policy is called in pods.
_OF_POD = {"FullPCPUsOnly": "FullPCPUs", "SpreadByPCPUs": "SpreadByPCPUs"}


def _check_workloads(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP635 for each workload, at the field that is wrong."""
    seen: set[str] = set()
    for index, workload in enumerate(plan.spec.koordinator.workloads):
        place = f"koordinator.workloads.{index}"
        for field, problem, hint in (*_problems(plan, workload), *_repeated(workload, seen)):
            position = locate(plan.node_class.place(f"{place}.{field}" if field else place))
            yield diagnose("CP635", position, workload=workload.name, problem=problem, hint=hint)


def _repeated(workload: KoordinatorWorkload, seen: set[str]) -> Iterator[Problem]:
    if workload.name in seen:
        yield "name", "there are two of this name", "use another name for one of them"
    seen.add(workload.name)


def _problems(plan: NodePlan, workload: KoordinatorWorkload) -> Iterator[Problem]:
    if not (workload.match_labels or workload.namespace_labels):
        text = "its profile would be for every pod of the cluster"
        yield "", text, "use matchLabels or namespaceLabels"
    yield from _priority(workload)
    if workload.qos_class not in BOUND:
        yield from _unbound(workload)
        return
    yield from _sizes(plan, workload)
    yield from _unlike_node(plan, workload)


def _priority(workload: KoordinatorWorkload) -> Iterator[Problem]:
    """What the webhook refuses, and what passes it and gets no CPUs."""
    pod = _pod(workload)
    hint = f"use {qos.BATCH if workload.qos_class == qos.BE else qos.PROD}"
    refused = cluster_colocation_profile.refusals(pod)
    for text in refused:
        yield "priorityClassName", f"the webhook refuses its pods: {text}", hint
    if workload.qos_class in BOUND and not refused and not qos.may_bind_cpus(pod):
        given = colocation.priority_class(workload)
        class_ = workload.qos_class
        text = f"a pod of the class {class_} with {given} passes the webhook, and gets no CPUs"
        yield "priorityClassName", text, hint


def _pod(workload: KoordinatorWorkload) -> Pod:
    """A pod as its profile changes it."""
    _, _, priority = qos.PRIORITIES[colocation.priority_class(workload)]
    amount = {CPU: quantity.of(workload.cpus or 1)}
    container = Container("main", amount, amount)
    labels = {constants.QOS: workload.qos_class}
    return Pod(workload.name, (), (container,), priority=priority, labels=labels)


def _unbound(workload: KoordinatorWorkload) -> Iterator[Problem]:
    """Policies of pods that are not bound to CPUs."""
    for field, value in (
        ("requiredCPUBindPolicy", workload.required_cpu_bind_policy),
        ("preferredCPUBindPolicy", workload.preferred_cpu_bind_policy),
        ("preferredCPUExclusivePolicy", workload.preferred_cpu_exclusive_policy),
    ):
        if value:
            text = f"{field} is for LSE and LSR pods, and its class is {workload.qos_class}"
            yield field, text, "leave it out, or use the class LSE or LSR"


def _sizes(plan: NodePlan, workload: KoordinatorWorkload) -> Iterator[Problem]:
    """Whole cores that are required, of a number of CPUs that is none."""
    threads = plan.topology.threads_per_core
    is_required = workload.required_cpu_bind_policy == "FullPCPUs"
    is_required = is_required or plan.spec.koordinator.cpu_bind_policy == "FullPCPUsOnly"
    if workload.cpus and is_required and workload.cpus % threads:
        text = (
            f"{workload.cpus} CPUs are no whole cores of {plan.node_class.hardware}, which have "
            f"{threads} threads"
        )
        yield "cpus", text, f"use a multiple of {threads}, or a preferred policy"


def _unlike_node(plan: NodePlan, workload: KoordinatorWorkload) -> Iterator[Problem]:
    """Policies that contradict the node's: the scheduler filters such nodes out."""
    given = plan.spec.koordinator
    of_node = _OF_POD.get(given.cpu_bind_policy or "")
    required = workload.required_cpu_bind_policy
    if of_node and required and required != of_node:
        text = f"{required} is required, and the nodes have {given.cpu_bind_policy}"
        yield "requiredCPUBindPolicy", text, "leave one of them out"
    policy = workload.numa_topology_policy
    if policy and given.numa_topology_policy and policy != given.numa_topology_policy:
        text = f"its policy is {policy}, and that of the nodes {given.numa_topology_policy}"
        yield "numaTopologyPolicy", text, "use the same, or leave one of them out"


class _Shared(NamedTuple):
    """What must be the same in all intents that say it: its words, its field, its value."""

    what: str
    field: Callable[[ConfiguredPlan], str]
    value: Callable[[ConfiguredPlan], object]


_SHARED = (
    _Shared(
        "releases of Koordinator",
        lambda plan: plan.node_class.target_field("koordinator"),
        lambda plan: plan.node_class.target.koordinator,
    ),
    _Shared(
        "arguments of koord-scheduler",
        lambda _: "koordinator.scheduler",
        lambda plan: scheduler.arguments(plan.settings.of(scheduler.NAME)),
    ),
)


def check_cluster(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """CP637 where two intents of a cluster differ."""
    members = [plan for plan in plans if plan.node_class.target.has_koordinator]
    for shared in _SHARED:
        saying = [plan for plan in members if shared.value(plan)]
        for plan in saying[1:]:
            if shared.value(plan) != shared.value(saying[0]):
                yield _unlike(saying[0], plan, shared.what, locate, shared.field(plan))
                break
    yield from _same_profiles(members, locate)


def _same_profiles(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """Profiles of two intents with one name: `a-b` of `c`, and `a` of `b-c`."""
    seen: dict[str, ConfiguredPlan] = {}
    for plan in plans:
        for workload in plan.settings.of(colocation.NAME):
            name = colocation.profile(plan, workload)
            other = seen.setdefault(name, plan)
            if other.node_class.intent != plan.node_class.intent:
                what = f"profiles of the name {name}"
                yield _unlike(other, plan, what, locate, "koordinator.workloads")


def _unlike(
    first: ConfiguredPlan, second: ConfiguredPlan, what: str, locate: Locate, field: str
) -> Diagnostic:
    node_class = second.node_class
    return diagnose(
        "CP637",
        locate(node_class.place(field)),
        cluster=node_class.cluster,
        first=first.node_class.intent,
        second=node_class.intent,
        what=what,
    )


def check(plan: NodePlan, locate: Locate) -> list[Diagnostic]:
    """Statements that do not fit at all, else everything else."""
    if wrong := list(check_layout(plan, locate)):
        return wrong
    return [
        *_check_release(plan, locate),
        *_check_idle(plan, locate),
        *_check_machine(plan, locate),
        *_check_workloads(plan, locate),
    ]
