"""Pods that share CPUs otherwise than they ask: the kubelet and CRI-O say nothing of these.

OpenShift's API server lets them through (`runtime.mixedcpus.admit`). The policies of
`components.admission` have the same rules for API servers, with their reasons.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuplan.components import admission, mixedcpus
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import apiserver
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.names import full_name
from cpuplan.simulate.planned import Planned, planned
from cpuplan.upstream.crio.high_performance_hooks import ENABLE, OFF, QUOTA, SHARED, SHARED_ENV
from cpuplan.upstream.crio.mixedcpus import ALLOWED, RESOURCE, asking
from cpuplan.upstream.kubernetes.errors import AdmissionError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import CPU, Container, Pod
from cpuplan.upstream.kubernetes.qos import GUARANTEED, pod_qos
from cpuplan.upstream.kubernetes.quantity import ZERO

_MILLI = 1000


class Fault(NamedTuple):
    """What is wrong with a pod and what to do, and the container that it is about, if it is one."""

    problem: str
    remedy: str
    container: str = ""


def check(plans: Iterable[ConfiguredPlan], items: Sequence[Item]) -> Iterator[Diagnostic]:
    """CP714 for each manifest: its pods are alike."""
    told = set()
    for plan in plans:
        if not mixedcpus.are_used(plan):
            continue
        facts = planned(plan)  # the same for all pods
        for item in items:
            for fault in faults(item.pod, plan, facts):
                place = item.place(fault.container)
                key = place or full_name(item.pod), fault
                if key not in told:
                    told.add(key)
                    yield _finding(item, fault)


def _finding(item: Item, fault: Fault) -> Diagnostic:
    who = f"{full_name(item.pod)} {fault.container}".strip()
    place = item.place(fault.container)
    return diagnose("CP714", place, who=who, problem=fault.problem, remedy=fault.remedy)


def faults(given: Pod, plan: ConfiguredPlan, known: Planned | None = None) -> Iterator[Fault]:
    """What a node of the plan would do with a pod that nobody expects; nothing of refused pods.

    `known` is what its kubelet finds, where that is known already.
    """
    facts = known or planned(plan)
    gates = Gates(facts.config.get("featureGates") or {}, facts.version)
    pod = apiserver.store(given, gates)
    try:
        stored = facts.runtime.admit(pod)
    except AdmissionError:
        return
    yield from _unasked(pod)
    wanted = asking(pod)
    if not wanted:
        return
    yield from _whole_pod(pod, gates, facts)
    for container in wanted:
        yield from _container(container, stored)
    handler = f"performance-{plan.node_class.profile}"
    if pod.runtime_class != handler:
        problem = "gets no shared CPUs: only CRI-O's handler for them reads the annotations"
        yield Fault(problem, f"set runtimeClassName: {handler}")
    if admission.keeps_quota(plan) and stored.annotations.get(QUOTA) not in OFF:
        problem = "is throttled to the time of its exclusive CPUs"
        yield Fault(problem, f"annotate it with {QUOTA}: {OFF[0]}")


def _unasked(pod: Pod) -> Iterator[Fault]:
    """Shared CPUs without a request, past the namespace's permission and the limit of containers.

    CRI-O's filter of annotations goes by prefix. It takes the variable of any container for its
    own at the kubelet's next update.
    """
    known = {f"{SHARED}/{container.name}" for container in asking(pod)}
    for name in pod.annotations:
        if name.startswith(SHARED) and name not in known:
            problem = f"has the annotation {name}, but no such container requests {RESOURCE}"
            yield Fault(problem, f"request 1 of {RESOURCE}, or take the annotation away")
    for container in pod.all_containers:
        if any(variable.partition("=")[0] == SHARED_ENV for variable in container.env):
            problem = f"sets {SHARED_ENV}, which CRI-O takes for shared CPUs at the next update"
            yield Fault(problem, "take the variable away: CRI-O sets it", container.name)


def _whole_pod(pod: Pod, gates: Gates, facts: Planned) -> Iterator[Fault]:
    """What keeps all of its containers from having exclusive CPUs, or is not allowed."""
    qos = pod_qos(pod, gates)
    if qos != GUARANTEED:
        problem = f"has no exclusive CPUs beside which to share: its QoS class is {qos}"
        yield Fault(problem, "give every container limits of cpu and memory, and equal requests")
    elif pod.has_own_resources and gates.ignores_pod_level:
        problem = "has no exclusive CPUs beside which to share: it has spec.resources"
        yield Fault(problem, "give the resources to its containers")
    if facts.runtime.namespaces and pod.namespace not in facts.runtime.namespaces:
        problem = f"is refused by the policy of the cluster: namespace {pod.namespace} is not open"
        remedy = f"add it to runtime.sharedNamespaces, or annotate it with {ALLOWED}"
        yield Fault(problem, remedy)


def _container(container: Container, stored: Pod) -> Iterator[Fault]:
    """A request that means something else than it says."""
    name, number = container.name, container.requests[RESOURCE]
    if number.milli != _MILLI:
        uncounted = "" if number.nano else ": it shares CPUs without being counted"
        yield Fault(f"requests {number} of {RESOURCE}{uncounted}", "request 1", name)
    if container.requests.get(CPU, ZERO).milli % _MILLI:
        problem = "gets neither exclusive nor shared CPUs: it requests a fraction of a CPU"
        yield Fault(problem, "request whole CPUs", name)
    if stored.annotations.get(f"{SHARED}/{name}") != ENABLE:
        who = "init containers" if container.is_init else "containers"
        problem = f"gets no shared CPUs: no annotation tells CRI-O, and nobody adds it for {who}"
        yield Fault(problem, f"annotate the pod with {SHARED}/{name}: {ENABLE}", name)
