"""What is wrong with the manifest of a pod, or of a workload that has the template of one."""

import re
from collections.abc import Container, Iterator
from typing import Any, NamedTuple, Protocol

from cpuplan.base import naming
from cpuplan.base.text import clip
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Position
from cpuplan.language.read import machines
from cpuplan.language.read.machines import group_of
from cpuplan.upstream.crio.releases import HOOKS
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.fit import EPHEMERAL_STORAGE
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY
from cpuplan.upstream.kubernetes.quantity import parse
from cpuplan.upstream.openshift.managed import RESOURCES, TARGET

#: The field with the pod's template, and the field that says how many pods (k8s.io/api apps/v1,
#: batch/v1).
CONTROLLERS: dict[str, tuple[Field, Field]] = {
    "Deployment": (("spec", "template"), ("spec", "replicas")),
    "ReplicaSet": (("spec", "template"), ("spec", "replicas")),
    "ReplicationController": (("spec", "template"), ("spec", "replicas")),
    "StatefulSet": (("spec", "template"), ("spec", "replicas")),
    "DaemonSet": (("spec", "template"), ()),
    "Job": (("spec", "template"), ("spec", "parallelism")),
    "CronJob": (
        ("spec", "jobTemplate", "spec", "template"),
        ("spec", "jobTemplate", "spec", "parallelism"),
    ),
}
KINDS = ("Pod", "List", *CONTROLLERS)
#: Of objects that name none.
DEFAULT_NAMESPACE = "default"
_TEXTS_OF_SPEC = (
    "nodeName",
    "priorityClassName",
    "restartPolicy",
    "runtimeClassName",
    "schedulerName",
)
#: Fields that are read beside the containers, and what they must be.
_SHAPES: tuple[tuple[Field, type, str], ...] = (
    (("metadata",), dict, "a mapping"),
    *((("metadata", name), str, "text") for name in ("name", "generateName", "namespace", "uid")),
    *((("metadata", name), dict, "a mapping") for name in ("labels", "annotations")),
    *((("metadata", name), list, "a list") for name in ("finalizers", "ownerReferences")),
    (("status",), dict, "a mapping"),
    (("status", "qosClass"), str, "text"),
    (("spec", "priority"), int, "a whole number"),
    *((("spec", name), str, "text") for name in _TEXTS_OF_SPEC),
)
#: Resources of which a container may use more than it requests; of all others exactly as much.
_OVERCOMMITTED = (CPU, MEMORY, EPHEMERAL_STORAGE)


class Places(Protocol):
    """Finds the places of values in a manifest."""

    def value_at(self, field: Field) -> Position | None: ...


class Template(NamedTuple):
    """Pods of an object of a kind that is not Kubernetes' own, as its template is written.

    `label` tells them from those of its other templates. `count` is of whatever type is written;
    `count_at` is the field that says it, or () where none does.
    """

    at: Field
    label: str
    count: Any
    count_at: Field


#: Groups of Kubernetes itself beside those that end in .k8s.io; x-k8s.io is of its subprojects.
_OWN_GROUPS = ("", "apps", "autoscaling", "batch", "extensions", "policy")
#: A group that looks like one of Kubernetes, and is of others.
_LOOK_OWN = ("sparkoperator.k8s.io",)
#: Groups whose objects make no pods: what looks like a template there is a pattern of a policy.
_WITHOUT_PODS = re.compile(r"kyverno|gatekeeper\.sh|cpuplan\.io")
_TEMPLATE = re.compile(r"([a-z]+T|t)emplate(Spec)?")
#: The fields beside or above a template whose product is the number of its pods: of most kinds,
#: of JobSet's jobs, of KubeRay's groups (minReplicas where replicas is left out).
_COUNTS = ("replicas", "parallelism", "numOfHosts")
#: Mappings of an object that are looked at. Those of RayCluster have below a hundred.
_MOST_MAPPINGS = 20_000


