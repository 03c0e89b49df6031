"""Paths of fields, `Kind/name:spec.path`, where the model of the kind has such a field.

A reason or a finding names the field that it is about, not the line: `Documents.locate` finds the
line when the text is printed.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from cpuplan.language.model.base import Model, attributes
from cpuplan.language.model.cluster import ClusterSpec
from cpuplan.language.model.intent import IntentSpec
from cpuplan.language.model.inventory import HardwareSpec

_SPECS: Mapping[str, type[Model]] = {
    "Intent": IntentSpec,
    "Hardware": HardwareSpec,
    "Cluster": ClusterSpec,
}


def of_field(kind: str, name: str, path: str = "", *, of_key: bool = False) -> str:
    """The place of the field `path` below `spec`, as in YAML; of its key instead of its value.

    Raises ValueError where the documents of this kind have no such field.
    """
    if path and not is_field(kind, path):
        raise ValueError(f"{kind} has no field spec.{path}")
    field = f"spec.{path}" if path else "spec"
    return f"{kind}/{name}:{field}:" if of_key else f"{kind}/{name}:{field}"


@cache
def is_field(kind: str, path: str) -> bool:
    """Whether documents of a kind may have a value at `path`; numbers are places in lists."""
    types: list[Any] = [_SPECS[kind]]
    for name in path.split("."):
        inner = [inside for place in types for inside in _inside(place, name)]
        if not inner:
            return False
        if Any in inner:  # a mapping with free keys, which may have dots
            return True
        types = inner
    return True


def _inside(given: Any, name: str) -> Iterator[Any]:
    """The types of what stands at `name` in a value of a type; Any where it may hold anything."""
    origin = get_origin(given)
    if origin is Annotated:
        yield from _inside(get_args(given)[0], name)
    elif origin in (Union, UnionType):
        for member in get_args(given):
            yield from _inside(member, name)
    elif origin in (tuple, list):
        if name.isdigit():
            yield get_args(given)[0]
    elif given is Any or origin in (dict, Mapping):
        yield Any
    elif isinstance(given, type) and issubclass(given, Model) and name in attributes(given):
        yield given.model_fields[attributes(given)[name]].annotation
