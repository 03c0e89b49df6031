"""What a simulation does not check or ignores, as sentences for its reader."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cpuplan.base.text import counted
from cpuplan.components import hugepages, kernel
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import apiserver
from cpuplan.simulate.names import full_name, listed
from cpuplan.simulate.planned import planned
from cpuplan.upstream.kubelet.sysinfo import assumes_memory
from cpuplan.upstream.kubernetes.fit import pod_requests
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import CPU, HUGEPAGES, MEMORY, Pod, Resources, is_pod_level
from cpuplan.upstream.kubernetes.qos import guaranteed_cpus
from cpuplan.upstream.nri.api import PREFER_ISOLATED, SCOPE

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
    if any(plan.node_class.target.has_topology_aware for plan in plans):
        yield from _of_pools(pods)
    requested = _requested(pods)
    offered = [{*planned(plan).runtime.resources, *given} for plan in plans]
    known = frozenset.intersection(*map(frozenset, offered)) if offered else frozenset()
    unknown = [name for name in sorted(requested) if _is_unknown(name, known)]
    if unknown:
        yield (
            f"requests for {listed(unknown)} are not checked, because the inventory does not "
            "contain how much a node has; give it with --resource NAME=AMOUNT"
        )
    assumed = sorted({plan.node_class.hardware for plan in plans if assumes_memory(plan.topology)})
    if assumed and MEMORY in requested:
        yield f"requests for memory are not checked: hardware {listed(assumed)} contains no memory"


def _of_pools(pods: Sequence[Pod]) -> Iterator[str]:
    """Annotations that the topology-aware NRI policy passes over, and those without a port."""
    if dead := [full_name(pod) for pod in pods if PREFER_ISOLATED in pod.annotations]:
        yield (
            f"the annotation {PREFER_ISOLATED} of {listed(dead)} does nothing: the policy reads "
            f"it only with a scope, as {PREFER_ISOLATED}/pod"
        )
    keys = (key.partition("/")[0] for pod in pods for key in pod.annotations if SCOPE in key)
    if unread := sorted({key for key in keys if key.startswith(_NOT_SIMULATED)}):
        yield f"what the topology-aware policy makes of {listed(unread)} is not simulated"


def of_scheduler(plans: Sequence[ConfiguredPlan]) -> str:
    """What is assumed of nodes that are not planned for Koordinator; empty without any."""
    names = [plan.node_class.name for plan in plans if not plan.node_class.target.has_koordinator]
    if not names:
        return ""
    return (
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} not planned for Koordinator: it is "
        "simulated with cpuManagerPolicy none, and with labels for the kubelet's policies"
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
    return name not in (CPU, MEMORY, *given) and not name.startswith(HUGEPAGES)


def _ignored(plans: Sequence[ConfiguredPlan], pods: Iterable[Pod]) -> Iterator[str]:
    """Resources of whole pods where the release or the configuration has them off, or half so."""
    names = [full_name(pod) for pod in pods if _has_pod_level(pod)]
    if not names:
        return
    without, unaligned = set(), set()
    for plan in plans:
        facts = planned(plan)
        gates = Gates(facts.config.get("featureGates") or {}, facts.version)
        release = ".".join(map(str, facts.version))
        if not gates.enabled(POD_LEVEL):
            without.add(release)
        elif gates.ignores_pod_level and _aligns(facts.config):
            unaligned.add(release)
    if without:
        yield (
            f"spec.resources of {listed(names)} is ignored: the feature gate {POD_LEVEL} is off "
            f"in Kubernetes {listed(sorted(without))}"
        )
    if unaligned:
        yield (
            f"the containers of {listed(names)} get no exclusive CPUs and no aligned memory: their "
            f"pods have spec.resources, and the feature gate {MANAGERS} is off in Kubernetes "
            f"{listed(sorted(unaligned))}"
        )


def _aligns(config: Mapping[str, Any]) -> bool:
    """Whether a manager of the kubelet would otherwise give CPUs or memory to containers."""
    policies = (config.get("cpuManagerPolicy"), config.get("memoryManagerPolicy"))
    return policies[0] == "static" or policies[1] == "Static"


def _has_pod_level(pod: Pod) -> bool:
    return any(map(is_pod_level, {**(pod.requests or {}), **(pod.limits or {})}))


def _unbalanced(plan: ConfiguredPlan, pods: Iterable[Pod]) -> Iterator[str]:
    """CPUs that the kubelet shares out and the kernel does not balance, where pods share CPUs."""
    facts = planned(plan)
    gates = Gates(facts.config.get("featureGates") or {}, facts.version)
    stored = [apiserver.store(pod, gates) for pod in pods]
    if all(guaranteed_cpus(pod, own, gates) for pod in stored for own in pod.all_containers):
        return
    cpus = kernel.unbalanced(plan.settings.of(kernel.NAME)) & plan.pool("isolated").cpus
    if cpus:
        yield (
            f"the kernel balances no load on CPUs {cpus} of class {plan.node_class.name} "
            "(isolcpus=domain): containers without exclusive CPUs stay where they start"
        )


def _uneven(plan: ConfiguredPlan) -> Iterator[str]:
    """Huge pages whose NUMA node is only known after boot."""
    for pages in hugepages.uneven(plan):
        yield (
            f"the kernel chooses the NUMA node of {pages.left} of "
            f"{counted(pages.number, 'huge page')} "
            f"of {pages.size} at boot; the lowest NUMA nodes are assumed"
        )