def is_controller(manifest: Any) -> bool:
    """Whether an object is a workload of Kubernetes; Volcano's Job, too, is of kind Job."""
    kind = manifest.get("kind")
    if kind not in CONTROLLERS:
        return False
    is_own = group_of(manifest) in _OWN_GROUPS
    return is_own or isinstance(value_of(manifest, CONTROLLERS[kind][0]), dict)


def templates_in(manifest: Any) -> list[Template]:
    """The templates of pods in an object of a kind that is not Kubernetes' own, in their order.

    Any mapping called a template that has spec.containers, wherever it stands.
    """
    if not _may_have_pods(manifest):
        return []
    templates: list[Template] = []
    labels: set[str] = set()
    for field, data, counts in _mappings(manifest):
        if not _is_template(field, data):
            continue
        label = _label_of(manifest, field)
        if label in labels:
            label = f"{label or 'template'}-{len(labels)}"
        labels.add(label)
        count, count_at = _count_of(manifest, field, counts)
        templates.append(Template(field, label, count, count_at))
    return templates


def _may_have_pods(manifest: Any) -> bool:
    group = group_of(manifest)
    is_own = group in _OWN_GROUPS or group.endswith(".k8s.io")
    is_own = is_own and group not in _LOOK_OWN
    return not is_own and not _WITHOUT_PODS.search(group)


def _is_template(field: Field, data: Any) -> bool:
    name = field[-1] if field else ""
    containers = value_of(data, ("spec", "containers"))
    is_named = isinstance(name, str) and bool(_TEMPLATE.fullmatch(name))
    return is_named and isinstance(containers, list) and bool(containers)


def _mappings(manifest: Any) -> Iterator[tuple[Field, Any, tuple[Field, ...]]]:
    """The mappings of an object but those in templates, and the counts that stand above each."""
    start = {key: value for key, value in manifest.items() if key not in ("metadata", "status")}
    left: list[tuple[Field, Any, tuple[Field, ...]]] = [((), start, ())]
    seen = 0
    while left and seen < _MOST_MAPPINGS:
        field, data, counts = left.pop()
        if isinstance(data, dict):
            seen += 1
            yield field, data, counts
            if _is_template(field, data):
                continue
            counts += tuple((*field, key) for key in _COUNTS if data.get(key) is not None)
            if "replicas" not in data and data.get("minReplicas") is not None:
                counts += ((*field, "minReplicas"),)
        keyed = dict(enumerate(data)) if isinstance(data, list) else data
        below = [
            ((*field, key), value, counts)
            for key, value in keyed.items()
            if isinstance(key, str | int) and isinstance(value, dict | list)
        ]
        left += reversed(below)


def _label_of(manifest: Any, field: Field) -> str:
    """What the object calls the part whose template stands there, in the letters of a name."""
    while field and field[-1] in ("template", "spec"):
        field = field[:-1]
    part = part_of(manifest, field)
    named = [part.get(key) for key in ("name", "groupName")] if isinstance(part, dict) else []
    of_key = str(field[-1]) if field else ""
    label = next((text for text in named if isinstance(text, str)), of_key)
    return re.sub(r"[^a-z0-9]+", "-", label.lower())


def _count_of(manifest: Any, field: Field, counts: tuple[Field, ...]) -> tuple[Any, Field]:
    """How many pods a template makes, and the field that says it: the first that is no number."""
    product = 1
    for at in counts:
        count = part_of(manifest, at)
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            return count, at
        product *= count
    beside = part_of(manifest, field[:-1])
    size = beside.get("size") if field[-2:-1] == ("leaderWorkerTemplate",) else None
    if isinstance(size, int) and not isinstance(size, bool):
        # The leader is one of the group, by the workers' template where it has none of its own.
        has_leader = isinstance(beside.get("leaderTemplate"), dict)
        if field[-1] == "workerTemplate":
            product *= size - 1 if has_leader else size
    return product, counts[-1] if counts else ()


def part_of(data: Any, field: Field) -> Any:
    """The value of a field that goes through lists, too; None where there is none."""
    for key in field:
        if isinstance(data, list) and isinstance(key, int) and key < len(data):
            data = data[key]
        else:
            data = data.get(key) if isinstance(data, dict) else None
    return data


