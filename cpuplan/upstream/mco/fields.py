"""Fields of objects in the types that the API server takes; McoError for others."""

from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.mco.errors import McoError


def mapping(item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A section; empty where it is absent."""
    value = item.get(name)
    return {} if value is None else as_mapping(value, name)


def as_mapping(value: Any, name: str) -> Mapping[str, Any]:
    """The value itself."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise _wrong_type(name)
    return value


def mappings(item: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The sections of a list."""
    return [as_mapping(entry, name) for entry in _list(item, name)]


def texts(item: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The texts of a list."""
    entries = _list(item, name)
    if not all(isinstance(entry, str) for entry in entries):
        raise _wrong_type(name)
    return tuple(entries)


def text(item: Mapping[str, Any], name: str) -> str:
    """A text; "" where it is absent."""
    value = item.get(name)
    if value is not None and not isinstance(value, str):
        raise _wrong_type(name)
    return value or ""


def flag(item: Mapping[str, Any], name: str) -> bool:
    """A flag; false where it is absent."""
    value = item.get(name)
    if value is not None and not isinstance(value, bool):
        raise _wrong_type(name)
    return bool(value)


def number(item: Mapping[str, Any], name: str) -> int | None:
    """A whole number, if there is one."""
    value = item.get(name)
    if value is not None and type(value) is not int:
        raise _wrong_type(name)
    return value


def text_mapping(item: Mapping[str, Any], name: str) -> dict[str, str]:
    """Labels or annotations."""
    values = mapping(item, name)
    return {key: text(values, key) for key in values}


def _list(item: Mapping[str, Any], name: str) -> list[Any]:
    value = item.get(name)
    if value is not None and not isinstance(value, list):
        raise _wrong_type(name)
    return value or []


def _wrong_type(name: str) -> McoError:
    return McoError("wrong type", field=name)
