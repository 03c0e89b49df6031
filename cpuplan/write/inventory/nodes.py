"""The documents of an inventory and their nodes, and imported nodes merged into them."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from cpuplan.base.cpuset import EMPTY, CpuSet, CpuSetError
from cpuplan.base.emit import Flow
from cpuplan.base.naming import expand_names, fold_names
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Source
from cpuplan.importers.base import Node
from cpuplan.importers.documents import cluster_of
from cpuplan.language.read import yaml
from cpuplan.language.read.documents import from_sources
from cpuplan.language.read.files import object_files


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


#: A node: its cluster and name.
Place: TypeAlias = tuple[str, str]


class Known(NamedTuple):
    """An existing document: its file, its number in it, and its data."""

    path: Path
    number: int
    kind: str
    name: str
    data: dict[str, Any]

    @property
    def spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.data["spec"]
        return spec

    @property
    def cluster(self) -> str:
        """Of a Nodes document."""
        return str(self.spec.get("cluster"))

    @property
    def node_names(self) -> list[str]:
        """Of a Nodes document."""
        return [name for group in groups_of(self.spec) for name in group.names]


def read(folder: Path) -> tuple[list[Known], list[Diagnostic]]:
    """The Hardware, Nodes and Cluster documents below `folder`, by path, and their problems."""
    if not os.path.lexists(folder):
        return [], []
    paths, refused = object_files(folder, json=False)
    if not paths:
        return [], refused
    diagnostics: list[Diagnostic] = [*refused]
    places: list[tuple[Path, int, Source]] = []
    for path in paths:
        sources, problems = yaml.read(path, str(path))
        diagnostics += problems
        places += [(path, number, source) for number, source in enumerate(sources)]
    documents, problems = from_sources(source for _, _, source in places)
    by_source = {id(document.source): document for document in documents.by_name.values()}
    known = []
    for path, number, source in places:
        document = by_source.get(id(source))
        if document is not None and document.kind in ("Hardware", "Nodes", "Cluster"):
            data: Any = source.data
            known.append(Known(path, number, document.kind, document.name, data))
    return known, [*diagnostics, *problems]


def place_of(node: Node) -> Place:
    """The cluster and name of an imported node."""
    return cluster_of(node), node.name


def users(known: Collection[Known]) -> dict[str, set[Place]]:
    """The nodes by the name of their hardware."""
    places: dict[str, set[Place]] = {}
    for document in known:
        if document.kind == "Nodes":
            for group in groups_of(document.spec):
                of_hardware = places.setdefault(hardware_of(document.spec, group) or "", set())
                of_hardware.update((document.cluster, name) for name in group.names)
    return places


def in_known_clusters(nodes: Sequence[Node], known: Collection[Known]) -> list[Node]:
    """The nodes; those without a cluster get that of the inventory, or of the others beside them.

    Beside a node are those of its must-gather; of files, all of the import. Two must-gathers that
    name no cluster may have nodes of one name, of which only the first can be the inventory's.
    """
    clusters: dict[str, set[str]] = {}
    for document in known:
        if document.kind == "Nodes":
            for name in document.node_names:
                clusters.setdefault(name, set()).add(document.cluster)
    beside: dict[str, list[Node]] = {}
    for node in nodes:
        if node.cluster is None:
            beside.setdefault(node.origin, []).append(node)
    placed: dict[int, Node] = {}
    taken: set[Place] = {place_of(node) for node in nodes if node.cluster is not None}
    for group in beside.values():
        own = _placed(group, clusters, taken)
        taken.update(map(place_of, own))
        placed.update(zip(map(id, group), own, strict=True))
    return [placed.get(id(node), node) for node in nodes]


def _placed(
    nodes: Sequence[Node], clusters: Mapping[str, set[str]], taken: Collection[Place]
) -> list[Node]:
    """Nodes that are beside each other in the clusters that the inventory has them in."""
    only = {}
    for node in nodes:
        names = clusters.get(node.name, set())
        own = {node.home} & names or names
        if len(own) == 1 and (next(iter(own)), node.name) not in taken:
            only[node.name] = next(iter(own))
    used = set(only.values())
    common = next(iter(used)) if len(used) == 1 else None
    if nodes and nodes[0].origin and len(used) > 1:
        only, common = {}, None  # a must-gather is of one cluster, whatever the names of its nodes
    placed = []
    for node in nodes:
        own_cluster, source = only.get(node.name), node.cluster_from
        if node.origin and (own_cluster or common):
            source = "nodes of these names in the inventory"
            source = "" if (own_cluster or common) == node.home else source
        elif own_cluster or common:
            source = "" if own_cluster else "the cluster of the nodes next to it in the inventory"
        placed.append(node._replace(cluster=own_cluster or common, cluster_from=source))
    return placed


def device_addresses(known: Collection[Known]) -> dict[Place, frozenset[str]]:
    """The addresses of devices that nodes have by their group, not by their hardware."""
    addresses: dict[Place, frozenset[str]] = {}
    for document in known:
        for group in groups_of(document.spec) if document.kind == "Nodes" else ():
            if own := _addresses(group):
                addresses.update(((document.cluster, name), own) for name in group.names)
    return addresses


def _addresses(group: Group) -> frozenset[str]:
    return frozenset(device["address"] for device in group.data.get("devices") or ())


#: Keys of an entry that is written on one line.
_SHORT = frozenset({"name", "hardware", "offline"})
#: Labels as pairs, ascending.
_Labels = tuple[tuple[str, str], ...]


class Wanted(NamedTuple):
    """The facts of an import about a node.

    `told` are all labels of its Node object, also those that no inventory gets; None where no
    object was read. `present` are the addresses of its devices, None where no source lists any.
    `online` are CPUs that were seen at work, whatever a group says.
    """

    hardware: str
    labels: dict[str, str]
    told: Mapping[str, str] | None = None
    present: frozenset[str] | None = None
    online: CpuSet = EMPTY


class _Change(NamedTuple):
    """In what a node differs from its group: hardware (None: the same), labels, lists without."""

    hardware: str | None = None
    labels: _Labels = ()
    online: CpuSet = EMPTY  # of the CPUs that the group has offline
    gone: frozenset[str] = frozenset()  # devices of the group that the node has not


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
    spec = _move_down(spec, new)
    spec = _change_for_all(spec, wanted, new)
    entries = [entry for group in groups_of(spec) for entry in _changed(spec, group, wanted)]
    entries = _extended(spec, entries, new)
    written = [Flow(entry) if entry.keys() <= _SHORT else entry for entry in entries]
    return {**spec, "nodes": written}


def _move_down(spec: dict[str, Any], new: Mapping[str, Wanted]) -> dict[str, Any]:
    """Move the labels of the document that a new node is not known to have to each group.

    Its Node object lacks them, or nobody read it: no node gets labels because others have them.
    """
    labels: dict[str, str] = dict(spec.get("labels") or {})
    lacking = lent_labels(labels, new.values())
    if not lacking:
        return spec
    moved = {key: labels.pop(key) for key in lacking}
    entries = []
    for group in groups_of(spec):
        own = group.data.get("labels") or {}
        entries.append({**group.data, "labels": {**moved, **own}})
    changed = {**spec, "labels": labels, "nodes": entries}
    if not labels:
        del changed["labels"]
    return changed


def lent_labels(labels: Mapping[str, str], nodes: Iterable[Wanted]) -> list[str]:
    """The labels of a document that one of the nodes would have without having them."""
    lent = dict.fromkeys(
        key for of_node in nodes for key, value in labels.items() if _lacks(of_node, key, value)
    )
    return [key for key in labels if key in lent]


def _lacks(facts: Wanted, key: str, value: str) -> bool:
    """Whether a node has no such label; another value is written beside its name."""
    return key not in facts.labels and (facts.told is None or facts.told.get(key) != value)


def _change_for_all(
    spec: dict[str, Any], wanted: Mapping[str, Wanted], new: Mapping[str, Wanted]
) -> dict[str, Any]:
    """Change the facts of the document's level that change in the same way for all their nodes."""
    groups = groups_of(spec)
    names = [name for group in groups for name in group.names]
    following = [name for group in groups if "hardware" not in group.data for name in group.names]
    changed = dict(spec)
    hardware = {wanted[name].hardware if name in wanted else None for name in following}
    if spec.get("hardware") and len(hardware) == 1 and None not in hardware:
        changed["hardware"] = hardware.pop()
    if names and all(name in wanted for name in names):
        everybody = [*(wanted[name] for name in names), *new.values()]
        common = set.intersection(*(set(facts.labels.items()) for facts in everybody))
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
        ranges = fold_names(names) if is_divided else [group.data["name"]]
        entries += [_entry({**group.data, "name": name}, change) for name in ranges]
    return entries