def unread_of(manifest: Any) -> str:
    """Why the pods of an object are not simulated; empty where nothing says that it has any.

    It runs a pod for a time, has containers outside a template, or asks for CPUs.
    """
    if machines.is_machine(manifest):
        return machines.why_no_pod(manifest)
    if group_of(manifest).endswith(machines.GROUP):
        return machines.passing_pod(manifest)
    if not _may_have_pods(manifest):
        return ""
    seen = 0
    for field, data, _ in _mappings(manifest):
        seen += 1
        if _is_template(field, data):
            continue
        if isinstance(data.get("containers"), list) or isinstance(data.get("container"), dict):
            return "it has containers, but not as the template of a pod"
        # The driver and the executors of a SparkApplication.
        if len(field) > 1 and isinstance(data.get("cores"), int) and "memory" in data:
            return "it asks for cores, and what pods its controller makes is not known"
        amounts = [data.get(key) for key in ("requests", "limits")]
        # Limits of the object itself bound others, such as the nodes of a Karpenter NodePool.
        if len(field) > 1 and any(isinstance(given, dict) and CPU in given for given in amounts):
            return "it asks for CPUs, and what pods its controller makes is not known"
    return "it is too large to be searched for pods" if seen >= _MOST_MAPPINGS else ""


def template_of(manifest: Any) -> tuple[Field, Any] | None:
    """The place and content of a pod, or of the only template of a workload's pods."""
    if not isinstance(manifest, dict):
        return None
    kind = str(manifest.get("kind"))
    if kind == "Pod":
        return (), manifest
    if machines.is_machine(manifest):
        return _pod_of_machine(manifest)
    if not is_controller(manifest):
        templates = templates_in(manifest)
        field = templates[0].at if len(templates) == 1 else ()
        return (field, part_of(manifest, field)) if field else None
    field, _ = CONTROLLERS[kind]
    template = value_of(manifest, field)
    return (field, template) if isinstance(template, dict) else None


def _pod_of_machine(manifest: Any) -> tuple[Field, Any] | None:
    """The pod of virt-launcher, in the place of the instance; None of a machine that is refused."""
    try:
        machine = machines.read_machine(manifest)
    except machines.MissingTypeError:
        return None
    return None if isinstance(machine, list) else (machine.at, machine.pod)


class _Nowhere:
    """The places of a manifest of which only is asked whether it is right."""

    def value_at(self, _field: Field) -> Position | None:
        return None


def sound_template(manifest: Any) -> tuple[Field, Any] | None:
    """The same where nothing keeps the pod from being read."""
    template = template_of(manifest)
    return None if template is None or any(problems_of(_Nowhere(), *template)) else template


def problems_of(source: Places, at: Field, manifest: Any) -> Iterator[Diagnostic]:
    """What keeps a pod from being read, at its place."""
    yield from shape_problems(source, at, manifest)
    spec = manifest.get("spec")
    if (
        not isinstance(spec, dict)
        or not isinstance(spec.get("containers"), list)
        or not spec["containers"]
    ):
        yield problem_of(source, (*at, "spec"), "has no spec.containers")
        return
    names = set()
    for group in ("initContainers", "containers"):
        listed = spec.get(group) or []
        if not isinstance(listed, list):
            yield problem_of(source, (*at, "spec", group), f"{group} is not a list")
            continue
        for index, container in enumerate(listed):
            place = (*at, "spec", group, index)
            if not isinstance(container, dict) or not isinstance(container.get("name"), str):
                yield problem_of(source, place, "has a container without a name")
                continue
            if container["name"] in names:
                yield problem_of(source, place, f"has two containers {container['name']}")
            names.add(container["name"])
            yield from _env_problems(source, (*place, "env"), container.get("env"))
            yield from _resource_problems(source, (*place, "resources"), container.get("resources"))
    yield from _claim_problems(source, (*at, "spec"), spec)
    yield from _resource_problems(source, (*at, "spec", "resources"), spec.get("resources"))
    yield from _quantity_problems(source, (*at, "spec", "overhead"), spec.get("overhead"))


