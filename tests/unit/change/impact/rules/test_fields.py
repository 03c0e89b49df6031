"""Each field of an intent that nodes or clusters get is changed by a row of the table."""

import typing
from collections.abc import Iterator
from typing import Any

from cpuplan.language.model.base import Model, attributes
from cpuplan.language.model.intent import IntentSpec, Target
from tests.unit.change.impact.rules import projects

#: Not those that decide about a layout, which show as pools, or say who is concerned.
SECTIONS = (
    "hardwareTuning",
    "hugePages",
    "isolation",
    "kernel",
    "koordinator",
    "kubelet",
    "net",
    "openVSwitch",
    "runtime",
    "workloadHints",
)
#: Fields that no row can change.
WITHOUT = {
    "kernel.pageSize": "the machine of the table has pages of one size",
    "koordinator.scheduler.numaScoringStrategy.resources.name": "refused: without effect",
    "koordinator.scheduler.numaScoringStrategy.resources.weight": "refused: without effect",
    "target.clusters": "the table has one cluster",
}


def test_each_field_is_changed() -> None:
    assert _fields() - _patched() == WITHOUT.keys()


def _fields() -> set[str]:
    names = attributes(IntentSpec)
    fields = {f"target.{key}" for key in attributes(Target)}
    for section in SECTIONS:
        for model in _models(IntentSpec.model_fields[names[section]].annotation):
            fields |= set(_paths(model, f"{section}."))
    return fields


def _paths(model: type[Model], start: str) -> Iterator[str]:
    for key, name in attributes(model).items():
        inner = _models(model.model_fields[name].annotation)
        if not inner:
            yield start + key
        for part in inner:
            yield from _paths(part, f"{start}{key}.")


def _models(annotation: Any) -> list[type[Model]]:
    """The models in a type."""
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return [annotation]
    models = []
    for inner in typing.get_args(annotation):
        models += _models(inner)
    return models


def _patched() -> set[str]:
    keys: set[str] = set()
    for row in projects.rows():
        for side in (row.before, row.after):
            keys |= set(_keys((side or {}).get("spec") or {}, ""))
    for target in projects.table()["targets"].values():
        keys |= set(_keys(target["targets"][0], "target."))
    return keys


def _keys(value: Any, start: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield start + key
            yield from _keys(inner, f"{start}{key}.")
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner, start)
