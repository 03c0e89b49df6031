"""The groups of nodes in a Nodes document, their names written out."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan.base.name_ranges import expand_names


class Group(NamedTuple):
    """A group of a Nodes document; without names where its own cannot be read."""

    names: tuple[str, ...]
    data: dict[str, Any]


def groups_of(spec: Mapping[str, Any]) -> list[Group]:
    """The groups of a Nodes document's spec."""
    return [Group(names_of(entry), entry) for entry in spec["nodes"]]


def names_of(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of a group's nodes; none where they cannot be read."""
    try:
        return tuple(expand_names(entry["name"]))
    except ValueError:
        return ()


def hardware_of(spec: Mapping[str, Any], group: Group) -> str | None:
    """The hardware of a group's nodes."""
    return group.data.get("hardware") or spec.get("hardware")