#: How annotations begin that decide about the CPUs of a pod.
_OF_PODS = (*HOOKS, TARGET, RESOURCES)


def misplaced(source: Places, at: Field, manifest: Any, template: Field) -> Iterator[Diagnostic]:
    """CP7343: annotations about CPUs beside `annotations`, or on the workload and not its pods."""
    right: Field = (*template, "metadata", "annotations")
    given = part_of(manifest, right)
    given = given if isinstance(given, dict) else {}
    for field in _keys_of_pods(manifest):
        *place, name = field
        if tuple(place) == right or (field[:-1] == _OF_OBJECT and name in given):
            continue
        yield diagnose(
            "CP7343",
            source.value_at((*at, *field)),
            name=name,
            place=".".join(map(str, place)),
            right=".".join(map(str, right)),
        )


_OF_OBJECT: Field = ("metadata", "annotations")


def _keys_of_pods(manifest: Any) -> Iterator[Field]:
    """The fields whose last key is that of an annotation about CPUs."""
    left: list[tuple[Field, Any]] = [((), manifest)]
    while left:
        field, data = left.pop()
        keyed = dict(enumerate(data)) if isinstance(data, list) else data
        for key, value in keyed.items() if isinstance(keyed, dict) else ():
            if isinstance(key, str) and key.startswith(_OF_PODS):
                yield (*field, key)
            elif isinstance(key, str | int):
                left.append(((*field, key), value))


def shape_problems(source: Places, at: Field, manifest: Any) -> Iterator[Diagnostic]:
    """Fields that are of another type than the API server takes."""
    for field, kind, name in _SHAPES:
        value = value_of(manifest, field)
        if value is not None and not (isinstance(value, kind) and not isinstance(value, bool)):
            yield problem_of(
                source, (*at, *field), f"has {'.'.join(map(str, field))} that is not {name}"
            )
    metadata = manifest.get("metadata")
    if isinstance(metadata, dict):
        yield from _name_problems(source, (*at, "metadata"), metadata)
        yield from metadata_problems(source, (*at, "metadata"), metadata)


def _name_problems(source: Places, at: Field, metadata: dict[str, Any]) -> Iterator[Diagnostic]:
    """Names that the API server refuses (ValidateObjectMeta)."""
    rules = (
        ("name", naming.is_subdomain, "the name of an object: lower-case letters, digits, dashes"),
        ("namespace", naming.is_namespace, "the name of a namespace"),
    )
    for key, is_valid, rule in rules:
        name = metadata.get(key)
        if isinstance(name, str) and name and not is_valid(name):
            yield problem_of(source, (*at, key), f"has the {key} {name!r}, which is not {rule}")


def metadata_problems(source: Places, at: Field, metadata: Any) -> Iterator[Diagnostic]:
    """Labels and annotations that the API server refuses, of an object or of what others get."""
    for group, title in (("labels", "label"), ("annotations", "annotation")):
        entries = value_of(metadata, (group,))
        for key, value in entries.items() if isinstance(entries, dict) else ():
            place = (*at, group, key)
            # Of annotations only, the case of letters does not count.
            if not naming.is_label_key(key if group == "labels" else key.lower()):
                yield problem_of(source, place, f"has the {title} {key!r}, which is no key of one")
            elif not isinstance(value, str):
                yield problem_of(source, place, f"has the {title} {key} that is not text: quote it")
            elif group == "labels" and not naming.is_label_value(value):
                problem = f"has the label {key} with {clip(value)!r}, which is no value of one"
                yield problem_of(source, place, problem)


