"""What becomes of pods after they were admitted: resizes, debug containers, static pods."""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.facts.settings.kubelet import CPU_MANAGER_POLICY, FEATURE_GATES
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import manifests
from cpuplan.simulate.fleet import full_name, listed_names
from cpuplan.simulate.planned import planned
from cpuplan.upstream.kubelet.allocation import RESOURCES, infeasible
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import CPU, Pod
from cpuplan.upstream.kubernetes.qos import guaranteed_cpus
from cpuplan.upstream.openshift.managed import is_static


def notes(plans: Sequence[ConfiguredPlan], pods: Sequence[Pod]) -> Iterator[str]:
    """Sentences about pods with a resizePolicy, with debug containers, and of files of the node."""
    yield from _of_resizes(plans, pods)
    debugged = [full_name(pod) for pod in pods if pod.ephemeral]
    if debugged and any(map(_gives_cpus, plans)):
        yield (
            f"the debug containers of {listed_names(debugged)} run on the CPUs that are shared "
            "when they start, and the kubelet never moves them: they stay on CPUs that others get "
            "for themselves later"
        )
    if late := _late(pods):
        yield (
            f"the static pods {listed_names(late)} come here in the order of the files: after a "
            "start of the kubelet they are admitted before all others"
        )


def _gives_cpus(plan: ConfiguredPlan) -> bool:
    """Whether the kubelet gives containers CPUs of their own."""
    return planned(plan).config.get(CPU_MANAGER_POLICY.key) == "static"


def _late(pods: Iterable[Pod]) -> list[str]:
    """Static pods after a pod that is none."""
    names, has_others = [], False
    for pod in pods:
        if is_static(pod) and has_others:
            names.append(full_name(pod))
        has_others = has_others or not is_static(pod)
    return names


def _of_resizes(plans: Sequence[ConfiguredPlan], pods: Iterable[Pod]) -> Iterator[str]:
    """What the kubelets refuse, each once with the names of its pods."""
    #: Pods of one template share their containers.
    known: dict[int, set[tuple[str, str]]] = {}
    refused: dict[tuple[str, str], list[str]] = {}
    for pod in pods:
        template = id(pod.containers)
        if template not in known:
            known[template] = {key for plan in plans for key in _refusals(plan, pod)}
        for key in sorted(known[template]):
            refused.setdefault(key, []).append(full_name(pod))
    for (resource, why), names in refused.items():
        whose = listed_names(names)
        if why:
            yield f"{resource} of {whose} cannot be resized in place: {why}"
        else:
            yield f"what a resize makes of the exclusive CPUs of {whose} is not simulated"


def _refusals(plan: ConfiguredPlan, pod: Pod) -> Iterator[tuple[str, str]]:
    """Resources whose resize is said to restart something or nothing, and why there is none."""
    if not any(container.resize_policy for container in pod.all_containers):
        return
    facts = planned(plan)
    gates = Gates(facts.config.get(FEATURE_GATES.head) or {}, facts.version)
    stored = manifests.with_defaults(pod, gates)
    is_exclusive = _gives_cpus(plan)
    for container in stored.all_containers:
        if container.is_plain_init:  # over before anybody resizes it
            continue
        for resource in dict(container.resize_policy).keys() & set(RESOURCES):
            why = infeasible(stored, container, resource, facts.config, gates)
            cpus = resource == CPU and is_exclusive and guaranteed_cpus(stored, container, gates)
            if why or cpus:
                yield resource, why
