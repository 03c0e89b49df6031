"""Pods, and templates of pods: what is refused, what binds nothing, what must not be written.

Also labels and annotations of any object: names that a release does not read, and values that
nobody knows.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cpuplan.base.fits import Form
from cpuplan.base.foreign import ForeignError, read_json
from cpuplan.base.text import did_you_mean, nearest
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field
from cpuplan.facts.versions import Version
from cpuplan.language.read.pods import problems_of
from cpuplan.simulate.files.objects import Object
from cpuplan.upstream.koordinator.extension import constants, qos
from cpuplan.upstream.koordinator.extension import numa_aware as annotations
from cpuplan.upstream.koordinator.extension.numa_aware import (
    ResourceSpec,
    read_numa_topology_spec,
    read_resource_spec,
    read_resource_status,
)
from cpuplan.upstream.koordinator.extension.releases import (
    FIELDS,
    NODE_NAMES,
    POD_NAMES,
    PROPOSED,
    Span,
    name_of,
)
from cpuplan.upstream.koordinator.webhook.cluster_colocation_profile import refusals
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod, apply_defaults, read_pod

_OBJECT = Form({"type": "object"})
_KNOWN = {**NODE_NAMES, **POD_NAMES}
_BY_LETTERS = {name.lower(): name for name in _KNOWN}


def fields_of(text: str) -> dict[str, Any]:
    """The fields of a JSON object; none of another text, which its readers judge."""
    try:
        fields: dict[str, Any] = read_json(text, _OBJECT)
    except ForeignError:
        return {}
    return fields


def unread_names(
    manifest: Object, names: Mapping[str, Span], release: Version, where: tuple[str, ...]
) -> Iterator[Diagnostic]:
    """CP644 for labels and annotations below metadata that the release does not read."""
    for group in ("labels", "annotations"):
        for name in manifest.texts(*where, group):
            why = _unread(name, names, release)
            if why:
                place = manifest.source.key_at((*manifest.at, *where, group, name))
                yield diagnose(
                    "CP644",
                    place,
                    object=manifest.title,
                    name=name,
                    release=name_of(release),
                    problem=why[0],
                    hint=why[1],
                )


def _unread(name: str, names: Mapping[str, Span], release: Version) -> tuple[str, str] | None:
    """Why a name is not read, and what to do."""
    if name in names:
        return _other_release(names[name], release)
    if name in PROPOSED:
        return "it is a name of the proposal of 2022 only", f"use {PROPOSED[name]}"
    meant = _BY_LETTERS.get(name.lower(), name)
    if meant != name:
        return "names are compared letter by letter", f"write {meant}"
    if name in NODE_NAMES:
        return "it belongs to nodes", "set it on the Node"
    if name in POD_NAMES:
        return "it belongs to pods", "set it on pods, or in a ClusterColocationProfile"
    if name.startswith(constants.NODE) and names is NODE_NAMES:
        near = nearest(name, NODE_NAMES)
        return "no release has the name", f"did you mean {near!r}?" if near else "leave it out"
    return None


def _other_release(span: Span, release: Version) -> tuple[str, str] | None:
    if span.has(release):
        return None
    if release < span.since:
        since = name_of(span.since)
        return f"it is read from release {since} on", f"update Koordinator to {since} or later"
    last = name_of(span.until)
    return f"release {last} was the last one to read it", "leave it out"


def unread_fields(
    manifest: Object, field: Field, given: Mapping[str, object], release: Version
) -> Iterator[Diagnostic]:
    """CP644 for fields of an annotation's value."""
    key = str(field[-1])
    known = FIELDS[key]
    by_letters = {name.lower(): name for name in known}
    for name in given:
        # Go finds fields whatever their letter case.
        span = known.get(by_letters.get(name.lower(), name))
        why = _other_release(span, release) if span else None
        if span is None:
            why = "no release has the field", did_you_mean(name, known)
        if why:
            yield manifest.finding(
                "CP644",
                field,
                name=f"{name} in {key}",
                release=name_of(release),
                problem=why[0],
                hint=why[1],
            )


def unreadable(manifest: Object, field: Field, error: KubeletError, example: str) -> Diagnostic:
    """CP640 with an example of the value."""
    hint = f"write it like {example}"
    return manifest.finding("CP640", field, key=field[-1], problem=error, hint=hint)


BIND_POLICIES = (annotations.DEFAULT, annotations.FULL_PCPUS, annotations.SPREAD_BY_PCPUS)
_EXCLUSIVE = (annotations.NONE, annotations.PCPU_LEVEL, annotations.NUMA_NODE_LEVEL)
NUMA_POLICIES = (
    annotations.BEST_EFFORT,
    annotations.RESTRICTED,
    annotations.SINGLE_NUMA_NODE,
)
_SPEC_EXAMPLE = '{"preferredCPUBindPolicy": "FullPCPUs"}'
_NUMA_EXAMPLE = '{"numaTopologyPolicy": "SingleNUMANode"}'


