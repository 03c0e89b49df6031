"""What is said of simulated nodes beside refusals: findings, and notes for the reader.

Findings are about nodes and about pods that share CPUs otherwise than they ask, of which the
kubelet and CRI-O say nothing. Notes are about what a simulation does not check or ignores.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.base.text import counted
from cpuplan.components import admission_rules, crio, hugepages, kernel, mixedcpus
from cpuplan.components.checks import hooks
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts import versions
from cpuplan.facts.settings.kubelet import (
    CPU_MANAGER_POLICY,
    FEATURE_GATES,
    MEMORY_MANAGER_POLICY,
    TOPOLOGY_MANAGER_POLICY,
)
from cpuplan.language.model.vocabulary import codes_off
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import manifests, startup
from cpuplan.simulate.apiserver import Surroundings
from cpuplan.simulate.fleet import Simulated, full_name, listed_names
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.planned import Planned, planned
from cpuplan.upstream.crio.high_performance_hooks import SHARED_ENV
from cpuplan.upstream.crio.mixedcpus import ALLOWED, RESOURCE, asking
from cpuplan.upstream.crio.releases import ENABLE, OFF, QUOTA, SHARED, Defect
from cpuplan.upstream.kubelet.sysinfo import assumes_memory
from cpuplan.upstream.kubernetes.errors import AdmissionError
from cpuplan.upstream.kubernetes.fit import pod_requests
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import (
    CPU,
    HUGEPAGES,
    MEMORY,
    Container,
    Pod,
    Resources,
    is_pod_level,
)
from cpuplan.upstream.kubernetes.qos import GUARANTEED, guaranteed_cpus, pod_qos
from cpuplan.upstream.kubernetes.quantity import ZERO
from cpuplan.upstream.nri.api import PREFER_ISOLATED, SCOPE
from cpuplan.upstream.openshift.managed import CAPACITY_SUFFIX

#: No pod can come where the kubelet does not start.
NOT_STARTED = {"CP701", "CP702", "CP703"}
#: Of the intent's workloads, which are not the pods at hand.
_OF_WORKLOADS = {"CP708", "CP712", "CP713", "CP7155", "CP731", "CP7648"}


def of_plans(plans: Iterable[ConfiguredPlan], locate: Locate) -> list[Diagnostic]:
    """What goes wrong on these nodes whatever the pods are."""
    problems: dict[Diagnostic, None] = {}
    for plan in plans:
        left_out = _OF_WORKLOADS | codes_off(plan.spec.rules)
        started = startup.check(plan, locate)
        problems |= dict.fromkeys(at for at in started if at.code not in left_out)
    return list(problems)


def of_claims(plans: Iterable[ConfiguredPlan], items: Iterable[Item]) -> Iterator[Diagnostic]:
    """Pods that claim other CPUs than they request, or none, on the first class with such nodes."""
    plan = next((plan for plan in plans if plan.node_class.target.has_dra), None)
    if plan is None:
        return
    from cpuplan.simulate.dra import (
        Given,
        check_claims,  # for few plans
    )

    facts = planned(plan)
    gates = Gates(facts.config.get(FEATURE_GATES.head) or {}, facts.version)
    given = (Given(item.pod, full_name(item.pod), item.place()) for item in items)
    if facts.dra:
        yield from check_claims(given, facts.dra, gates)


def of_pods(nodes: Sequence[Simulated]) -> Iterator[Diagnostic]:
    """What the pods at hand bring about."""
    for node in nodes:
        remainder = node.outcome.remainder
        if remainder.overlap:
            pod, cpu, other = remainder.overlap
            whose = f"{other} has exclusively" if other else "is reserved"
            example = f"{pod} gets CPU {cpu}, which {whose}"
            if node.plan.node_class.target.has_koordinator:
                yield diagnose("CP730", name=node.plan.node_class.name, example=example)
            else:
                yield diagnose("CP704", hardware=node.plan.node_class.hardware, example=example)
        for code, example in remainder.findings:
            yield diagnose(code, name=node.plan.node_class.name, example=example)
        for again, refused in remainder.after_restart:
            who = full_name(again) if again else "its own state file"
            problem = refused.words
            yield diagnose("CP708", node=listed_names(node.nodes), pod=who, problem=problem)


#: Annotations by which the topology-aware policy chooses pools and memory, and which have no port.
_NOT_SIMULATED = (
    SCOPE,  # affinity: `resource-policy.nri.io/affinity`
    "allow.topologyhints",
    "cold-start",
    "deny.topologyhints",
    "pick-resources-by-hints",
    "strict.topologyhints",
    "topologyhints",
    "unlimited-burstable",
)
POD_LEVEL, MANAGERS = "PodLevelResources", "PodLevelResourceManagers"


def notes(plans: Sequence[ConfiguredPlan], pods: Sequence[Pod], given: Resources) -> Iterator[str]:
    """Resources of unknown amount, memory that is assumed, fields that a release ignores."""
    yield from _ignored(plans, pods)
    yield from dict.fromkeys(sentence for plan in plans for sentence in _uneven(plan))
    yield from dict.fromkeys(sentence for plan in plans for sentence in _unbalanced(plan, pods))
    yield from dict.fromkeys(sentence for plan in plans for sentence in _broken(plan, pods))
    if any(plan.node_class.target.has_topology_aware for plan in plans):
        yield from _of_pools(pods)
    requested = _requested(pods)
    offered = [{*planned(plan).runtime.resources, *given} for plan in plans]
    known = frozenset.intersection(*map(frozenset, offered)) if offered else frozenset()
    unknown = [name for name in sorted(requested) if _is_unknown(name, known)]
    if unknown:
        yield (
            f"requests for {listed_names(unknown)} are not checked, because the inventory does not "
            "contain how much a node has; give it with --resource NAME=AMOUNT"
        )
    if devices := unaligned(plans, pods):
        yield (
            f"the NUMA nodes of {listed_names(devices)} are not known: the topology manager also "
            "counts the hints of devices, so pods may be refused, or get other CPUs than here"
        )
    assumed = sorted({plan.node_class.hardware for plan in plans if assumes_memory(plan.topology)})
    if assumed and MEMORY in requested:
        yield (
            "requests for memory are not checked: "
            f"hardware {listed_names(assumed)} contains no memory"
        )


#: Resources that no device plugin gives out, by the end of their domain.
_WITHOUT_DEVICES = ("kubernetes.io", "koordinator.sh", "workload.openshift.io")


def unaligned(plans: Iterable[ConfiguredPlan], pods: Iterable[Pod]) -> list[str]:
    """Resources of device plugins that a topology manager aligns, whose NUMA nodes nobody knows.

    Their hints decide with those of CPUs and memory, and are left out (cm/devicemanager,
    GetTopologyHints).
    """
    devices = [name for name in sorted(_requested(pods)) if _is_of_devices(name)]
    return devices if devices and any(map(_merges_hints, plans)) else []


def _is_of_devices(name: str) -> bool:
    domain, slash, _ = name.partition("/")
    return bool(slash) and not domain.endswith(_WITHOUT_DEVICES)


def _merges_hints(plan: ConfiguredPlan) -> bool:
    """Whether the node's kubelet merges hints of several NUMA nodes."""
    policy = planned(plan).config.get(TOPOLOGY_MANAGER_POLICY.key, "none")
    return policy != "none" and len(plan.topology.numa_nodes) > 1


