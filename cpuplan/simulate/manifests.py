"""Pods from manifests: Pods, and workloads with as many pods as their controllers would make.

With them come ResourceClaims, their templates and DeviceClasses (resource.k8s.io). Pods get their
defaults as the API server stores them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuplan.base.text import counted, listed
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Position, Source
from cpuplan.language.read.machines import (
    Known,
    Machine,
    MissingTypeError,
    cpus_in_words,
    instance_at,
    is_machine,
    known_in,
    read_machine,
)
from cpuplan.language.read.pods import (
    CONTROLLERS,
    DEFAULT_NAMESPACE,
    Template,
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
from cpuplan.upstream.kubernetes.pod import CPU, Pod, apply_defaults, read_pod

if TYPE_CHECKING:
    from cpuplan.simulate.claim_objects import Objects


def with_defaults(pod: Pod, gates: Gates) -> Pod:
    """The pod with its defaults."""
    return apply_defaults(pod, gates)


#: The codes of objects that may have pods and are not simulated: nothing is proven beside them.
NOT_SIMULATED = ("CP7460", "CP7567")
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
                if given.get("name") == container:
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
    known: Known
    owners: frozenset[str]
    owning: list[tuple[str, Position]]
    ended: list[tuple[str, Position]]


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
    sources = list(sources)
    given = [item for source in sources for item in _objects_in(source.data)]
    claims, owners = _no_objects() if with_claims else None, frozenset(_owners(given))
    reader = _Reader([], [], [], set(), claims, {}, {}, known_in(given), owners, [], [])
    for source in sources:
        _read_object(reader, source, (), source.data)
    reader.diagnostics.extend(_passed_over(reader))
    items = reader.items
    if reader.objects:
        items = [item._replace(pod=reader.objects.resolve(item.pod)) for item in items]
    around = Surroundings(reader.namespaces, reader.handlers)
    others = tuple(dict.fromkeys(reader.others))
    return Manifests(tuple(items), tuple(reader.diagnostics), others, around)


def _objects_in(data: Any) -> Iterator[Any]:
    """The objects of a document, those of Lists one by one, without their types of entries."""
    items = data.get("items") if isinstance(data, dict) else None
    if isinstance(items, list) and str(data.get("kind")).endswith("List"):
        for item in items:
            yield from _objects_in(item)
    elif isinstance(data, dict):
        yield data


def _owners(objects: Iterable[Any]) -> Iterator[str]:
    """The objects whose controllers made others of the files, as of `kubectl get all -o yaml`."""
    for data in objects:
        given = part_of(data, ("metadata", "ownerReferences"))
        for owner in given if isinstance(given, list) else ():
            if isinstance(owner, dict) and owner.get("controller") is True:
                namespace = part_of(data, ("metadata", "namespace")) or DEFAULT_NAMESPACE
                yield f"{owner.get('kind')} {namespace}/{owner.get('name')}"


#: Objects that are named of many that are passed over.
_SHOWN = 3


def _passed_over(reader: _Reader) -> Iterator[Diagnostic]:
    """CP7568 and CP7569: objects whose pods are there by themselves, and pods that have ended."""
    for code, objects in (("CP7568", reader.owning), ("CP7569", reader.ended)):
        if objects:
            names = [name for name, _ in objects]
            yield diagnose(code, objects[0][1], names=listed(names, _SHOWN))


def _no_objects() -> "Objects":
    from cpuplan.simulate.claim_objects import Objects  # of few nodes

    return Objects({}, {})


#: Of a pod that has ended nothing is left on the node.
_ENDED = ("Succeeded", "Failed")


def _read_object(reader: _Reader, source: Source, at: Field, data: Any) -> None:
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str):
        reader.diagnostics.append(problem_of(source, at, "has no kind"))
    elif kind == "List" or (kind.endswith("List") and isinstance(data.get("items"), list)):
        items = data.get("items") or []
        if not isinstance(items, list):
            reader.diagnostics.append(
                problem_of(source, (*at, "items"), "has items that are not a list")
            )
            return
        for index, item in enumerate(items):
            whole = isinstance(item, dict) and "kind" not in item and kind != "List"
            given = {**item, "kind": kind.removesuffix("List")} if whole else item
            _read_object(reader, source, (*at, "items", index), given)
    elif f"{kind} {_full_name(data)}" in reader.owners:
        reader.owning.append((_title(data), source.value_at((*at, "kind"))))
    elif kind == "Pod" and value_of(data, ("status", "phase")) in _ENDED:
        reader.ended.append((_title(data), source.value_at((*at, "status", "phase"))))
    elif kind == "Pod":
        _add(reader, source, at, data, [_full_name(data)])
        reader.diagnostics.extend(misplaced(source, at, data, ()))
    elif is_machine(data):
        _read_machine(reader, source, at, data)
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
    name, place, title = _full_name(data), source.value_at((*at, "kind")), _title(data)
    if why:
        reader.diagnostics.append(diagnose("CP7460", place, object=title, why=why))
    for template in templates:
        count = template.count
        if problem := _count_problem(reader, source, at, template):
            reader.diagnostics.append(problem)
            continue
        prefix = f"{name}-{template.label}" if template.label else name
        names = [f"{prefix}-{number}" for number in range(1, count + 1)]
        pod = _with_names(part_of(data, template.at))
        _add(reader, source, (*at, *template.at), pod, names)
        pods, field = counted(count, "pod"), ".".join(map(str, template.at))
        where = source.key_at((*at, *template.at))
        reader.diagnostics.append(diagnose("CP7461", where, object=title, pods=pods, field=field))
    if len(templates) == 1:
        reader.diagnostics.extend(misplaced(source, at, data, templates[0].at))


def _with_names(template: Any) -> Any:
    """The template with names for containers that have none, as Knative gives them."""
    given = template["spec"]["containers"]
    are_mappings = all(isinstance(container, dict) for container in given)
    if not are_mappings or all("name" in container for container in given):
        return template
    named = [
        {"name": f"user-container-{number}", **container} for number, container in enumerate(given)
    ]
    return {**template, "spec": {**template["spec"], "containers": named}}


def _count_problem(
    reader: _Reader, source: Source, at: Field, template: Template | Machine
) -> Diagnostic | None:
    """CP720 for a number of pods that is none, or more than are simulated."""
    count, field = template.count, ".".join(map(str, template.count_at))
    is_number = isinstance(count, int) and not isinstance(count, bool)
    if is_number and 0 <= count <= MOST - len(reader.items):
        return None
    problem = f"{field} is {count!r}, not a number from 0 to {MOST:,} (of all pods)"
    return problem_of(source, (*at, *(template.count_at or template.at)), problem)


def _read_machine(reader: _Reader, source: Source, at: Field, data: Any) -> None:
    """The pods of virt-launcher of an object of KubeVirt."""
    title = _title(data)
    if problems := list(_machine_problems(source, at, data)):
        reader.diagnostics.extend(problems)
        return
    try:
        machine = read_machine(data, reader.known)
    except MissingTypeError as error:
        place = source.value_at((*at, *error.field))
        missing = diagnose("CP7567", place, object=title, kind=error.kind, name=error.name)
        reader.diagnostics.append(missing)
        return
    if isinstance(machine, list):
        for fault in machine:
            place = source.value_at((*at, *fault.field))
            refused = diagnose("CP7565", place, object=title, problem=fault.problem)
            reader.diagnostics.append(refused)
        return
    if wrong := _count_problem(reader, source, at, machine):
        reader.diagnostics.append(wrong)
        return
    name = _full_name({"kind": "Pod", "metadata": machine.pod["metadata"]})
    names = [f"{name}-{number}" for number in range(1, machine.count + 1)]
    _add(reader, source, (*at, *machine.at), machine.pod, names if machine.count_at else [name])
    reader.diagnostics.append(_of_machine(source, at, title, machine))
    reader.diagnostics.extend(misplaced(source, at, data, machine.at))


def _machine_problems(source: Source, at: Field, data: Any) -> Iterator[Diagnostic]:
    yield from shape_problems(source, at, data)
    template_at = instance_at(data)
    if template_at and isinstance(part_of(data, template_at), dict):
        yield from shape_problems(source, (*at, *template_at), part_of(data, template_at))


def _of_machine(source: Source, at: Field, title: str, machine: Machine) -> Diagnostic:
    """CP7566: what the pods of a machine ask for, and what is not known of them."""
    amounts = machine.pod["spec"]["containers"][0]["resources"]["requests"]
    cpus = cpus_in_words(machine.instance, amounts[CPU])
    return diagnose(
        "CP7566",
        source.value_at((*at, "kind")),
        object=title,
        pods=counted(machine.count, "pod") if machine.count_at else "a pod",
        cpus=cpus,
        halted=_HALTED if machine.is_halted else "",
        unread=f"; not read: {', '.join(machine.unread)}" if machine.unread else "",
    )


_HALTED = "; it is halted, and simulated as if it ran"


def _title(data: Any) -> str:
    """`PyTorchJob train`, with the namespace if it is not the default."""
    return f"{data['kind']} {_full_name(data).removeprefix(f'{DEFAULT_NAMESPACE}/')}"


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
