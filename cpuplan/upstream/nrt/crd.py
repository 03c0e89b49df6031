"""What the API server makes of an object by the CustomResourceDefinition of a cluster.

The schemas are those of noderesourcetopology-api 0.1, which every distributor copies. They differ
in what they serve.

Upstream: k8stopologyawareschedwg/noderesourcetopology-api manifests/crd.yaml
  @ 7f99f9c2af03e0dd95ca81b650cd5f2427fbc8bd
Upstream: kubernetes/kubernetes
  staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go
  staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/validation/validation.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from cpuplan.base.patterns import expression
from cpuplan.upstream.nrt.api import GROUP, KIND, V1ALPHA1, V1ALPHA2

_NO_MATCH = "no match for kind/version"
#: An error without a field, as a check of the value itself reports it.
NOWHERE = "Invalid value: <nil>"
_QUANTITY = expression(
    r"(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?\Z"
)
#: Larger numbers of JSON are no integers to the API server.
_INT64 = 1 << 63
#: Larger ones with a decimal point neither: a float64 has 53 bits for them.
_SAFE = 1 << 53


class Definition(NamedTuple):
    """A CustomResourceDefinition: who brings it, what it serves, what it stores."""

    title: str
    served: tuple[str, ...]
    storage: str


#: By the names that a Cluster document has for them.
DEFINITIONS = {
    "noderesourcetopology-api": Definition(
        "the API's own CRD, as RTE, NFD and charts of Koordinator from 1.7 on install it",
        (V1ALPHA1, V1ALPHA2),
        V1ALPHA2,
    ),
    "scheduler-plugins": Definition("scheduler-plugins' manifest", (V1ALPHA2,), V1ALPHA2),
    "koordinator-1.6": Definition("charts of Koordinator up to 1.6", (V1ALPHA1,), V1ALPHA1),
}


class Schema(NamedTuple):
    """A structural schema: `object` with fields, `array` of items, or a plain kind."""

    kind: str
    fields: Mapping[str, "Schema"] = MappingProxyType({})
    required: tuple[str, ...] = ()
    items: "Schema | None" = None


class Admission(NamedTuple):
    """What becomes of an object: sorted errors, and fields that are dropped in silence."""

    errors: tuple[str, ...]
    pruned: tuple[str, ...] = ()


def _list_of(*required: str, **fields: Schema) -> Schema:
    return Schema("array", items=Schema("object", fields, required))


_NOTHING = Schema("nothing")
_TEXT, _INTEGER, _AMOUNT = Schema("string"), Schema("integer"), Schema("quantity")
_ATTRIBUTES = _list_of("name", "value", name=_TEXT, value=_TEXT)
_RESOURCES = _list_of(
    *("allocatable", "available", "capacity", "name"),
    allocatable=_AMOUNT,
    available=_AMOUNT,
    capacity=_AMOUNT,
    name=_TEXT,
)
_ZONES = _list_of(
    *("name", "type"),
    attributes=_ATTRIBUTES,
    costs=_list_of("name", "value", name=_TEXT, value=_INTEGER),
    name=_TEXT,
    parent=_TEXT,
    resources=_RESOURCES,
    type=_TEXT,
)
_FIELDS = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "metadata": Schema("any"),
    "topologyPolicies": Schema("array", items=_TEXT),
    "zones": _ZONES,
}
SCHEMAS = {
    V1ALPHA1: Schema("object", _FIELDS, ("topologyPolicies", "zones")),
    V1ALPHA2: Schema("object", {**_FIELDS, "attributes": _ATTRIBUTES}, ("zones",)),
}


def admit(nrt: Mapping[str, Any], definition: Definition) -> Admission:
    """What the API server of a cluster with the definition makes of an object."""
    if not serves(nrt, definition):
        return Admission((_NO_MATCH,))
    schema = SCHEMAS[version_of(nrt)]
    return Admission(
        tuple(sorted(_errors(nrt, schema, ""))), tuple(sorted(_unknown(nrt, schema, "")))
    )


def serves(nrt: Mapping[str, Any], definition: Definition) -> bool:
    """Whether a cluster with the definition takes objects of this kind and version at all."""
    return nrt.get("kind") == KIND and version_of(nrt) in definition.served


def version_of(nrt: Mapping[str, Any]) -> str:
    """The version of the API that an object is written in; empty for another API."""
    group, _, version = str(nrt.get("apiVersion", "")).partition("/")
    return version if group == GROUP else ""


def _errors(value: Any, schema: Schema, path: str) -> Iterator[str]:
    if not _is_of(value, schema.kind):
        yield from _of_value(value, schema.kind)
        yield f"Invalid value: {path}"
    elif schema.kind == "object":
        missing = (name for name in schema.required if name not in value)
        yield from (f"Required value: {_below(path, name)}" for name in missing)
        for name, field in schema.fields.items():
            if name in value:
                yield from _errors(value[name], field, _below(path, name))
    elif schema.items:
        for index, item in enumerate(value):
            yield from _errors(item, schema.items, f"{path}[{index}]")


def _of_value(value: Any, kind: str) -> Iterator[str]:
    """What is reported besides a wrong kind: a number out of range, or neither of two kinds."""
    is_number = isinstance(value, float | int) and not isinstance(value, bool)
    if (kind == "integer" and is_number) or (
        kind == "quantity" and value is not None and not isinstance(value, str)
    ):
        yield NOWHERE


def _is_of(value: Any, kind: str) -> bool:
    match kind:
        case "any":
            return True
        case "object":
            return isinstance(value, Mapping)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "quantity" if isinstance(value, str):
            return bool(_QUANTITY.match(value))
    return _is_integer(value)


def _is_integer(value: Any) -> bool:
    """Whether a number is whole: 10.0 is."""
    if isinstance(value, float):
        return value.is_integer() and abs(value) < _SAFE
    return isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64


def _unknown(value: Any, schema: Schema, path: str) -> Iterator[str]:
    """The fields that the schema does not have: all, where it has none or wants a list."""
    if schema.kind == "any":
        return
    if isinstance(value, Mapping):
        for name, given in value.items():
            field = schema.fields.get(name)
            if field is None:
                yield _below(path, name)
            else:
                yield from _unknown(given, field, _below(path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(item, schema.items or _NOTHING, f"{path}[{index}]")


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
