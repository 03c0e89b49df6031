"""JSON to the fields of a spec, as Go's encoding/json fills Ignition's types."""

from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.mco.errors import IgnitionError, Problem
from cpuplan.upstream.mco.ignition.schema import (
    CONFIG,
    Config,
    Field,
    Many,
    Scalar,
    Struct,
    Version,
)

Place = tuple[str | int, ...]


def decode(value: Any, version: Version, struct: Struct = CONFIG) -> Config:
    """The config with the fields of `version` alone; IgnitionError for a value of a wrong type.

    Absent and empty sections are equal, so empty ones are left out.
    """
    return _struct(value, struct, version, ())


def _struct(value: Any, struct: Struct, version: Version, place: Place) -> Config:
    if value is not None and not isinstance(value, Mapping):
        raise _wrong_type(place)
    given = _by_field(value or {}, struct)
    fields: Config = {}
    for name, field in struct.fields.items():
        entry = given.get(name)
        if field.since <= version and (entry is not None or isinstance(field.kind, Scalar)):
            decoded = _field(entry, field, version, (*place, name))
            if decoded is not None and decoded != {}:
                fields[name] = decoded
    return fields


def _by_field(value: Mapping[str, Any], struct: Struct) -> Mapping[str, Any]:
    """The entries of a struct by the names of its fields, which most configs have as they are."""
    if value.keys() <= struct.fields.keys():
        return value
    return {name: get_field(value, name) for name in struct.fields}


def get_field(value: Mapping[str, Any], name: str) -> Any:
    """Go takes keys whatever their case, the exact one first."""
    if name in value:
        return value[name]
    folded = name.casefold()
    return next((value[key] for key in value if str(key).casefold() == folded), None)


def _field(value: Any, field: Field, version: Version, place: Place) -> Any:
    kind = field.kind
    if isinstance(kind, Struct):
        return None if value is None else _struct(value, kind, version, place)
    if isinstance(kind, Many):
        return _list(value, kind, version, place)
    if value is None:
        is_plain = kind.plain or version < field.plain_before
        return kind.type() if is_plain else None
    return _scalar(value, kind, place)


def _list(value: Any, kind: Many, version: Version, place: Place) -> list[Any] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise _wrong_type(place)
    item = kind.item
    if isinstance(item, Struct):
        return [_struct(entry, item, version, (*place, index)) for index, entry in enumerate(value)]
    return [_scalar(entry, item, (*place, index)) for index, entry in enumerate(value)]


def _scalar(value: Any, kind: Scalar, place: Place) -> Any:
    if value is None:
        return kind.type()
    is_number = kind.type is int and isinstance(value, bool)  # a bool is an int only to Python
    if is_number or not isinstance(value, kind.type):
        raise _wrong_type(place)
    return value


def _wrong_type(place: Place) -> IgnitionError:
    return IgnitionError("config is not valid", (Problem(place, "wrong type"),))