def _of_pools(pods: Sequence[Pod]) -> Iterator[str]:
    """Annotations that the topology-aware NRI policy passes over, and those without a port."""
    if dead := [full_name(pod) for pod in pods if PREFER_ISOLATED in pod.annotations]:
        yield (
            f"the annotation {PREFER_ISOLATED} of {listed_names(dead)} does nothing: "
            "the policy reads "
            f"it only with a scope, as {PREFER_ISOLATED}/pod"
        )
    keys = (key.partition("/")[0] for pod in pods for key in pod.annotations if SCOPE in key)
    if unread := sorted({key for key in keys if key.startswith(_NOT_SIMULATED)}):
        yield f"what the topology-aware policy makes of {listed_names(unread)} is not simulated"


def note_of_scheduler(plans: Sequence[ConfiguredPlan]) -> str:
    """What is assumed of nodes that are not planned for Koordinator; empty without any."""
    names = [plan.node_class.name for plan in plans if not plan.node_class.target.has_koordinator]
    if not names:
        return ""
    return (
        f"{listed_names(names)} {'is' if len(names) == 1 else 'are'} not planned "
        "for Koordinator: it is "
        f"simulated with {CPU_MANAGER_POLICY.key} none, and with labels for the kubelet's policies"
    )


def _requested(pods: Iterable[Pod]) -> set[str]:
    """The resources that the containers request."""
    names: set[str] = set()
    for pod in pods:
        requests = pod_requests(pod._replace(requests=None, limits=None), Gates())
        names |= {name for name, amount in requests.items() if amount.nano}
        for container in pod.all_containers:
            names |= {name for name, amount in container.limits.items() if amount.nano}
    return names


