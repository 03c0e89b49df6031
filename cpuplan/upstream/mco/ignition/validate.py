"""What makes an Ignition config invalid (ignition/v2/config/*/types)."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.mco.errors import IgnitionError, Problem
from cpuplan.upstream.mco.ignition.rules import RULES, Rule
from cpuplan.upstream.mco.ignition.schema import CONFIG, Config, Many, Struct, Version, key_of

Place = tuple[str | int, ...]


def check(config: Config, version: Version) -> None:
    """Raises IgnitionError with every broken rule of a spec."""
    check_struct(config, version, CONFIG, RULES)


def check_struct(
    config: Config, version: Version, struct: Struct, rules: Mapping[str, Rule]
) -> None:
    """The same with the fields and rules of other specs."""
    if problems := tuple(_Checker(version, rules).struct(config, struct, ())):
        raise IgnitionError("config is not valid", problems)


class _Checker(NamedTuple):
    version: Version
    rules: Mapping[str, Rule]

    def struct(self, value: Config, struct: Struct, place: Place) -> Iterator[Problem]:
        if struct.name in self.rules:
            for below, cause in self.rules[struct.name](value, self.version):
                yield Problem((*place, *below), cause)
        yield from _duplicates(value, struct, place)
        for name, field in struct.fields.items():
            if name in value:
                yield from self._field(value[name], field.kind, (*place, name))

    def _field(self, value: Any, kind: Any, place: Place) -> Iterator[Problem]:
        if isinstance(kind, Struct):
            yield from self.struct(value, kind, place)
        elif isinstance(kind, Many) and isinstance(kind.item, Struct):
            for index, item in enumerate(value):
                yield from self.struct(item, kind.item, (*place, index))


def _duplicates(value: Config, struct: Struct, place: Place) -> Iterator[Problem]:
    """Files, directories and links share their keys, as other lists with one namespace do."""
    keys: set[tuple[str, str]] = set()
    for name, kind in struct.lists.items():
        for index, item in enumerate(value.get(name) or ()):
            key = (kind.namespace or name, key_of(kind.item, item))
            if key in keys:
                yield Problem((*place, name, index), "duplicate entry")
            keys.add(key)
