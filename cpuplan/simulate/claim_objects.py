"""Objects of dynamic resource allocation in manifests: what claims of pods ask for."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Field, Source
from cpuplan.language.read.pods import DEFAULT_NAMESPACE, value_of
from cpuplan.upstream.dra import cel, opaque_config
from cpuplan.upstream.dra.allocator_incubating import Constraint, Request, Spec
from cpuplan.upstream.dra.api import CAPACITY, DRIVER
from cpuplan.upstream.dra.driver import Result
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import Pod, PodClaim

CLAIM, TEMPLATE, CLASS = "ResourceClaim", "ResourceClaimTemplate", "DeviceClass"
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

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of objects that `read` takes."""
        return CLAIM, TEMPLATE, CLASS

    def read(self, source: Source, at: Field, data: Any) -> Iterator[Diagnostic]:
        """Add an object; CP716 for what is wrong in it, CP717 for what is not simulated."""
        return _read(self, source, at, data)

    def resolve(self, pod: Pod) -> Pod:
        """A pod with what its claims ask for, as far as the files tell."""
        if not pod.claims:
            return pod
        return pod._replace(claims=tuple(self._resolved(pod, claim) for claim in pod.claims))

    def _resolved(self, pod: Pod, claim: PodClaim) -> PodClaim:
        key = (CLAIM, claim.claim) if claim.claim else (TEMPLATE, claim.template)
        spec = self.specs.get((key[0], f"{pod.namespace or DEFAULT_NAMESPACE}/{key[1]}"))
        return claim if spec is None else claim._replace(spec=self._classified(spec))

    def _classified(self, spec: Spec) -> Spec:
        """With the selectors of classes that are in the files."""
        return spec._replace(requests=tuple(map(self._of_class, spec.requests)))

    def _of_class(self, request: Request) -> Request:
        return request._replace(
            class_selectors=self.classes.get(request.device_class),
            alternatives=tuple(map(self._of_class, request.alternatives)),
        )


def _read(objects: Objects, source: Source, at: Field, data: Any) -> Iterator[Diagnostic]:
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
            namespace = value_of(data, ("metadata", "namespace")) or DEFAULT_NAMESPACE
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