def _is_unknown(name: str, given: Collection[str]) -> bool:
    is_checked = name.startswith(HUGEPAGES) or name.endswith(CAPACITY_SUFFIX)
    return not is_checked and name not in (CPU, MEMORY, *given)


def _ignored(plans: Sequence[ConfiguredPlan], pods: Iterable[Pod]) -> Iterator[str]:
    """Resources of whole pods where the release or the configuration has them off, or half so."""
    names = [full_name(pod) for pod in pods if _has_pod_level(pod)]
    if not names:
        return
    without, unaligned = set(), set()
    for plan in plans:
        facts = planned(plan)
        gates = Gates(facts.config.get(FEATURE_GATES.head) or {}, facts.version)
        release = ".".join(map(str, facts.version))
        if not gates.enabled(POD_LEVEL):
            without.add(release)
        elif gates.ignores_pod_level and _aligns(facts.config):
            unaligned.add(release)
    if without:
        yield (
            f"spec.resources of {listed_names(names)} is ignored: "
            f"the feature gate {POD_LEVEL} is off "
            f"in Kubernetes {listed_names(sorted(without))}"
        )
    if unaligned:
        yield (
            f"the containers of {listed_names(names)} get no exclusive CPUs and no aligned memory: "
            "their "
            f"pods have spec.resources, and the feature gate {MANAGERS} is off in Kubernetes "
            f"{listed_names(sorted(unaligned))}"
        )


def _aligns(config: Mapping[str, Any]) -> bool:
    """Whether a manager of the kubelet would otherwise give CPUs or memory to containers."""
    policies = (config.get(CPU_MANAGER_POLICY.key), config.get(MEMORY_MANAGER_POLICY.key))
    return policies[0] == "static" or policies[1] == "Static"


def _has_pod_level(pod: Pod) -> bool:
    return any(map(is_pod_level, {**(pod.requests or {}), **(pod.limits or {})}))


def _unbalanced(plan: ConfiguredPlan, pods: Iterable[Pod]) -> Iterator[str]:
    """CPUs that the kubelet shares out and the kernel does not balance, where pods share CPUs."""
    facts = planned(plan)
    gates = Gates(facts.config.get(FEATURE_GATES.head) or {}, facts.version)
    stored = [manifests.with_defaults(pod, gates) for pod in pods]
    if all(guaranteed_cpus(pod, own, gates) for pod in stored for own in pod.all_containers):
        return
    cpus = kernel.unbalanced(plan.settings.of(kernel.NAME)) & plan.pool("isolated").cpus
    if cpus:
        yield (
            f"the kernel balances no load on CPUs {cpus} of class {plan.node_class.name} "
            "(isolcpus=domain): containers without exclusive CPUs stay where they start"
        )


def _broken(plan: ConfiguredPlan, pods: Iterable[Pod]) -> Iterator[str]:
    """What releases of CRI-O are known to break of what pods ask for."""
    asking_pods: dict[Defect, list[str]] = {}
    for pod in pods:
        for defect in hooks.defects(plan, pod):
            asking_pods.setdefault(defect, []).append(full_name(pod))
    target, release = plan.node_class.target, versions.to_text(crio.release(plan.node_class.target))
    for defect, names in asking_pods.items():
        which = f"before {defect.until}" if defect.until else f"of branch {release}"
        yield (
            f"{plan.node_class.platform.title} {target.version}, CRI-O {which}: {defect.problem} "
            f"({defect.annotation} of {listed_names(names)}; {defect.source})"
        )


def _uneven(plan: ConfiguredPlan) -> Iterator[str]:
    """Huge pages whose NUMA node is only known after boot."""
    for pages in hugepages.uneven(plan):
        yield (
            f"the kernel chooses the NUMA node of {pages.left} of "
            f"{counted(pages.number, 'huge page')} "
            f"of {pages.size} at boot; the lowest NUMA nodes are assumed"
        )


def check_hooks(plans: Iterable[ConfiguredPlan], items: Sequence[Item]) -> Iterator[Diagnostic]:
    """CP5360 and CP5361 for each manifest and each release that does not take an annotation."""
    told = set()
    for plan in plans:
        for item in items:
            for fault in hooks.faults(plan, item.pod):
                who, place = full_name(item.pod), item.annotation(fault.annotation)
                problem = hooks.finding(plan, fault, who, place)
                if problem not in told:
                    told.add(problem)
                    yield problem


_MILLI = 1000


class SharingFault(NamedTuple):
    """What is wrong with a pod and what to do, and the container that it is about, if it is one."""

    problem: str
    remedy: str
    container: str = ""


