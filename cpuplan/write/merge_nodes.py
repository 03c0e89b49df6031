"""Nodes that were imported, put into a Nodes document that is there: as few groups change as can
be.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cpuplan.emit import Flow
from cpuplan.importers.documents import fold_names
from cpuplan.model.document import expand_names


class Wanted(NamedTuple):
    """What an import says of a node; without labels, it may just not tell them."""

    hardware: str
    labels: dict[str, str]


class Group(NamedTuple):
    """A group of a Nodes document, its names written out; none of a name that cannot be read."""

    names: tuple[str, ...]
    data: dict[str, Any]


def groups_of(spec: Mapping[str, Any]) -> list[Group]:
    """The groups of a Nodes document's spec."""
    return [Group(_names(entry), entry) for entry in spec["nodes"]]


def _names(entry: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        return tuple(expand_names(entry["name"]))
    except ValueError:
        return ()


def hardware_of(spec: Mapping[str, Any], group: Group) -> str | None:
    """The hardware of a group's nodes."""
    return group.data.get("hardware") or spec.get("hardware")


def merge_nodes(
    spec: dict[str, Any], wanted: Mapping[str, Wanted], added: Iterable[str]
) -> dict[str, Any]:
    """The spec with the facts of `wanted`, of which the nodes `added` are not in it; others stay as
    they are.

    A fact that holds for all nodes of the document changes where it stands for all; else the group
    changes, or is divided. Labels that the import does not have may have been written by hand, and
    stay.
    """
    groups = groups_of(spec)
    new = sorted(added)
    spec = _move_down(spec, groups, {name: wanted[name] for name in new}, wanted)
    groups = groups_of(spec)
    spec = _change_for_all(spec, groups, wanted)
    entries = [entry for group in groups_of(spec) for entry in _changed(spec, group, wanted)]
    entries = _extended(spec, entries, {name: wanted[name] for name in new})
    short = {"name", "hardware", "offline"}
    return {**spec, "nodes": [Flow(entry) if entry.keys() <= short else entry for entry in entries]}


def _move_down(
    spec: dict[str, Any],
    groups: Iterable[Group],
    new: Mapping[str, Wanted],
    wanted: Mapping[str, Wanted],
) -> dict[str, Any]:
    """Take a label that a new node has not, and that is of the cluster and no hand, from all nodes
    to each group.
    """
    names = {name for group in groups for name in group.names}
    labels: dict[str, str] = dict(spec.get("labels") or {})
    lacking = [
        key
        for key, value in labels.items()
        if any(facts.labels and key not in facts.labels for facts in new.values())
        and any(wanted[name].labels.get(key) == value for name in names & wanted.keys())
    ]
    if not lacking:
        return spec
    moved = {key: labels.pop(key) for key in lacking}
    entries = [
        {**group.data, "labels": {**moved, **(group.data.get("labels") or {})}} for group in groups
    ]
    kept = {key: value for key, value in spec.items() if key != "labels" or labels}
    return {**kept, **({"labels": labels} if labels else {}), "nodes": entries}


def _change_for_all(
    spec: dict[str, Any], groups: list[Group], wanted: Mapping[str, Wanted]
) -> dict[str, Any]:
    """Change what is said for all nodes, if all that it holds for have changed alike."""
    names = [name for group in groups for name in group.names]
    following = [name for group in groups if "hardware" not in group.data for name in group.names]
    changed = dict(spec)
    hardware = {wanted[name].hardware if name in wanted else None for name in following}
    if spec.get("hardware") and len(hardware) == 1 and None not in hardware:
        changed["hardware"] = hardware.pop()
    if names and all(name in wanted for name in names):
        common = set.intersection(*(set(wanted[name].labels.items()) for name in names))
        own = {key for group in groups for key in (group.data.get("labels") or {})}
        found = {key: value for key, value in sorted(common) if key not in own}
        labels = spec.get("labels") or {}
        if any(labels.get(key) != value for key, value in found.items()):
            changed = _with(changed, "labels", {**labels, **found}, before="nodes")
    return changed


def _with(data: dict[str, Any], key: str, value: Any, before: str = "") -> dict[str, Any]:
    """`data` with the key, where it is or else before the key `before`."""
    if key in data or before not in data:
        return {**data, key: value}
    return {
        name: item
        for old in data.items()
        for name, item in (((key, value), old) if old[0] == before else (old,))
    }


def _changed(
    spec: Mapping[str, Any], group: Group, wanted: Mapping[str, Wanted]
) -> list[dict[str, Any]]:
    """The entries of a group: itself, without the nodes of which something else holds, then
    these.
    """
    alike: dict[tuple[str | None, tuple[tuple[str, str], ...]], list[str]] = {}
    for name in group.names:
        alike.setdefault(_change(spec, group, wanted.get(name)), []).append(name)
    if not alike or list(alike) == [(None, ())]:
        return [group.data]
    unchanged = alike.pop((None, ()), [])
    entries = [{**group.data, "name": name} for name in fold_names(unchanged)]
    for (hardware, labels), names in alike.items():
        # A group that changes as a whole keeps its name and place.
        for name in fold_names(names) if unchanged or len(alike) > 1 else [group.data["name"]]:
            entry = {**group.data, "name": name}
            if hardware:
                entry["hardware"] = hardware
            if labels:
                entry["labels"] = {**(group.data.get("labels") or {}), **dict(labels)}
            entries.append(entry)
    return entries


def _change(
    spec: Mapping[str, Any], group: Group, wanted: Wanted | None
) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """The hardware and labels that a node has otherwise than its group."""
    if wanted is None:
        return None, ()
    labels = {**(spec.get("labels") or {}), **(group.data.get("labels") or {})}
    other = tuple(
        sorted((key, value) for key, value in wanted.labels.items() if labels.get(key) != value)
    )
    return (wanted.hardware if wanted.hardware != hardware_of(spec, group) else None), other


def _extended(spec: Mapping[str, Any], entries: list[Any], new: Mapping[str, Wanted]) -> list[Any]:
    """The entries with new nodes: in the range of a group that is like them and that they continue,
    else behind it.
    """
    shared = spec.get("labels") or {}
    alike: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for name, facts in new.items():
        labels = tuple(
            sorted((key, value) for key, value in facts.labels.items() if shared.get(key) != value)
        )
        alike.setdefault((facts.hardware, labels), []).append(name)
    found = list(entries)
    for (hardware, labels), names in alike.items():
        own: dict[str, Any] = {"hardware": hardware} if hardware != spec.get("hardware") else {}
        if labels:
            own["labels"] = dict(labels)
        for name in fold_names(names):
            longer = _continued(found, name, own)
            if longer is None:
                found.append({"name": name, **own})
            else:
                found[longer[0]] = {**found[longer[0]], "name": longer[1]}
    return found


def _continued(entries: list[Any], name: str, facts: Mapping[str, Any]) -> tuple[int, str] | None:
    """The place of a group with just these facts whose name and `name` are one range, and that
    range.
    """
    for at, entry in enumerate(entries):
        if {key: value for key, value in entry.items() if key != "name"} == facts:
            names = _names(entry)
            folded = fold_names([*names, *expand_names(name)]) if names else []
            if len(folded) == 1:
                return at, folded[0]
    return None
