"""Workloads that the webhook for pods refuses, or that koord-scheduler binds to no CPUs."""

from collections.abc import Iterator

from cpuplan.components.koordinator import colocation
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.language.model.allocators import BOUND, KoordinatorWorkload
from cpuplan.plan import NodePlan
from cpuplan.upstream.koordinator.extension import constants, qos
from cpuplan.upstream.koordinator.webhook import cluster_colocation_profile
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.pod import CPU, Container, Pod

#: (field of the workload, empty for all of it, what is wrong, what to do).
Problem = tuple[str, str, str]
#: What the node's policy is called in pods.
_OF_POD = {"FullPCPUsOnly": "FullPCPUs", "SpreadByPCPUs": "SpreadByPCPUs"}


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP635 for each workload, at the field that is wrong."""
    seen: set[str] = set()
    for index, workload in enumerate(plan.spec.koordinator.workloads):
        place = f"koordinator.workloads.{index}"
        for field, problem, hint in (*_problems(plan, workload), *_again(workload, seen)):
            position = locate(plan.node_class.place(f"{place}.{field}" if field else place))
            yield diagnose("CP635", position, workload=workload.name, problem=problem, hint=hint)


def _again(workload: KoordinatorWorkload, seen: set[str]) -> Iterator[Problem]:
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
    """Whole cores that are required, of a number of CPUs that is none; see node_policy."""
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