def check_pod(manifest: Object, release: Version, *, has_profiles: bool) -> Iterator[Diagnostic]:
    """Everything about a pod or template. With profiles, its class may still change."""
    problems = pod_problems(manifest)
    yield from problems
    if problems:
        return
    yield from check_metadata(manifest, release)
    pod = _read(manifest)
    if not has_profiles:
        yield from _refusals(manifest, pod)
        yield from _never_bound(manifest, pod)


def pod_problems(manifest: Object) -> list[Diagnostic]:
    """What keeps a pod from being read (CP720)."""
    return list(problems_of(manifest.source, manifest.at, manifest.data))


def check_metadata(
    manifest: Object, release: Version, where: tuple[str, ...] = ("metadata",)
) -> Iterator[Diagnostic]:
    """Labels and annotations of a pod, or those that a profile gives to pods."""
    yield from unread_names(manifest, POD_NAMES, release, where)
    yield from _classes(manifest, manifest.texts(*where, "labels"), where)
    texts = manifest.texts(*where, "annotations")
    for key, check in _ANNOTATIONS.items():
        if key in texts and POD_NAMES[key].has(release):
            yield from check(manifest, (*where, "annotations", key), texts, release)


def _read(manifest: Object) -> Pod:
    """The pod with its defaults and the priority of its class, as the API server fills them in."""
    spec = manifest.data["spec"]
    name = spec.get("priorityClassName")
    if spec.get("priority") is None and isinstance(name, str) and name in qos.PRIORITIES:
        spec = {**spec, "priority": qos.PRIORITIES[name][0]}
    return apply_defaults(read_pod({**manifest.data, "spec": spec}), Gates())


def _refusals(manifest: Object, pod: Pod) -> Iterator[Diagnostic]:
    for problem in refusals(pod):
        yield manifest.finding(
            "CP641", _blamed(pod, problem), problem=problem, hint=_advice(problem)
        )


def _blamed(pod: Pod, problem: str) -> Field:
    if problem.startswith("pod.spec") and pod.containers:
        return ("spec", "containers")
    return ("metadata", "labels", constants.QOS) if constants.QOS in pod.labels else ("spec",)


def _advice(problem: str) -> str:
    if "cannot be used in combination" in problem:
        is_be = f"{constants.QOS}={qos.BE}" in problem
        return f"use priorityClassName: {qos.BATCH if is_be else qos.PROD}, or another class"
    if "colocation resources" in problem:
        return f"set the label {constants.QOS}: {qos.BE}, or request cpu and memory"
    return "request whole CPUs, such as cpu: 2, over all containers"


def _never_bound(manifest: Object, pod: Pod) -> Iterator[Diagnostic]:
    """LSE pods of another priority pass the webhook, and never get CPUs."""
    label, priority = qos.given_qos(pod), qos.priority_class_of(pod)
    if label == qos.LSE and priority != qos.PROD:
        problem = f"with priority class {priority} the pod gets no CPUs of its own, without a word"
        hint = f"use priorityClassName: {qos.PROD}"
        yield without_effect(
            manifest, ("metadata", "labels", constants.QOS), constants.QOS, label, problem, hint
        )


def without_effect(
    manifest: Object, field: Field, name: str, value: object, problem: str, hint: str
) -> Diagnostic:
    """CP645 for a value that passes, and is not what its reader knows."""
    return manifest.finding("CP645", field, name=name, value=value, problem=problem, hint=hint)


def _classes(
    manifest: Object, labels: Mapping[str, str], where: tuple[str, ...]
) -> Iterator[Diagnostic]:
    for key, known in (
        (constants.QOS, qos.CLASSES),
        (constants.PRIORITY_CLASS, tuple(qos.PRIORITIES)),
    ):
        value = labels.get(key, "")
        if value and value not in known:
            problem = "this is no class, and the pod is treated as if it had none"
            field = (*where, "labels", key)
            yield without_effect(manifest, field, key, value, problem, did_you_mean(value, known))


def _spec(
    manifest: Object, field: Field, texts: Mapping[str, str], release: Version
) -> Iterator[Diagnostic]:
    try:
        spec = read_resource_spec(texts)
    except KubeletError as error:
        yield unreadable(manifest, field, error, _SPEC_EXAMPLE)
        return
    yield from unread_fields(manifest, field, fields_of(texts[constants.RESOURCE_SPEC]), release)
    yield from _bind_policies(manifest, field, spec)
    yield from _exclusive_policy(manifest, field, spec)


