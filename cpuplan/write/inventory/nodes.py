"""Merge imported nodes into an existing Nodes document, changing as few groups as possible."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cpuplan.base.emit import Flow
from cpuplan.base.name_ranges import expand_names, fold_names
from cpuplan.write.inventory.groups import Group, groups_of, hardware_of, names_of

#: Keys of an entry that is written on one line.
_SHORT = frozenset({"name", "hardware", "offline"})
#: Labels as pairs, ascending.
_Labels = tuple[tuple[str, str], ...]


class Wanted(NamedTuple):
    """The facts of an import about a node. Its labels may be unknown, and are empty then."""

    hardware: str
    labels: dict[str, str]


class _Change(NamedTuple):
    """The hardware (None: the same) and the labels in which a node differs from its group."""

    hardware: str | None = None
    labels: _Labels = ()


_UNCHANGED = _Change()


def merge_nodes(
    spec: dict[str, Any], wanted: Mapping[str, Wanted], added: Iterable[str]
) -> dict[str, Any]:
    """The spec with the facts of `wanted`; the nodes `added` are not in it yet, others stay.

    A fact that changes for all nodes of the document changes at the document's level; else the
    group changes, or is divided. Labels that the import does not have may have been written by
    hand, and stay.
    """
    new = {name: wanted[name] for name in sorted(added)}
    spec = _move_down(spec, new, wanted)
    spec = _change_for_all(spec, wanted)
    entries = [entry for group in groups_of(spec) for entry in _changed(spec, group, wanted)]
    entries = _extended(spec, entries, new)
    written = [Flow(entry) if entry.keys() <= _SHORT else entry for entry in entries]
    return {**spec, "nodes": written}


def _move_down(
    spec: dict[str, Any], new: Mapping[str, Wanted], wanted: Mapping[str, Wanted]
) -> dict[str, Any]:
    """Move labels of the cluster that a new node lacks from all nodes to each group.

    A label that no node of the import has was written by hand, and stays.
    """
    groups = groups_of(spec)
    known = [wanted[name] for group in groups for name in group.names if name in wanted]
    labels: dict[str, str] = dict(spec.get("labels") or {})
    lacking = [
        key
        for key, value in labels.items()
        if _has_node_without(new.values(), key) and _has_node_with(known, key, value)
    ]
    if not lacking:
        return spec
    moved = {key: labels.pop(key) for key in lacking}
    entries = []
    for group in groups:
        own = group.data.get("labels") or {}
        entries.append({**group.data, "labels": {**moved, **own}})
    changed = {**spec, "labels": labels, "nodes": entries}
    if not labels:
        del changed["labels"]
    return changed


def _has_node_without(nodes: Iterable[Wanted], key: str) -> bool:
    """Whether the import knows labels of a node, and `key` is not among them."""
    return any(facts.labels and key not in facts.labels for facts in nodes)


def _has_node_with(nodes: Iterable[Wanted], key: str, value: str) -> bool:
    return any(facts.labels.get(key) == value for facts in nodes)


def _change_for_all(spec: dict[str, Any], wanted: Mapping[str, Wanted]) -> dict[str, Any]:
    """Change the facts of the document's level that change in the same way for all their nodes."""
    groups = groups_of(spec)
    names = [name for group in groups for name in group.names]
    following = [name for group in groups if "hardware" not in group.data for name in group.names]
    changed = dict(spec)
    hardware = {wanted[name].hardware if name in wanted else None for name in following}
    if spec.get("hardware") and len(hardware) == 1 and None not in hardware:
        changed["hardware"] = hardware.pop()
    if names and all(name in wanted for name in names):
        common = set.intersection(*(set(wanted[name].labels.items()) for name in names))
        own = {key for group in groups for key in (group.data.get("labels") or {})}
        shared = {key: value for key, value in sorted(common) if key not in own}
        labels = spec.get("labels") or {}
        if any(labels.get(key) != value for key, value in shared.items()):
            changed = _with_labels(changed, {**labels, **shared})
    return changed


def _with_labels(spec: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    """`spec` with these labels, at the place of its labels or before its nodes."""
    if "labels" in spec or "nodes" not in spec:
        return {**spec, "labels": labels}
    changed: dict[str, Any] = {}
    for key, value in spec.items():
        if key == "nodes":
            changed["labels"] = labels
        changed[key] = value
    return changed


def _changed(
    spec: Mapping[str, Any], group: Group, wanted: Mapping[str, Wanted]
) -> list[dict[str, Any]]:
    """The entries of a group: itself, and one for all nodes that changed in the same way."""
    alike: dict[_Change, list[str]] = {}
    for name in group.names:
        alike.setdefault(_change(spec, group, wanted.get(name)), []).append(name)
    if not alike or list(alike) == [_UNCHANGED]:
        return [group.data]
    unchanged = alike.pop(_UNCHANGED, [])
    entries = [{**group.data, "name": name} for name in fold_names(unchanged)]
    # a group that changes as a whole keeps its name and place
    is_divided = bool(unchanged) or len(alike) > 1
    for change, names in alike.items():
        for name in fold_names(names) if is_divided else [group.data["name"]]:
            entry = {**group.data, "name": name}
            if change.hardware:
                entry["hardware"] = change.hardware
            if change.labels:
                entry["labels"] = {**(group.data.get("labels") or {}), **dict(change.labels)}
            entries.append(entry)
    return entries


def _change(spec: Mapping[str, Any], group: Group, wanted: Wanted | None) -> _Change:
    if wanted is None:
        return _UNCHANGED
    labels = {**(spec.get("labels") or {}), **(group.data.get("labels") or {})}
    hardware = None if wanted.hardware == hardware_of(spec, group) else wanted.hardware
    return _Change(hardware, _other_labels(wanted, labels))


def _other_labels(wanted: Wanted, labels: Mapping[str, str]) -> _Labels:
    """The labels that `labels` does not have, or has with another value."""
    other = [(key, value) for key, value in wanted.labels.items() if labels.get(key) != value]
    return tuple(sorted(other))


def _extended(spec: Mapping[str, Any], entries: list[Any], new: Mapping[str, Wanted]) -> list[Any]:
    """The entries with new nodes, in the range of a group that they continue, or at the end."""
    alike: dict[tuple[str, _Labels], list[str]] = {}
    for name, facts in new.items():
        labels = _other_labels(facts, spec.get("labels") or {})
        alike.setdefault((facts.hardware, labels), []).append(name)
    extended = list(entries)
    for (hardware, labels), names in alike.items():
        own: dict[str, Any] = {"hardware": hardware} if hardware != spec.get("hardware") else {}
        if labels:
            own["labels"] = dict(labels)
        for name in fold_names(names):
            longer = _continued(extended, name, own)
            if longer is None:
                extended.append({"name": name, **own})
            else:
                at, range_of_names = longer
                extended[at] = {**extended[at], "name": range_of_names}
    return extended


def _continued(entries: list[Any], name: str, facts: Mapping[str, Any]) -> tuple[int, str] | None:
    """The place of a group with just these facts that `name` continues, and their range."""
    for at, entry in enumerate(entries):
        if {key: value for key, value in entry.items() if key != "name"} == facts:
            names = names_of(entry)
            folded = fold_names([*names, *expand_names(name)]) if names else []
            if len(folded) == 1:
                return at, folded[0]
    return None