def _entry(entry: dict[str, Any], change: _Change) -> dict[str, Any]:
    """An entry with what changes."""
    if change.hardware:
        entry["hardware"] = change.hardware
    if change.labels:
        entry["labels"] = {**(entry.get("labels") or {}), **dict(change.labels)}
    if change.online:
        entry["offline"] = (_offline(entry) - change.online).kernel_list()
    if change.gone:
        kept = [device for device in entry["devices"] if device["address"] not in change.gone]
        entry["devices"] = kept
    empty = [key for key in ("offline", "devices") if not entry.get(key, "some")]
    return {key: value for key, value in entry.items() if key not in empty}


def _offline(entry: Mapping[str, Any]) -> CpuSet:
    try:
        return CpuSet.parse_kernel(str(entry.get("offline") or ""))
    except CpuSetError:
        return EMPTY


def _change(spec: Mapping[str, Any], group: Group, wanted: Wanted | None) -> _Change:
    if wanted is None:
        return _UNCHANGED
    labels = {**(spec.get("labels") or {}), **(group.data.get("labels") or {})}
    hardware = None if wanted.hardware == hardware_of(spec, group) else wanted.hardware
    gone: frozenset[str] = frozenset()
    if wanted.present is not None:
        gone = _addresses(group) - wanted.present
    online = _offline(group.data) & wanted.online
    return _Change(hardware, _other_labels(wanted, labels), online, gone)


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