def _claim_problems(source: Places, at: Field, spec: Any) -> Iterator[Diagnostic]:
    """Claims that have no name, and claims of containers that the pod does not have."""
    names = {}
    listed = spec.get("resourceClaims") or []
    if not isinstance(listed, list):
        yield problem_of(source, (*at, "resourceClaims"), "resourceClaims is not a list")
        return
    for index, claim in enumerate(listed):
        place = (*at, "resourceClaims", index)
        if not isinstance(claim, dict) or not isinstance(claim.get("name"), str):
            yield problem_of(source, place, "has a claim without a name")
            continue
        objects = [claim.get(key) for key in ("resourceClaimName", "resourceClaimTemplateName")]
        if [isinstance(name, str) for name in objects].count(True) != 1:
            yield problem_of(
                source, place, f"claim {claim['name']} names no object or template, or both"
            )
        names[claim["name"]] = True
    for group in ("initContainers", "containers"):
        containers = spec.get(group)
        for index, container in enumerate(containers if isinstance(containers, list) else ()):
            place = (*at, group, index, "resources", "claims")
            yield from _used_problems(source, place, container, names)


def _used_problems(
    source: Places, at: Field, container: Any, names: Container[str]
) -> Iterator[Diagnostic]:
    used = value_of(container, ("resources", "claims")) or []
    if not isinstance(used, list):
        yield problem_of(source, at, "claims is not a list")
        return
    for index, claim in enumerate(used):
        name = claim.get("name") if isinstance(claim, dict) else None
        if not isinstance(name, str) or name not in names:
            problem = f"uses claim {name}, which is not in resourceClaims of the pod"
            yield problem_of(source, (*at, index), problem)


def _env_problems(source: Places, at: Field, given: Any) -> Iterator[Diagnostic]:
    if given is not None and not isinstance(given, list):
        yield problem_of(source, at, "env is not a list")
        return
    for index, variable in enumerate(given or ()):
        name = variable.get("name") if isinstance(variable, dict) else None
        if not isinstance(name, str):
            yield problem_of(source, (*at, index), "has a variable without a name")
        elif not isinstance(variable.get("value") or "", str):
            problem = f"has a variable {name} that is not text: quote it"
            yield problem_of(source, (*at, index, "value"), problem)


def _resource_problems(source: Places, at: Field, resources: Any) -> Iterator[Diagnostic]:
    if resources is None:
        return
    if not isinstance(resources, dict):
        yield problem_of(source, at, "resources is not a mapping")
        return
    problems = [
        problem
        for column in ("requests", "limits")
        for problem in _quantity_problems(source, (*at, column), resources.get(column))
    ]
    yield from problems or _limit_problems(source, at, resources)


def _limit_problems(source: Places, at: Field, resources: Any) -> Iterator[Diagnostic]:
    """Requests that the API server refuses beside their limits (ValidateResourceRequirements)."""
    limits = resources.get("limits") or {}
    for name, amount in (resources.get("requests") or {}).items():
        limit = limits.get(name)
        place = (*at, "requests", name)
        if name in _OVERCOMMITTED:
            if limit is not None and parse(str(amount)).nano > parse(str(limit)).nano:
                yield problem_of(
                    source, place, f"requests {name} {amount}, but its limit is {limit}"
                )
        elif limit is None or parse(str(amount)).nano != parse(str(limit)).nano:
            shown = "there is none" if limit is None else f"it is {limit}"
            problem = f"requests {name} {amount}, so its limit must be the same, but {shown}"
            yield problem_of(source, place, problem)


def _quantity_problems(source: Places, at: Field, given: Any) -> Iterator[Diagnostic]:
    if given is not None and not isinstance(given, dict):
        yield problem_of(source, at, f"{at[-1]} is not a mapping")
        return
    for name, text in (given or {}).items():
        try:
            is_valid = not isinstance(text, bool | dict | list) and parse(str(text)).nano >= 0
        except KubeletError:
            is_valid = False
        if not is_valid:
            problem = f"{at[-1]} {name} is {text!r}, which is not a valid quantity"
            yield problem_of(source, (*at, name), problem)


def problem_of(source: Places, at: Field, problem: str) -> Diagnostic:
    kinds = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"
    return diagnose("CP720", source.value_at(at), problem=problem, kinds=kinds)


def value_of(data: Any, field: Field) -> Any:
    for name in field:
        data = data.get(name) if isinstance(data, dict) else None
    return data
