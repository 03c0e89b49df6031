"""JSON into Go values with the errors of encoding/json since it stands on its second version.

Paths then name the index of a slice and the key of a map, and the rest of the text is read after a
value of the wrong type: the first of several such errors is the one that is returned.

Upstream: golang/go src/encoding/json/v2_decode.go @ 0e17905793cb5e0acc323a0cdf3733199d93976a
Upstream: golang/go src/encoding/json/v2/arshal_default.go
  @ b497a29d25b0f6f29bedaa92ac1d40a1ee5c0956
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import Type, kind_of, refuse_constant, syntax_error
from cpuplan.upstream.kubernetes.strconv import parse_float

_RANGES = {
    "int32": (-(1 << 31), (1 << 31) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "int": (-(1 << 63), (1 << 63) - 1),
}
_ZEROS: dict[str, Any] = {"string": "", "number": 0, "bool": False}


class RawNumber(str):
    """A number as it was written."""

    __slots__ = ()


BOOL = Type("bool", "bool")
INT32, INT64 = Type("int32", "number"), Type("int64", "number")
FLOAT64 = Type("float64", "number")


def struct(go_type: str, **fields: Type) -> Type:
    return Type(go_type, "object", fields)


class _Failure(NamedTuple):
    given: str
    go_type: str
    path: tuple[str, ...]


def unmarshal(text: str, root: Type) -> Any:
    """The value of `text`: {} for a struct and None for another type that is null.

    A struct is a dict of the fields that are there and not null. KubeletError with Go's text.
    """
    try:
        value = json.loads(
            text, parse_int=RawNumber, parse_float=RawNumber, parse_constant=refuse_constant
        )
    except json.JSONDecodeError as error:
        raise KubeletError(syntax_error(text, error)) from None
    except RecursionError:
        raise KubeletError("exceeded max depth") from None
    failures: list[_Failure] = []
    decoded = _decode(value, root, (), failures)
    if failures:
        raise KubeletError(_text(failures[0], root))
    return decoded


def _text(failure: _Failure, root: Type) -> str:
    if not failure.path:
        return f"json: cannot unmarshal {failure.given} into Go value of type {failure.go_type}"
    # Slices and maps have no name of their own.
    unnamed = root.go_type.startswith(("[", "map["))
    name = "" if unnamed else root.go_type.rpartition(".")[2]
    path = ".".join(part.replace("~", "~0").replace("/", "~1") for part in failure.path)
    where = f"Go struct field {name}.{path} of type {failure.go_type}"
    return f"json: cannot unmarshal {failure.given} into {where}"


def _decode(value: Any, shape: Type, path: tuple[str, ...], failures: list[_Failure]) -> Any:
    if shape.read:
        return shape.read(value)
    if value is None:
        return {} if shape.fields else _ZEROS.get(shape.kind)
    kind = _kind(value)
    if kind != shape.kind:
        failures.append(_Failure(kind, shape.go_type, path))
        return _ZEROS.get(shape.kind)
    if shape.fields:
        return _struct(value, shape.fields, path, failures)
    if shape.items is None:
        return _number(value, shape.go_type, path, failures) if kind == "number" else value
    if kind == "array":
        indexed = enumerate(value)
        return [_decode(item, shape.items, (*path, str(at)), failures) for at, item in indexed]
    pairs = value.items()
    return {key: _decode(item, shape.items, (*path, key), failures) for key, item in pairs}


def _kind(value: Any) -> str:
    return "number" if isinstance(value, RawNumber) else kind_of(value)


def _struct(
    value: Mapping[str, Any],
    fields: Mapping[str, Type],
    path: tuple[str, ...],
    failures: list[_Failure],
) -> dict[str, Any]:
    decoded = {}
    known = {name.lower(): name for name in fields}
    for key, item in value.items():
        name = key if key in fields else known.get(key.lower())
        if name is not None and item is not None:
            decoded[name] = _decode(item, fields[name], (*path, key), failures)
    return decoded


def _number(
    text: RawNumber, go_type: str, path: tuple[str, ...], failures: list[_Failure]
) -> float:
    limits = _RANGES.get(go_type)
    try:
        if limits is None:
            return parse_float(text)
        # No more digits than 64 bits have: Python refuses thousands of them.
        number = int(text) if len(text) <= 20 else limits[1] + 1
        if limits[0] <= number <= limits[1]:
            return number
    except (ValueError, KubeletError):
        pass
    failures.append(_Failure(f"number {text}", go_type, path))
    return 0
