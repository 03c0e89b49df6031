"""What the release of CRI-O does not take: annotations of pods for its CPU hooks, and fields."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.components import chosen, crio
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts import versions
from cpuplan.facts.settings.crio import EXEC_CPU_AFFINITY
from cpuplan.facts.settings.kubelet import FEATURE_GATES
from cpuplan.language.read.pods import sound_template
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.upstream.crio import releases
from cpuplan.upstream.crio.releases import Defect, Kind, Needs, Outcome
from cpuplan.upstream.kubernetes.kube_features import LATEST, Gates
from cpuplan.upstream.kubernetes.pod import Pod, apply_defaults, read_pod
from cpuplan.upstream.kubernetes.qos import GUARANTEED, pod_qos


class Fault(NamedTuple):
    """An annotation of a pod, its value, and what the release makes of it."""

    annotation: str
    value: str
    outcome: Outcome


def check(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP5360 and CP5361 for the manifests of the intent's workloads; CP5362."""
    yield from _check_exec(plan, locate)
    for index, workload in enumerate(plan.spec.workloads):
        template = sound_template(workload.manifest)
        if template is None:
            continue  # CP720
        fields = ".".join(map(str, (*template[0], "metadata", "annotations")))
        for fault in faults(plan, read_pod(template[1])):
            field = f"workloads.{index}.manifest.{fields}.{fault.annotation}"
            place = locate(plan.node_class.place(field, of_key=True))
            yield finding(plan, fault, workload.name, place)


def _check_exec(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """What an operator does not know is CP554."""
    target, wanted = plan.node_class.target, chosen.exec_affinity(plan)
    is_known = EXEC_CPU_AFFINITY.is_known(target)
    if target.runtime != crio.NAME or target.is_profile or wanted != "first" or is_known:
        return
    field, since = EXEC_CPU_AFFINITY.field, EXEC_CPU_AFFINITY.since
    yield diagnose(
        "CP5362",
        locate(plan.node_class.place(field)),
        field=field,
        value=wanted,
        since=versions.to_text(since),
        version=f"{plan.node_class.platform.title} {target.version}",
        later=_later(plan, since),
    )


def _later(plan: NodePlan, since: versions.Version) -> str:
    """The first release of the platform that has what came with a branch of CRI-O."""
    platform = plan.node_class.platform
    name = next((name for name, has in platform.releases.items() if has >= since), "")
    return f"{platform.title} {name}"


def faults(plan: NodePlan, pod: Pod) -> Iterator[Fault]:
    """What CRI-O of a node ignores or refuses of a pod's annotations.

    Of shared CPUs only what a later release takes: the rest is told with what the pod requests.
    """
    if plan.node_class.target.runtime != crio.NAME:
        return
    release = crio.release(plan.node_class.target)
    for name, value in pod.annotations.items():
        hook = name.partition("/")[0]
        if hook not in releases.HOOKS:
            continue
        result = releases.outcome(release, name, value, cgroups=_cgroups(plan))
        if name != hook and hook in pod.annotations and _is_exempting(release, hook):
            continue
        is_told = hook == releases.SHARED and result.change is None
        is_refused = result.kind is Kind.REFUSED
        if result.kind is Kind.DONE or is_told or (is_refused and not _has_hooks(plan, pod)):
            continue
        yield Fault(name, value, result)


def _is_exempting(release: versions.Version, hook: str) -> bool:
    """Whether any value for one container takes it out of what its pod asks for."""
    return hook in releases.SWITCHES and releases.BY_CONTAINER.is_in(release)


def _has_hooks(plan: NodePlan, pod: Pod) -> bool:
    """Whether CRI-O runs the hooks for the pod: it skips them for the other QoS classes."""
    if not crio.has_hooks(plan) or not pod.runtime_class:
        return False
    given = plan.spec.kubelet.configuration.get(FEATURE_GATES.head) or {}
    version = versions.kubernetes_version(plan.node_class.target) or LATEST
    gates = Gates(given, version)
    return pod_qos(apply_defaults(pod, gates), gates) == GUARANTEED


def defects(plan: ConfiguredPlan, pod: Pod) -> Iterator[Defect]:
    """What is known to break in the plan's branch of CRI-O, of what the pod asks for."""
    release = crio.release(plan.node_class.target)
    if not _has_hooks(plan, pod):
        return
    asked = {
        key.partition("/")[0]
        for key, value in pod.annotations.items()
        if releases.outcome(release, key, value, cgroups=_cgroups(plan)).kind is Kind.DONE
    }
    for defect in releases.defects(release):
        if defect.annotation in asked and _meets(plan, pod, defect):
            yield defect


def _meets(plan: ConfiguredPlan, pod: Pod, defect: Defect) -> bool:
    """Whether a node and a pod have what a defect needs; of load balancing, version 2 too."""
    if defect.annotation == releases.LOAD_BALANCING and _cgroups(plan) == 1:
        return False
    if defect.needs is Needs.EXEC_AFFINITY:
        handler = plan.spec.runtime.handler
        return plan.settings.value(EXEC_CPU_AFFINITY, handler=handler) == "first"
    if defect.needs is Needs.INIT_CONTAINER:
        return any(container.is_plain_init for container in pod.all_containers)
    return True


def _cgroups(plan: NodePlan) -> int:
    return 1 if chosen.has_cgroups_v1(plan) else 2


def finding(plan: NodePlan, fault: Fault, who: str, place: Position | None) -> Diagnostic:
    """CP5360 for what does nothing, CP5361 for what keeps containers from starting."""
    target, platform = plan.node_class.target, plan.node_class.platform
    result = fault.outcome
    remedy = result.instead
    if result.change is not None:
        remedy += f", or use {_later(plan, result.change.since)} or later"
    return diagnose(
        "CP5361" if result.kind is Kind.REFUSED else "CP5360",
        place,
        annotation=f"{fault.annotation}: {fault.value}",
        who=who,
        release=f"{platform.title} {target.version}, whose CRI-O is {_text(plan)}",
        problem=result.problem,
        remedy=remedy,
    )


def _text(plan: NodePlan) -> str:
    return versions.to_text(crio.release(plan.node_class.target))
