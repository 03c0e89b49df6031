"""Pods from manifests: Pods, and workloads with as many pods as their controllers would make.

With them come ResourceClaims, their templates and DeviceClasses (resource.k8s.io). Pods get their
defaults as the API server stores them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.base.text import counted
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Position, Source
from cpuplan.language.read.pods import (
    CONTROLLERS,
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
from cpuplan.upstream.dra import cel, opaque_config
from cpuplan.upstream.dra.allocator_incubating import Constraint, Request, Spec
from cpuplan.upstream.dra.api import CAPACITY, DRIVER
from cpuplan.upstream.dra.driver import Result
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod, PodClaim, apply_defaults, read_pod


def with_defaults(pod: Pod, gates: Gates) -> Pod:
    """The pod with its defaults."""
    return apply_defaults(pod, gates)


CLAIM, TEMPLATE, CLASS = "ResourceClaim", "ResourceClaimTemplate", "DeviceClass"
CLAIM_KINDS = (CLAIM, TEMPLATE, CLASS)
_DEFAULT_NAMESPACE = "default"
_MOST = 1 << 31
_NAME = re.compile(r"[a-z0-9.-]+/[A-Za-z_][A-Za-z0-9_]*")


class _WrongError(Exception):
    """A field that cannot be read: where below the object, and why."""

    def __init__(self, at: Field, problem: str) -> None:
        super().__init__(problem)
        self.at = at


class Objects(NamedTuple):
    """Claims and templates by kind and full name, and the selectors of classes by name."""

    specs: dict[tuple[str, str], Spec]
    classes: dict[str, tuple[str, ...]]

    def resolve(self, pod: Pod) -> Pod:
        """A pod with what its claims ask for, as far as the files tell."""
        if not pod.claims:
            return pod
        return pod._replace(claims=tuple(self._resolved(pod, claim) for claim in pod.claims))

    def _resolved(self, pod: Pod, claim: PodClaim) -> PodClaim:
        key = (CLAIM, claim.claim) if claim.claim else (TEMPLATE, claim.template)
        spec = self.specs.get((key[0], f"{pod.namespace or _DEFAULT_NAMESPACE}/{key[1]}"))
        return claim if spec is None else claim._replace(spec=self._classified(spec))

    def _classified(self, spec: Spec) -> Spec:
        """With the selectors of classes that are in the files."""
        return spec._replace(requests=tuple(map(self._of_class, spec.requests)))

    def _of_class(self, request: Request) -> Request:
        return request._replace(
            class_selectors=self.classes.get(request.device_class),
            alternatives=tuple(map(self._of_class, request.alternatives)),
        )


def read_object(objects: Objects, source: Source, at: Field, data: Any) -> Iterator[Diagnostic]:
    """Add an object of KINDS; CP716 for what is wrong in it, CP717 for what is not simulated."""
    kind, name = data["kind"], value_of(data, ("metadata", "name"))
    try:
        if not isinstance(name, str):
            raise _WrongError(("metadata",), "has no metadata.name")
        if kind == CLASS:
            objects.classes[name] = _selectors(data.get("spec") or {}, ("spec",))
            expressions = [objects.classes[name]]
        else:
            place: Field = ("spec", "spec") if kind == TEMPLATE else ("spec",)
            spec = _spec(value_of(data, (*place, "devices")), (*place, "devices"))
            if kind == CLAIM:
                spec = _allocated(spec, value_of(data, ("status", "allocation")))
            namespace = value_of(data, ("metadata", "namespace")) or _DEFAULT_NAMESPACE
            objects.specs[kind, f"{namespace}/{name}"] = spec
            expressions = [request.selectors for request in _flat(spec.requests)]
    except _WrongError as error:
        where = source.value_at((*at, *error.at))
        yield diagnose("CP716", where, object=f"{kind} {name}", problem=error)
        return
    for selectors in expressions:
        for text in selectors:
            yield from _unread(source, at, f"{kind} {name}", text)


def _flat(requests: Sequence[Request]) -> Iterator[Request]:
    for request in requests:
        yield request
        yield from request.alternatives


def _unread(source: Source, at: Field, what: str, expression: str) -> Iterator[Diagnostic]:
    try:
        cel.compiled(expression)
    except cel.SyntaxCelError as error:
        where = source.value_at((*at, "metadata", "name"))
        shown = " ".join(expression.split())
        yield diagnose("CP717", where, object=what, expression=shown, problem=error)


def _mapping(data: Any, at: Field) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise _WrongError(at, f"{at[-1]} is not a mapping")
    return data


def _items(data: Mapping[str, Any], name: str, at: Field) -> list[tuple[Field, Any]]:
    listed = data.get(name)
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise _WrongError((*at, name), f"{name} is not a list")
    return [((*at, name, index), item) for index, item in enumerate(listed)]


def _text(data: Mapping[str, Any], name: str, at: Field) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value:
        raise _WrongError((*at, name) if name in data else at, f"has no {name}")
    return value


def _texts(data: Mapping[str, Any], name: str, at: Field) -> tuple[str, ...]:
    items = _items(data, name, at)
    for place, item in items:
        if not isinstance(item, str):
            raise _WrongError(place, f"{name} has {item!r}, which is not text")
    return tuple(item for _, item in items)


def _spec(devices: Any, at: Field) -> Spec:
    if devices is None:
        raise _WrongError(at[:1], f"has no {'.'.join(map(str, at))}")
    given = _mapping(devices, at)
    requests = tuple(_request(item, place) for place, item in _items(given, "requests", at))
    names = {request.name for request in requests}
    if not requests or len(names) != len(requests):
        raise _WrongError((*at, "requests"), "has no requests, or two with one name")
    constraints = (_constraint(item, place) for place, item in _items(given, "constraints", at))
    configs = (_config(item, place) for place, item in _items(given, "config", at))
    return Spec(requests, tuple(constraints), tuple(configs))


def _request(item: Any, at: Field) -> Request:
    given = _mapping(item, at)
    name = _text(given, "name", at)
    if "firstAvailable" in given:
        kinds = _items(given, "firstAvailable", at)
        alternatives = tuple(
            _exact(_mapping(kind, place), _text(_mapping(kind, place), "name", place), place)
            for place, kind in kinds
        )
        return Request(name, alternatives=alternatives)
    if "exactly" in given:
        place = (*at, "exactly")
        return _exact(_mapping(given["exactly"], place), name, place)
    return _exact(given, name, at)  # v1beta1


def _exact(given: Mapping[str, Any], name: str, at: Field) -> Request:
    if given.get("adminAccess"):
        raise _WrongError((*at, "adminAccess"), "asks for adminAccess, which is not simulated")
    mode, number = given.get("allocationMode", "ExactCount"), given.get("count", 1)
    if mode not in ("ExactCount", "All"):
        raise _WrongError((*at, "allocationMode"), f"allocationMode {mode!r} is unknown")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < _MOST:
        raise _WrongError((*at, "count"), f"count is {number!r}, not a number from 1 on")
    capacity = _capacity(given.get("capacity"), (*at, "capacity"))
    return Request(
        name,
        _text(given, "deviceClassName", at),
        _selectors(given, at),
        None if mode == "All" else number,
        capacity,
    )


def _capacity(given: Any, at: Field) -> tuple[tuple[str, str], ...]:
    if given is None:
        return ()
    place = (*at, "requests")
    amounts = _mapping(_mapping(given, at).get("requests") or {}, place)
    for name, amount in amounts.items():
        try:
            if isinstance(amount, bool | dict | list) or quantity.parse(str(amount)).nano < 0:
                raise KubeletError("negative")
        except KubeletError:
            text = f"requests {name} {amount!r}, which is not a valid quantity"
            raise _WrongError((*place, name), text) from None
    return tuple((name, str(amount)) for name, amount in amounts.items())


def _selectors(given: Mapping[str, Any], at: Field) -> tuple[str, ...]:
    expressions = []
    for place, item in _items(_mapping(given, at), "selectors", at):
        own = _mapping(_mapping(item, place).get("cel"), (*place, "cel"))
        expressions.append(_text(own, "expression", (*place, "cel")))
    return tuple(expressions)


def _constraint(item: Any, at: Field) -> Constraint:
    given = _mapping(item, at)
    kinds = [key for key in ("matchAttribute", "distinctAttribute") if key in given]
    if len(kinds) != 1:
        raise _WrongError(at, "has a constraint without matchAttribute or distinctAttribute")
    attribute = _text(given, kinds[0], at)
    if not _NAME.fullmatch(attribute):
        raise _WrongError((*at, kinds[0]), f"{attribute} is not of the form domain/name")
    return Constraint(attribute, _texts(given, "requests", at), kinds[0] != "matchAttribute")


def _config(item: Any, at: Field) -> opaque_config.Config:
    given = _mapping(item, at)
    own = _mapping(given.get("opaque"), (*at, "opaque"))
    source, driver = given.get("source", opaque_config.FROM_CLAIM), str(own.get("driver", ""))
    return opaque_config.Config(
        _texts(given, "requests", at), own.get("parameters"), source, driver
    )


def _allocated(spec: Spec, allocation: Any) -> Spec:
    """A claim that its status says is allocated, as an external scheduler leaves it."""
    if allocation is None:
        return spec
    at: Field = ("status", "allocation", "devices")
    given = _mapping(value_of({"status": {"allocation": allocation}}, at), at)
    results = tuple(_result(item, place) for place, item in _items(given, "results", at))
    configs = tuple(_config(item, place) for place, item in _items(given, "config", at))
    return spec._replace(results=results, configs=configs)


def _result(item: Any, at: Field) -> Result:
    given = _mapping(item, at)
    consumed = _mapping(given.get("consumedCapacity") or {}, (*at, "consumedCapacity"))
    amounts = dict(_capacity({"requests": dict(consumed)}, (*at, "consumedCapacity")))
    return Result(
        _text(given, "request", at),
        _text(given, "device", at),
        amounts.get(CAPACITY),
        str(given.get("driver", DRIVER)),
    )


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
    objects: Objects | None
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
    reader = _Reader([], [], [], set(), Objects({}, {}) if with_claims else None, {}, {})
    for source in sources:
        _read_object(reader, source, (), source.data)
    items = reader.items
    if reader.objects:
        items = [item._replace(pod=reader.objects.resolve(item.pod)) for item in items]
    around = Surroundings(reader.namespaces, reader.handlers)
    others = tuple(dict.fromkeys(reader.others))
    return Manifests(tuple(items), tuple(reader.diagnostics), others, around)


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
    elif reader.objects and kind in CLAIM_KINDS:
        reader.diagnostics.extend(read_object(reader.objects, source, at, data))
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
    title = f"{data['kind']} {name.removeprefix(f'{_DEFAULT_NAMESPACE}/')}"
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
    return f"{metadata.get('namespace') or _DEFAULT_NAMESPACE}/{name}"
