"""Annotations of pods for CRI-O's hooks that do nothing because of the pod, whatever the release.

The hooks run for a Guaranteed pod under a handler that allows the annotations, and for its
containers with whole CPUs; of anything else nobody says a word. Upstream: cri-o/cri-o
internal/runtimehandlerhooks (shouldRunHooks).
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from cpuplan.base.text import did_you_mean, listed
from cpuplan.components import crio, mixedcpus, runtimeclass
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts import versions
from cpuplan.facts.settings.crio import ALLOWED_ANNOTATIONS
from cpuplan.facts.settings.kubelet import FEATURE_GATES
from cpuplan.language.read.pods import sound_template
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.upstream.crio.config import allowed_annotations
from cpuplan.upstream.crio.config_keys import LATEST as LATEST_CRIO
from cpuplan.upstream.crio.high_performance_hooks import SKIP_GOMAXPROCS
from cpuplan.upstream.crio.releases import HOOKS, IRQ, LOAD_BALANCING, QUOTA, SHARED
from cpuplan.upstream.kubernetes.kube_features import LATEST, Gates
from cpuplan.upstream.kubernetes.pod import CPU, Container, Pod, apply_defaults, read_pod
from cpuplan.upstream.kubernetes.qos import GUARANTEED, pod_qos
from cpuplan.upstream.kubernetes.quantity import ZERO
from cpuplan.upstream.openshift.managed import SHARES_PER_CPU, milli_cpu_to_shares

_DOMAIN = ".crio.io"
#: How like a hook's name another one must be to be taken for it.
_LIKE = 0.85
#: With this value they ask for what they would get without the annotation.
_SWITCHES, _AS_USUAL = (LOAD_BALANCING, QUOTA, IRQ), "enable"
_WHOLE = "give every container limits of cpu and memory, and equal requests"
_SHOWN = 6


class Cause(NamedTuple):
    """Why nothing comes of an annotation, and what to do."""

    problem: str
    remedy: str


class Unheeded(NamedTuple):
    """Annotations of a pod that do nothing for the same cause."""

    names: tuple[str, ...]
    cause: Cause
    code: str = "CP5340"


def check(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP5340 and CP5341 for the manifests of the intent's workloads."""
    own = runtimeclass.name(plan)
    for index, workload in enumerate(plan.spec.workloads):
        template = sound_template(workload.manifest)
        if template is None:
            continue  # CP720
        fields = ".".join(map(str, (*template[0], "metadata", "annotations")))
        pod = read_pod(template[1])
        is_own = bool(own) and pod.runtime_class == own
        handler = plan.spec.runtime.handler if is_own and crio.has_handler(plan) else ""
        for unheeded in of_pod(plan, pod, handler):
            field = f"workloads.{index}.manifest.{fields}.{unheeded.names[0]}"
            place = locate(plan.node_class.place(field, of_key=True))
            yield finding(unheeded, workload.name, place)


def finding(unheeded: Unheeded, who: str, place: Position | None) -> Diagnostic:
    """The warning, at the first of the annotations."""
    return diagnose(
        unheeded.code,
        place,
        who=who,
        names=listed(unheeded.names, _SHOWN),
        problem=unheeded.cause.problem,
        remedy=unheeded.cause.remedy,
    )


def of_pod(plan: ConfiguredPlan, pod: Pod, handler: str) -> Iterator[Unheeded]:
    """The annotations of a pod that do nothing on nodes of the plan, by cause.

    `handler` is the one of CRI-O that its RuntimeClass names; empty where that is none of the
    plan's, or the pod has no RuntimeClass.
    """
    given = plan.spec.kubelet.configuration.get(FEATURE_GATES.head) or {}
    gates = Gates(given, versions.kubernetes_version(plan.node_class.target) or LATEST)
    stored = apply_defaults(pod, gates)
    by_cause: dict[Cause, list[str]] = {}
    for name in _asked(plan, stored):
        if cause := _cause(plan, stored, handler, name, gates):
            by_cause.setdefault(cause, []).append(name)
    for cause, names in by_cause.items():
        yield Unheeded(tuple(names), cause)
    for name in pod.annotations:
        if cause := _misspelt(name):
            yield Unheeded((name,), cause, "CP5341")


