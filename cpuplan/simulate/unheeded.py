"""What pods ask for and nobody heeds: a RuntimeClass, workload partitioning, CRI-O's hooks.

The API server, the kubelet and CRI-O let most of them run without a word.
"""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.components.checks import annotations
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.facts.settings.kubelet import FEATURE_GATES
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import manifests
from cpuplan.simulate.apiserver import PLATFORM, ApiServer, Surroundings, server_of
from cpuplan.simulate.fleet import full_name, listed_names, workload_of
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.planned import Planned, planned
from cpuplan.upstream.kubernetes.errors import AdmissionError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import CPU, Pod
from cpuplan.upstream.openshift import managed
from cpuplan.upstream.openshift.managed import CAPACITY_SUFFIX, MANAGEMENT, TARGET, WARNING
from cpuplan.upstream.openshift.managementcpusoverride import (
    ALLOWED,
    EFFECT,
    HAS_LIMIT,
    NO_WORKLOAD,
    NOT_ALLOWED,
    NOT_LISTED,
    OTHER_CLASS,
    PREFERRED,
    SEVERAL,
)

#: What to do, by what the API server's warning contains; the rest is about Guaranteed pods.
_REMEDIES = {
    NOT_ALLOWED: f"annotate its namespace with {ALLOWED}: {MANAGEMENT}",
    HAS_LIMIT: "give its containers no limits of cpu, or use OpenShift 4.16 or later",
    OTHER_CLASS: "give a container a request of memory too",
}
#: The same of what it refuses, in this order.
_CORRECTIONS = {
    NOT_LISTED: f"annotate its namespace with {ALLOWED}: {MANAGEMENT}, the workload of kubelets",
    SEVERAL: f"leave only {TARGET}{MANAGEMENT}",
    NO_WORKLOAD: f"request cpu instead, or annotate the pod with {TARGET}{MANAGEMENT}",
    EFFECT: f"""write '{{"{EFFECT}": "{PREFERRED}"}}'""",
}
_NO_LIMITS = "give its containers no limits of cpu: pods of the platform are not Guaranteed"


def check(
    plans: Iterable[ConfiguredPlan], items: Sequence[Item], around: Surroundings | None
) -> Iterator[Diagnostic]:
    """CP5340, CP5341, CP7341, CP7342 and CP7344, once for each manifest: its pods are alike."""
    told = set()
    manifests_with_any = list(_concerned(items))
    for plan in plans if manifests_with_any else ():
        facts = planned(plan, around)
        for item in manifests_with_any:
            for problem in _of_item(plan, facts, item):
                key = problem.code, problem.position or workload_of(item.pod), problem.remedy
                if key not in told:
                    told.add(key)
                    yield problem


def _concerned(items: Iterable[Item]) -> Iterator[Item]:
    """The first pod of each manifest that asks for anything."""
    seen = set()
    for item in items:
        key = id(item.source), item.at, workload_of(item.pod)
        if key not in seen and _asks(item.pod):
            seen.add(key)
            yield item


def _asks(pod: Pod) -> bool:
    """Whether a pod asks for anything of which it may get nothing."""
    names = {name for own in pod.all_containers for name in own.requests}
    has_cores = any(name.endswith(CAPACITY_SUFFIX) for name in names)
    return bool(pod.annotations or pod.runtime_class or has_cores)


def _of_item(plan: ConfiguredPlan, facts: Planned, item: Item) -> Iterator[Diagnostic]:
    server, who = facts.runtime.server, full_name(item.pod)
    if server.lacks(item.pod.runtime_class):
        remedy = f"set runtimeClassName: {server.own}" if server.own else "take it away"
        name = item.pod.runtime_class
        yield diagnose("CP7341", item.runtime_class, who=who, name=name, remedy=remedy)
        return
    gates = Gates(facts.config.get(FEATURE_GATES.head) or {}, facts.version)
    pod = manifests.with_defaults(item.pod, gates)
    try:
        stored = facts.runtime.admit(pod)
    except AdmissionError as error:
        yield from _refused(server, pod, item, str(error))
        return
    yield from _unmanaged(server, pod, stored, item)
    for unheeded in annotations.of_pod(plan, stored, server.handler_of(pod)):
        yield annotations.finding(unheeded, who, item.annotation(unheeded.names[0]))


def _refused(server: ApiServer, pod: Pod, item: Item, text: str) -> Iterator[Diagnostic]:
    """CP7344: a pod whose annotation or resource of a workload the API server refuses."""
    workload = managed.workload_of(pod)
    is_of_plugin = workload is not None or NO_WORKLOAD in text
    remedy = next((own for part, own in _CORRECTIONS.items() if part in text), "")
    if server.is_openshift and is_of_plugin and remedy:
        place = item.place() if workload is None else item.annotation(f"{TARGET}{workload}")
        yield diagnose("CP7344", place, who=full_name(pod), problem=text, remedy=remedy)


def _unmanaged(server: ApiServer, pod: Pod, stored: Pod, item: Item) -> Iterator[Diagnostic]:
    """CP7342: a pod that names a workload, and keeps its CPU requests."""
    workload = managed.workload_of(pod)
    if not server.is_openshift or (workload is None and WARNING not in stored.annotations):
        return
    place = item.annotation(WARNING if workload is None else f"{TARGET}{workload}")
    problem, remedy = _why(server, workload, pod, stored)
    if problem:
        yield diagnose("CP7342", place, who=full_name(pod), problem=problem, remedy=remedy)


def _why(server: ApiServer, workload: str | None, pod: Pod, stored: Pod) -> tuple[str, str]:
    """What is wrong and what to do; empty for a pod that is managed."""
    if not server.is_partitioned:
        if pod.namespace.startswith(PLATFORM) or workload is None:
            return "", ""  # the platform's own pods say it everywhere
        problem = f"has the annotation {TARGET}{workload}, and its cluster is not partitioned"
        return problem, "take it away, or write cpuPartitioning: true if the cluster has it"
    if warning := stored.annotations.get(WARNING):
        remedies = (text for part, text in _REMEDIES.items() if part in warning)
        what = "keeps its CPU requests and does not run on the reserved CPUs"
        return f"{what}: {warning}", next(remedies, _NO_LIMITS)
    if managed.is_static(pod) and any(CPU in own.requests for own in stored.all_containers):
        problem = "runs on the reserved CPUs, but the kubelet cannot take its CPU requests away"
        return problem, "request both cpu and memory in each container that requests one"
    return "", ""


def notes(
    plans: Iterable[ConfiguredPlan], items: Iterable[Item], around: Surroundings | None
) -> Iterator[str]:
    """Namespaces that nobody has shown, in which pods of the platform are simulated."""
    pods = [item.pod for item in items if managed.workload_of(item.pod) is not None]
    names = set()
    for plan in plans if pods else ():
        server = server_of(plan).surveyed(around or Surroundings(), plan.node_class.cluster)
        names |= {pod.namespace or "default" for pod in pods if server.assumes(pod)}
    if names:
        yield (
            f"namespace {listed_names(sorted(names))} is taken for one with the annotation "
            f"{ALLOWED}: {MANAGEMENT}; put the Namespace beside the pods if it has another one"
        )
