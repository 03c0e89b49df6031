"""Pods from manifests: Pods, and workloads with as many pods as their controllers would make."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.kubelet.errors import KubeletError
from cpuplan.kubelet.pods.nodefit import EPHEMERAL_STORAGE
from cpuplan.kubelet.pods.pod import CPU, MEMORY, Pod, read_pod
from cpuplan.kubelet.quantity import parse
from cpuplan.source import Field, Source

#: The field with the pod's template, and the field that says how many pods (k8s.io/api apps/v1,
#: batch/v1).
_WORKLOADS: dict[str, tuple[Field, Field]] = {
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
_KINDS = ("Pod", "List", *_WORKLOADS)
#: Fields that are read beside the containers, and what they must be.
_SHAPES: tuple[tuple[Field, type, str], ...] = (
    (("metadata",), dict, "a mapping"),
    *((("metadata", name), str, "text") for name in ("name", "generateName", "namespace", "uid")),
    (("metadata", "annotations"), dict, "a mapping"),
    (("status",), dict, "a mapping"),
    (("status", "qosClass"), str, "text"),
    (("spec", "priority"), int, "a whole number"),
    (("spec", "runtimeClassName"), str, "text"),
)
#: Resources of which a container may use more than it requests; of all others exactly as much.
_OVERCOMMITTED = (CPU, MEMORY, EPHEMERAL_STORAGE)
#: Most pods of all manifests together.
MOST = 100_000
#: Objects with these names come along in many files and have no pods.
_DEFAULT_NAMESPACE = "default"


class Item(NamedTuple):
    """A pod, or the pod of a DaemonSet, of which each node gets its own."""

    pod: Pod
    on_each_node: bool = False


class _Reader(NamedTuple):
    """What is read so far."""

    items: list[Item]
    diagnostics: list[Diagnostic]
    others: list[str]
    used: set[str]


class Manifests(NamedTuple):
    """The pods in their order, what is wrong, and the kinds of objects that have no pods."""

    items: tuple[Item, ...]
    diagnostics: tuple[Diagnostic, ...]
    others: tuple[str, ...]


def read(sources: Iterable[Source]) -> Manifests:
    """The pods of all documents, in order."""
    reader = _Reader([], [], [], set())
    for source in sources:
        _read_object(reader, source, (), source.data)
    return Manifests(
        tuple(reader.items), tuple(reader.diagnostics), tuple(dict.fromkeys(reader.others))
    )


def _read_object(reader: _Reader, source: Source, at: Field, data: Any) -> None:
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str):
        reader.diagnostics.append(_problem(source, at, "has no kind"))
    elif kind == "List" or (kind.endswith("List") and isinstance(data.get("items"), list)):
        listed = data.get("items") or []
        if not isinstance(listed, list):
            reader.diagnostics.append(
                _problem(source, (*at, "items"), "has items that are not a list")
            )
            return
        for index, item in enumerate(listed):
            whole = isinstance(item, dict) and "kind" not in item and kind != "List"
            given = {**item, "kind": kind.removesuffix("List")} if whole else item
            _read_object(reader, source, (*at, "items", index), given)
    elif kind == "Pod":
        _add(reader, source, at, data, [_full_name(data)])
    elif kind in _WORKLOADS:
        _read_workload(reader, source, at, kind, data)
    else:
        reader.others.append(kind)


def _read_workload(reader: _Reader, source: Source, at: Field, kind: str, data: Any) -> None:
    if problems := list(_shape_problems(source, at, data)):
        reader.diagnostics.extend(problems)
        return
    template_at, count_at = _WORKLOADS[kind]
    template = _value(data, template_at)
    count = _value(data, count_at) if count_at else None
    count = 1 if count is None else count
    if kind in ("Job", "CronJob"):
        completions = _value(data, (*count_at[:-1], "completions"))
        if isinstance(completions, int) and isinstance(count, int):
            count = min(count, completions)
    if not isinstance(template, dict):
        reader.diagnostics.append(_problem(source, at, f"has no {'.'.join(map(str, template_at))}"))
    elif (
        not isinstance(count, int)
        or isinstance(count, bool)
        or not 0 <= count <= MOST - len(reader.items)
    ):
        field = ".".join(map(str, count_at))
        problem = f"{field} is {count!r}, not a number from 0 to {MOST:,} (of all pods together)"
        reader.diagnostics.append(_problem(source, (*at, *count_at), problem))
    else:
        first = 0 if kind == "StatefulSet" else 1
        name = _full_name(data)
        names = (
            [name]
            if kind == "DaemonSet"
            else [f"{name}-{number}" for number in range(first, first + count)]
        )
        _add(reader, source, (*at, *template_at), template, names, on_each_node=kind == "DaemonSet")


def _add(
    reader: _Reader,
    source: Source,
    at: Field,
    manifest: Any,
    names: Iterable[str],
    *,
    on_each_node: bool = False,
) -> None:
    """The pods of a manifest or template, if it is right."""
    problems = list(_problems(source, at, manifest))
    reader.diagnostics.extend(problems)
    if problems:
        return
    pod = read_pod(manifest)
    for name in names:
        if name in reader.used:
            reader.diagnostics.append(_problem(source, at, f"is the second pod {name}"))
            return
        reader.used.add(name)
        namespace, _, short = name.partition("/")
        reader.items.append(
            Item(pod._replace(uid=name, name=short, namespace=namespace), on_each_node)
        )


def _full_name(data: Any) -> str:
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name") or metadata.get("generateName") or data["kind"].lower()
    return f"{metadata.get('namespace') or _DEFAULT_NAMESPACE}/{name}"


def _problems(source: Source, at: Field, manifest: Any) -> Iterator[Diagnostic]:
    """What keeps a pod from being read, at its place."""
    yield from _shape_problems(source, at, manifest)
    spec = manifest.get("spec")
    if (
        not isinstance(spec, dict)
        or not isinstance(spec.get("containers"), list)
        or not spec["containers"]
    ):
        yield _problem(source, (*at, "spec"), "has no spec.containers")
        return
    names = set()
    for group in ("initContainers", "containers"):
        listed = spec.get(group) or []
        if not isinstance(listed, list):
            yield _problem(source, (*at, "spec", group), f"{group} is not a list")
            continue
        for index, container in enumerate(listed):
            place = (*at, "spec", group, index)
            if not isinstance(container, dict) or not isinstance(container.get("name"), str):
                yield _problem(source, place, "has a container without a name")
                continue
            if container["name"] in names:
                yield _problem(source, place, f"has two containers {container['name']}")
            names.add(container["name"])
            yield from _env_problems(source, (*place, "env"), container.get("env"))
            yield from _resource_problems(source, (*place, "resources"), container.get("resources"))
    yield from _resource_problems(source, (*at, "spec", "resources"), spec.get("resources"))
    yield from _quantity_problems(source, (*at, "spec", "overhead"), spec.get("overhead"))


def _shape_problems(source: Source, at: Field, manifest: Any) -> Iterator[Diagnostic]:
    """Fields that are of another type than the API server takes."""
    for field, kind, name in _SHAPES:
        value = _value(manifest, field)
        if value is not None and not (isinstance(value, kind) and not isinstance(value, bool)):
            yield _problem(
                source, (*at, *field), f"has {'.'.join(map(str, field))} that is not {name}"
            )
    annotations = _value(manifest, ("metadata", "annotations"))
    for key, value in annotations.items() if isinstance(annotations, dict) else ():
        if not isinstance(value, str):
            place = (*at, "metadata", "annotations", key)
            yield _problem(source, place, f"has the annotation {key} that is not text: quote it")


def _env_problems(source: Source, at: Field, given: Any) -> Iterator[Diagnostic]:
    if given is not None and not isinstance(given, list):
        yield _problem(source, at, "env is not a list")
        return
    for index, variable in enumerate(given or ()):
        name = variable.get("name") if isinstance(variable, dict) else None
        if not isinstance(name, str):
            yield _problem(source, (*at, index), "has a variable without a name")
        elif not isinstance(variable.get("value") or "", str):
            problem = f"has a variable {name} that is not text: quote it"
            yield _problem(source, (*at, index, "value"), problem)


def _resource_problems(source: Source, at: Field, resources: Any) -> Iterator[Diagnostic]:
    if resources is None:
        return
    if not isinstance(resources, dict):
        yield _problem(source, at, "resources is not a mapping")
        return
    problems = [
        problem
        for column in ("requests", "limits")
        for problem in _quantity_problems(source, (*at, column), resources.get(column))
    ]
    yield from problems or _limit_problems(source, at, resources)


def _limit_problems(source: Source, at: Field, resources: Any) -> Iterator[Diagnostic]:
    """Requests that the API server refuses beside their limits (ValidateResourceRequirements)."""
    limits = resources.get("limits") or {}
    for name, amount in (resources.get("requests") or {}).items():
        limit = limits.get(name)
        place = (*at, "requests", name)
        if name in _OVERCOMMITTED:
            if limit is not None and parse(str(amount)).nano > parse(str(limit)).nano:
                yield _problem(source, place, f"requests {name} {amount}, but its limit is {limit}")
        elif limit is None or parse(str(amount)).nano != parse(str(limit)).nano:
            shown = "there is none" if limit is None else f"it is {limit}"
            problem = f"requests {name} {amount}, so its limit must be the same, but {shown}"
            yield _problem(source, place, problem)


def _quantity_problems(source: Source, at: Field, given: Any) -> Iterator[Diagnostic]:
    if given is not None and not isinstance(given, dict):
        yield _problem(source, at, f"{at[-1]} is not a mapping")
        return
    for name, text in (given or {}).items():
        try:
            if isinstance(text, bool | dict | list) or parse(str(text)).nano < 0:
                yield _problem(
                    source,
                    (*at, name),
                    f"{at[-1]} {name} is {text!r}, which is not a valid quantity",
                )
        except KubeletError:
            yield _problem(
                source, (*at, name), f"{at[-1]} {name} is {text!r}, which is not a valid quantity"
            )


def _problem(source: Source, at: Field, problem: str) -> Diagnostic:
    kinds = f"{', '.join(_KINDS[:-1])} or {_KINDS[-1]}"
    return diagnose("CP720", source.value_at(at), problem=problem, kinds=kinds)


def _value(data: Any, field: Field) -> Any:
    for name in field:
        data = data.get(name) if isinstance(data, dict) else None
    return data