def check_sharing(
    plans: Iterable[ConfiguredPlan], items: Sequence[Item], around: Surroundings | None = None
) -> Iterator[Diagnostic]:
    """CP714 for each manifest: its pods are alike."""
    told = set()
    for plan in plans:
        if not mixedcpus.are_used(plan):
            continue
        facts = planned(plan, around)  # the same for all pods
        for item in items:
            for fault in sharing_faults(item.pod, plan, facts):
                place = item.place(fault.container)
                key = place or full_name(item.pod), fault
                if key not in told:
                    told.add(key)
                    yield _finding(item, fault)


def _finding(item: Item, fault: SharingFault) -> Diagnostic:
    who = f"{full_name(item.pod)} {fault.container}".strip()
    place = item.place(fault.container)
    return diagnose("CP714", place, who=who, problem=fault.problem, remedy=fault.remedy)


def sharing_faults(
    given: Pod, plan: ConfiguredPlan, known: Planned | None = None
) -> Iterator[SharingFault]:
    """What a node of the plan would do with a pod that nobody expects; nothing of refused pods.

    `known` is what its kubelet finds, where that is known already.
    """
    facts = known or planned(plan)
    gates = Gates(facts.config.get(FEATURE_GATES.head) or {}, facts.version)
    pod = manifests.with_defaults(given, gates)
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
    handler = facts.runtime.server.own
    if pod.runtime_class != handler:
        problem = "gets no shared CPUs: only CRI-O's handler for them reads the annotations"
        yield SharingFault(problem, f"set runtimeClassName: {handler}")
    if admission_rules.keeps_quota(plan) and stored.annotations.get(QUOTA) not in OFF:
        problem = "is throttled to the time of its exclusive CPUs"
        yield SharingFault(problem, f"annotate it with {QUOTA}: {OFF[0]}")


def _unasked(pod: Pod) -> Iterator[SharingFault]:
    """Shared CPUs without a request, past the namespace's permission and the limit of containers.

    CRI-O's filter of annotations goes by prefix. It takes the variable of any container for its
    own at the kubelet's next update.
    """
    known = {f"{SHARED}/{container.name}" for container in asking(pod)}
    for name in pod.annotations:
        if name.startswith(SHARED) and name not in known:
            problem = f"has the annotation {name}, but no such container requests {RESOURCE}"
            yield SharingFault(problem, f"request 1 of {RESOURCE}, or take the annotation away")
    for container in pod.all_containers:
        if any(variable.partition("=")[0] == SHARED_ENV for variable in container.env):
            problem = f"sets {SHARED_ENV}, which CRI-O takes for shared CPUs at the next update"
            yield SharingFault(problem, "take the variable away: CRI-O sets it", container.name)


def _whole_pod(pod: Pod, gates: Gates, facts: Planned) -> Iterator[SharingFault]:
    """What keeps all of its containers from having exclusive CPUs, or is not allowed."""
    qos = pod_qos(pod, gates)
    if qos != GUARANTEED:
        problem = f"has no exclusive CPUs beside which to share: its QoS class is {qos}"
        yield SharingFault(
            problem, "give every container limits of cpu and memory, and equal requests"
        )
    elif pod.has_own_resources and gates.ignores_pod_level:
        problem = "has no exclusive CPUs beside which to share: it has spec.resources"
        yield SharingFault(problem, "give the resources to its containers")
    if facts.runtime.namespaces and pod.namespace not in facts.runtime.namespaces:
        problem = f"is refused by the policy of the cluster: namespace {pod.namespace} is not open"
        remedy = f"add it to runtime.sharedNamespaces, or annotate it with {ALLOWED}"
        yield SharingFault(problem, remedy)


def _container(container: Container, stored: Pod) -> Iterator[SharingFault]:
    """A request that means something else than it says."""
    name, number = container.name, container.requests[RESOURCE]
    if number.milli != _MILLI:
        uncounted = "" if number.nano else ": it shares CPUs without being counted"
        yield SharingFault(f"requests {number} of {RESOURCE}{uncounted}", "request 1", name)
    if container.requests.get(CPU, ZERO).milli % _MILLI:
        problem = "gets neither exclusive nor shared CPUs: it requests a fraction of a CPU"
        yield SharingFault(problem, "request whole CPUs", name)
    if stored.annotations.get(f"{SHARED}/{name}") != ENABLE:
        who = "init containers" if container.is_init else "containers"
        problem = f"gets no shared CPUs: no annotation tells CRI-O, and nobody adds it for {who}"
        yield SharingFault(problem, f"annotate the pod with {SHARED}/{name}: {ENABLE}", name)
