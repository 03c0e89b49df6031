"""Pods from manifests: Pods, and workloads with as many pods as their controllers would make.

With them come ResourceClaims, their templates and DeviceClasses (resource.k8s.io). Pods get their
defaults as the API server stores them.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuplan.base.text import counted
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Position, Source
from cpuplan.language.read.pods import (
    CONTROLLERS,
    DEFAULT_NAMESPACE,
    is_controller,
    misplaced,
    part_of,
    problem_of,
    problems_of,
    shape_problems,
    templates_in,
    unread_of,
    value_of,
)
from cpuplan.simulate.apiserver import Surroundings
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod, apply_defaults, read_pod

if TYPE_CHECKING:
    from cpuplan.simulate.claim_objects import Objects


def with_defaults(pod: Pod, gates: Gates) -> Pod:
    """The pod with its defaults."""
    return apply_defaults(pod, gates)


#: The code of objects that may have pods and are not simulated: nothing is proven beside them.
NOT_SIMULATED = "CP7460"
#: Most pods of all manifests together.
MOST = 100_000


class Item(NamedTuple):
    """A pod, or the pod of a DaemonSet, of which each node gets its own.

    `source` and `at` are where its manifest or template stands; without a source, in no file.
    """

    pod: Pod
    on_each_node: bool = False
    source: Source | None = None
    at: Field = ()

    def place(self, container: str = "") -> Position | None:
        """Where the pod, or a container of it, stands."""
        if self.source is None:
            return None
        spec: Any = self.source.data
        for name in (*self.at, "spec"):
            spec = spec[name]
        for group in ("initContainers", "containers") if container else ():
            for index, given in enumerate(spec.get(group) or ()):
                if given["name"] == container:
                    return self.source.value_at((*self.at, "spec", group, index, "name"))
        return self.source.key_at((*self.at, "spec"))

    @property
    def runtime_class(self) -> Position | None:
        """Where the pod names its RuntimeClass."""
        if self.source is None:
            return None
        return self.source.value_at((*self.at, "spec", "runtimeClassName"))

    def annotation(self, name: str) -> Position | None:
        """Where an annotation of the pod stands."""
        if self.source is None:
            return None
        return self.source.key_at((*self.at, "metadata", "annotations", name))


class _Reader(NamedTuple):
    """What is read so far."""

    items: list[Item]
    diagnostics: list[Diagnostic]
    others: list[str]
    used: set[str]
    objects: "Objects | None"
    namespaces: dict[str, Mapping[str, str]]
    handlers: dict[str, str]


class Manifests(NamedTuple):
    """The pods in their order, what is wrong, and the kinds of objects that have no pods.

    `around` are the objects that pods refer to, whatever the cluster.
    """

    items: tuple[Item, ...]
    diagnostics: tuple[Diagnostic, ...]
    others: tuple[str, ...]
    around: Surroundings = Surroundings()


def read(sources: Iterable[Source], *, with_claims: bool = False) -> Manifests:
    """The pods of all documents, in order; `with_claims`: also what their claims ask for."""
    reader = _Reader([], [], [], set(), _no_objects() if with_claims else None, {}, {})
    for source in sources:
        _read_object(reader, source, (), source.data)
    items = reader.items
    if reader.objects:
        items = [item._replace(pod=reader.objects.resolve(item.pod)) for item in items]
    around = Surroundings(reader.namespaces, reader.handlers)
    others = tuple(dict.fromkeys(reader.others))
    return Manifests(tuple(items), tuple(reader.diagnostics), others, around)


def _no_objects() -> "Objects":
    from cpuplan.simulate.claim_objects import Objects  # of few nodes

    return Objects({}, {})


def _read_object(reader: _Reader, source: Source, at: Field, data: Any) -> None:
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str):
        reader.diagnostics.append(problem_of(source, at, "has no kind"))
    elif kind == "List" or (kind.endswith("List") and isinstance(data.get("items"), list)):
        listed = data.get("items") or []
        if not isinstance(listed, list):
            reader.diagnostics.append(
                problem_of(source, (*at, "items"), "has items that are not a list")
            )
            return
        for index, item in enumerate(listed):
            whole = isinstance(item, dict) and "kind" not in item and kind != "List"
            given = {**item, "kind": kind.removesuffix("List")} if whole else item
            _read_object(reader, source, (*at, "items", index), given)
    elif kind == "Pod":
        _add(reader, source, at, data, [_full_name(data)])
        reader.diagnostics.extend(misplaced(source, at, data, ()))
    elif is_controller(data):
        _read_workload(reader, source, at, kind, data)
        reader.diagnostics.extend(misplaced(source, at, data, CONTROLLERS[kind][0]))
    elif reader.objects and kind in reader.objects.kinds:
        reader.diagnostics.extend(reader.objects.read(source, at, data))
    else:
        reader.others.append(kind)
        _read_surroundings(reader, kind, data)
        _read_templates(reader, source, at, data)


def _read_surroundings(reader: _Reader, kind: str, data: Any) -> None:
    """Annotations of a Namespace, and the handler of a RuntimeClass, as far as they are text."""
    name = value_of(data, ("metadata", "name"))
    if not isinstance(name, str):
        return
    if kind == "Namespace":
        given = value_of(data, ("metadata", "annotations"))
        pairs = given.items() if isinstance(given, dict) else ()
        reader.namespaces[name] = {key: text for key, text in pairs if isinstance(text, str)}
    elif kind == "RuntimeClass" and isinstance(data.get("handler"), str):
        reader.handlers[name] = data["handler"]


def _read_workload(reader: _Reader, source: Source, at: Field, kind: str, data: Any) -> None:
    if problems := list(shape_problems(source, at, data)):
        reader.diagnostics.extend(problems)
        return
    template_at, count_at = CONTROLLERS[kind]
    template = value_of(data, template_at)
    count = value_of(data, count_at) if count_at else None
    count = 1 if count is None else count
    if kind in ("Job", "CronJob"):
        completions = value_of(data, (*count_at[:-1], "completions"))
        if isinstance(completions, int) and isinstance(count, int):
            count = min(count, completions)
    if not isinstance(template, dict):
        reader.diagnostics.append(
            problem_of(source, at, f"has no {'.'.join(map(str, template_at))}")
        )
    elif (
        not isinstance(count, int)
        or isinstance(count, bool)
        or not 0 <= count <= MOST - len(reader.items)
    ):
        field = ".".join(map(str, count_at))
        problem = f"{field} is {count!r}, not a number from 0 to {MOST:,} (of all pods together)"
        reader.diagnostics.append(problem_of(source, (*at, *count_at), problem))
    else:
        first = 0 if kind == "StatefulSet" else 1
        name = _full_name(data)
        names = (
            [name]
            if kind == "DaemonSet"
            else [f"{name}-{number}" for number in range(first, first + count)]
        )
        _add(reader, source, (*at, *template_at), template, names, on_each_node=kind == "DaemonSet")


def _read_templates(reader: _Reader, source: Source, at: Field, data: Any) -> None:
    """Pods of an object of a kind that is not Kubernetes' own, and whether it may have others."""
    templates = templates_in(data)
    why = unread_of(data)
    if not templates and not why:
        return
    if problems := list(shape_problems(source, at, data)):
        reader.diagnostics.extend(problems)
        return
    name, place = _full_name(data), source.value_at((*at, "kind"))
    title = f"{data['kind']} {name.removeprefix(f'{DEFAULT_NAMESPACE}/')}"
    if why:
        reader.diagnostics.append(diagnose(NOT_SIMULATED, place, object=title, why=why))
    for template in templates:
        count, field = template.count, ".".join(map(str, template.count_at))
        if not isinstance(count, int) or not 0 <= count <= MOST - len(reader.items):
            problem = f"{field} is {count!r}, not a number from 0 to {MOST:,} (of all pods)"
            wrong = (*at, *(template.count_at or template.at))
            reader.diagnostics.append(problem_of(source, wrong, problem))
            continue
        prefix = f"{name}-{template.label}" if template.label else name
        names = [f"{prefix}-{number}" for number in range(1, count + 1)]
        _add(reader, source, (*at, *template.at), part_of(data, template.at), names)
        pods, field = counted(count, "pod"), ".".join(map(str, template.at))
        where = source.key_at((*at, *template.at))
        reader.diagnostics.append(diagnose("CP7461", where, object=title, pods=pods, field=field))
    if len(templates) == 1:
        reader.diagnostics.extend(misplaced(source, at, data, templates[0].at))


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
    problems = list(problems_of(source, at, manifest))
    reader.diagnostics.extend(problems)
    if problems:
        return
    pod = read_pod(manifest)
    for name in names:
        if name in reader.used:
            reader.diagnostics.append(problem_of(source, at, f"is the second pod {name}"))
            return
        reader.used.add(name)
        namespace, _, short = name.partition("/")
        reader.items.append(
            Item(pod._replace(uid=name, name=short, namespace=namespace), on_each_node, source, at)
        )


def _full_name(data: Any) -> str:
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name") or metadata.get("generateName") or data["kind"].lower()
    return f"{metadata.get('namespace') or DEFAULT_NAMESPACE}/{name}"