def _bind_policies(manifest: Object, field: Field, spec: ResourceSpec) -> Iterator[Diagnostic]:
    for name, value in (
        ("requiredCPUBindPolicy", spec.required_bind_policy),
        ("preferredCPUBindPolicy", spec.preferred_bind_policy),
    ):
        if not value or value in BIND_POLICIES:
            continue
        problem = "this is no policy, and the pod gets no CPUs of its own"
        if value == annotations.CONSTRAINED_BURST:
            problem = "no release does anything with it, and the pod gets no CPUs of its own"
        hint = did_you_mean(value, BIND_POLICIES)
        yield without_effect(manifest, field, name, value, problem, hint)


def _exclusive_policy(manifest: Object, field: Field, spec: ResourceSpec) -> Iterator[Diagnostic]:
    value, name = spec.preferred_exclusive_policy, "preferredCPUExclusivePolicy"
    bind = spec.required_bind_policy or spec.preferred_bind_policy
    if value and value not in _EXCLUSIVE:
        problem = "this is no policy: the pod keeps off nobody"
        if value == annotations.DEFAULT:
            problem = "it is of the proposal only, and keeps off nobody"
        hint = did_you_mean(value, _EXCLUSIVE)
        yield without_effect(manifest, field, name, value, problem, hint)
    elif value == annotations.PCPU_LEVEL and bind in ("", *BIND_POLICIES[:2]):
        problem = "where whole cores are taken from one NUMA node, it is not looked at"
        hint = "use it with SpreadByPCPUs, or use NUMANodeLevel"
        yield without_effect(manifest, field, name, value, problem, hint)


def _numa_spec(
    manifest: Object, field: Field, texts: Mapping[str, str], release: Version
) -> Iterator[Diagnostic]:
    try:
        spec = read_numa_topology_spec(texts)
    except KubeletError as error:
        yield unreadable(manifest, field, error, _NUMA_EXAMPLE)
        return
    yield from unread_fields(
        manifest, field, fields_of(texts[constants.NUMA_TOPOLOGY_SPEC]), release
    )
    if spec.policy and spec.policy not in NUMA_POLICIES:
        yield manifest.finding(
            "CP643",
            field,
            key=f"numaTopologyPolicy in {constants.NUMA_TOPOLOGY_SPEC}",
            value=spec.policy,
            program="koord-scheduler",
            hint=f"for no policy leave it out; {did_you_mean(spec.policy, NUMA_POLICIES)}",
        )


def _status(
    manifest: Object, field: Field, texts: Mapping[str, str], release: Version
) -> Iterator[Diagnostic]:
    if manifest.is_live:
        return  # the scheduler's own
    try:
        status = read_resource_status(texts)
    except KubeletError as error:
        yield unreadable(manifest, field, error, '{"cpuset": "2-3"}')
        return
    yield from unread_fields(manifest, field, fields_of(texts[constants.RESOURCE_STATUS]), release)
    nodes = [node.node for node in status.numa_nodes]
    shown = status.cpuset or (f"of NUMA nodes {', '.join(map(str, nodes))}" if nodes else "")
    if shown:
        yield manifest.finding("CP647", field, cpus=shown, key=constants.RESOURCE_STATUS)


_ANNOTATIONS = {
    constants.RESOURCE_SPEC: _spec,
    constants.NUMA_TOPOLOGY_SPEC: _numa_spec,
    constants.RESOURCE_STATUS: _status,
}


def check_profile(manifest: Object, release: Version) -> Iterator[Diagnostic]:
    """A ClusterColocationProfile: what it gives to pods, as if they had it themselves."""
    yield from check_metadata(manifest, release, ("spec",))
    spec = manifest.texts("spec")
    label, priority = spec.get("qosClass", ""), spec.get("priorityClassName", "")
    if label and label not in qos.CLASSES:
        problem = "this is no class, and the pods are treated as if they had none"
        hint = did_you_mean(label, qos.CLASSES)
        yield without_effect(manifest, ("spec", "qosClass"), "qosClass", label, problem, hint)
    for problem in _combination(label, priority):
        hint = _advice(problem)
        yield manifest.finding("CP641", ("spec", "qosClass"), problem=problem, hint=hint)


def _combination(label: str, priority: str) -> Iterable[str]:
    """What is refused of every pod that has this class and priority class."""
    if priority not in qos.PRIORITIES:
        return ()
    pod = read_pod({"spec": {"priority": qos.PRIORITIES[priority][0]}})
    given = refusals(pod._replace(labels={constants.QOS: label}))
    return [problem for problem in given if "combination" in problem]