def _asked(plan: NodePlan, pod: Pod) -> Iterator[str]:
    """The annotations for hooks that ask for something.

    What a request for shared CPUs brings about is told with the request (CP714).
    """
    shares = mixedcpus.are_used(plan)
    for name, value in pod.annotations.items():
        hook = name.partition("/")[0]
        is_told = hook == SHARED and shares
        is_usual = hook in _SWITCHES and value == _AS_USUAL
        if hook in HOOKS and not is_told and not is_usual:
            yield name


def _cause(plan: ConfiguredPlan, pod: Pod, handler: str, name: str, gates: Gates) -> Cause | None:
    """The first thing that is in the way of an annotation."""
    return (
        _of_runtime(plan, pod, handler, name) or _of_class(pod, gates) or _of_containers(pod, name)
    )


def _of_runtime(plan: ConfiguredPlan, pod: Pod, handler: str, name: str) -> Cause | None:
    """No CRI-O, no handler of the plan, no RuntimeClass or another one, or not allowed."""
    own, wanted = runtimeclass.name(plan), plan.spec.runtime.handler
    if plan.node_class.target.runtime != crio.NAME:
        runtime = plan.node_class.target.runtime
        return Cause(f"only CRI-O reads it, and the nodes have {runtime}", "take it away")
    if not crio.has_handler(plan):
        why = "no handler of the plan allows it, so CRI-O takes it away"
        where = f"in intent {plan.node_class.intent}"
        return Cause(why, f"write runtime: {{handler: {wanted}}} {where}")
    remedy = f"set runtimeClassName: {own}"
    if not pod.runtime_class:
        return Cause("CRI-O heeds it only under a handler, and the pod has no RuntimeClass", remedy)
    if handler != wanted:
        return Cause(f"RuntimeClass {pod.runtime_class} is not that of handler {wanted}", remedy)
    allowed = plan.settings.value(ALLOWED_ANNOTATIONS, handler=wanted)
    hook = name.partition("/")[0]
    if isinstance(allowed, tuple | list) and hook not in allowed:
        why = f"{ALLOWED_ANNOTATIONS.last} of handler {wanted} does not have it"
        is_shared = hook == SHARED
        return Cause(why, "give the intent pools.shared" if is_shared else "take it away")
    return None


def _of_class(pod: Pod, gates: Gates) -> Cause | None:
    qos = pod_qos(pod, gates)
    if qos == GUARANTEED:
        return None
    return Cause(f"CRI-O runs no hooks for pods of QoS class {qos}", _WHOLE)


def _of_containers(pod: Pod, name: str) -> Cause | None:
    """No container of the name, or none with whole CPUs."""
    _, is_of_one, only = name.partition("/")
    containers = pod.all_containers
    if is_of_one:
        containers = tuple(own for own in containers if own.name == only)
        if not containers:
            known = [own.name for own in pod.all_containers]
            return Cause(f"the pod has no container {only}", did_you_mean(only, known))
    if any(map(_has_whole_cpus, containers)):
        return None
    return Cause(
        "CRI-O runs its hooks only for containers that request whole CPUs", "request whole CPUs"
    )


def _has_whole_cpus(container: Container) -> bool:
    """As CRI-O sees it, which knows the shares alone (isContainerRequestWholeCPU)."""
    shares = milli_cpu_to_shares(container.requests.get(CPU, ZERO).milli)
    return shares % SHARES_PER_CPU == 0


@lru_cache(maxsize=1024)
def _misspelt(name: str) -> Cause | None:
    """An annotation that is none of CRI-O's, and looks like one of the hooks'."""
    domain, slash, rest = name.partition("/")
    known = {*allowed_annotations(LATEST_CRIO), *HOOKS, SKIP_GOMAXPROCS}
    if domain in known or domain.startswith("f:"):
        return None
    from difflib import get_close_matches  # start-up time

    near = get_close_matches(domain.lower(), HOOKS, n=1, cutoff=_LIKE)
    if near:
        return Cause("CRI-O knows no annotation of the name", f"write {near[0]}{slash}{rest}")
    if domain.endswith(_DOMAIN):
        hint = did_you_mean(domain, HOOKS)
        return Cause("CRI-O knows no annotation of the name", hint)
    return None
