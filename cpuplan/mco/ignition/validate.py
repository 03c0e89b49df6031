"""What makes an Ignition config invalid (ignition/v2/config/*/types)."""

from collections.abc import Iterator
from typing import Any

from cpuplan.mco.errors import IgnitionError, Problem
from cpuplan.mco.ignition.rules import RULES
from cpuplan.mco.ignition.schema import CONFIG, Config, Many, Struct, Version, key_of

Place = tuple[str | int, ...]


def check(config: Config, version: Version) -> None:
    """Raises IgnitionError with every broken rule of a spec."""
    if problems := tuple(problems_of(config, version)):
        raise IgnitionError("config is not valid", problems)


def problems_of(config: Config, version: Version) -> Iterator[Problem]:
    """Every broken rule of a spec."""
    return _struct(config, CONFIG, version, ())


def _struct(value: Config, struct: Struct, version: Version, place: Place) -> Iterator[Problem]:
    if struct.name in RULES:
        for below, cause in RULES[struct.name](value, version):
            yield Problem((*place, *below), cause)
    yield from _duplicates(value, struct, place)
    for name, field in struct.fields.items():
        if name in value:
            yield from _field(value[name], field.kind, version, (*place, name))


def _field(value: Any, kind: Any, version: Version, place: Place) -> Iterator[Problem]:
    if isinstance(kind, Struct):
        yield from _struct(value, kind, version, place)
    elif isinstance(kind, Many) and isinstance(kind.item, Struct):
        for index, item in enumerate(value):
            yield from _struct(item, kind.item, version, (*place, index))


def _duplicates(value: Config, struct: Struct, place: Place) -> Iterator[Problem]:
    """Files, directories and links share their keys, as other lists with one namespace do."""
    keys: set[tuple[str, str]] = set()
    for name, kind in struct.lists.items():
        for index, item in enumerate(value.get(name) or ()):
            key = (kind.namespace or name, key_of(kind.item, item))
            if key in keys:
                yield Problem((*place, name, index), "duplicate entry")
            keys.add(key)
