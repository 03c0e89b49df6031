"""What an import changes in the files of an inventory, which are new, and remarks on it."""

import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from cpuplan.base.files import Unreadable, read_regular
from cpuplan.base.naming import fold_names
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.importers import documents
from cpuplan.importers.base import Node
from cpuplan.importers.documents import (
    cluster_facts,
    derived_clusters,
    document,
    nodes_documents,
    texts_of,
)
from cpuplan.importers.documents.kinds import Kind
from cpuplan.language.read import yaml
from cpuplan.language.read.files import refusal
from cpuplan.write.comments import MAX_CHARACTERS, Comment, UnreadableError, comments, read, same
from cpuplan.write.inventory.assign import assign
from cpuplan.write.inventory.merge import plain, splice
from cpuplan.write.inventory.nodes import (
    Known,
    Place,
    Wanted,
    groups_of,
    in_known_clusters,
    lent_labels,
    merge_nodes,
    place_of,
    users,
)


def notes(known: Collection[Known], wanted: Mapping[Place, Wanted]) -> Iterator[str]:
    """Remarks on what the import leaves unchanged, or does not take over."""
    yield from _labels(known, wanted)
    yield from _unread_nodes(known, wanted)
    yield from _unused(known, wanted)


def _labels(known: Collection[Known], wanted: Mapping[Place, Wanted]) -> Iterator[str]:
    """Labels that nodes are not known to have: those of their document, and of others beside it."""
    of_document: dict[str, list[str]] = {}
    for existing in known:
        if existing.kind == "Nodes":
            of_document.setdefault(existing.cluster, existing.node_names)
            yield from _stale_labels(existing, wanted)
    placed = {place for places in users(known).values() for place in places}
    for cluster in of_document:
        new = {
            name: facts
            for (where, name), facts in wanted.items()
            if where == cluster and (where, name) not in placed
        }
        first = next(item for item in known if item.kind == "Nodes" and item.cluster == cluster)
        unknown = {name: facts for name, facts in new.items() if facts.told is None}
        if lent := lent_labels(first.spec.get("labels") or {}, unknown.values()):
            shown = ", ".join(fold_names(unknown))
            yield (
                f"{shown}: no Node object was read, so the labels are unknown; {', '.join(lent)} "
                f"of the other nodes of cluster {cluster} are not taken over"
            )


def _stale_labels(existing: Known, wanted: Mapping[Place, Wanted]) -> Iterator[str]:
    """Labels of the inventory that the Node objects of its nodes lack; they stay."""
    lacking: dict[str, list[str]] = {}
    for group in groups_of(existing.spec):
        labels = {**(existing.spec.get("labels") or {}), **(group.data.get("labels") or {})}
        for name in group.names:
            facts = wanted.get((existing.cluster, name))
            for key in lent_labels(labels, [facts]) if facts and facts.told is not None else ():
                lacking.setdefault(f"{key}={labels[key]}", []).append(name)
    for label, names in lacking.items():
        yield (
            f"{', '.join(fold_names(names))}: the inventory has the label {label}, the Node object "
            "does not; it stays in the inventory: label the node, or delete it there"
        )


def _unread_nodes(known: Collection[Known], wanted: Mapping[Place, Wanted]) -> Iterator[str]:
    read_clusters = {cluster for cluster, _ in wanted}
    unread: dict[str, list[str]] = {}
    for existing in known:
        if existing.kind == "Nodes" and existing.cluster in read_clusters:
            names = unread.setdefault(existing.cluster, [])
            names += [
                name for name in existing.node_names if (existing.cluster, name) not in wanted
            ]
    for cluster, names in unread.items():
        if names:
            shown = ", ".join(fold_names(names))
            yield (f"cluster {cluster} has nodes that were not read, which are unchanged: {shown}")


def _unused(known: Collection[Known], wanted: Mapping[Place, Wanted]) -> Iterator[str]:
    used = {facts.hardware for facts in wanted.values()}
    for name, places in users(known).items():
        if places and places <= wanted.keys() and name not in used:
            yield f"Hardware {name} is of no node any more: remove it if you do not need it"


Kinds: TypeAlias = Mapping[str, Kind]
#: Files before (None: new) and after.
Files: TypeAlias = dict[Path, tuple[str | None, str]]
#: A document, and its new spec.
_Change: TypeAlias = tuple[Known, dict[str, Any]]

_HINT = "rename that file, or choose another folder with -o"


class Update(NamedTuple):
    """The changes of an import to an inventory, and remarks on what it leaves unchanged."""

    files: Files
    notes: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def update(known: list[Known], kinds: Kinds, folder: Path, header: str = "") -> Update:
    """Put what was imported into the `known` documents; what is new goes to files in `folder`."""
    kinds = {
        name: kind._replace(nodes=in_known_clusters(kind.nodes, known))
        for name, kind in kinds.items()
    }
    assigned = assign(known, kinds)
    nodes = sorted((node for kind in kinds.values() for node in kind.nodes), key=_by_name)
    placed = [(node, assigned.hardware[place_of(node)]) for node in nodes]
    wanted = {place_of(node): _wanted(node, hardware) for node, hardware in placed}
    facts = cluster_facts(nodes)
    changes = [
        *_hardware(known, assigned.changed),
        *_nodes(known, wanted),
        *_clusters(known, facts),
    ]
    fresh = _new_documents(known, assigned.fresh, placed, facts)
    texts = texts_of(fresh, header, assigned.kinds)
    files: Files = {folder / name: (None, text) for name, text in texts.items()}
    diagnostics = [diagnose("CP621", path=path, hint=_HINT) for path in files if path.exists()]
    edited, removed = _edited(changes)
    sentences = (
        *derived_clusters(nodes),
        *assigned.notes,
        *notes(known, wanted),
        *removed,
    )
    return Update({**files, **edited}, sentences, tuple(diagnostics))


def _by_name(node: Node) -> str:
    return node.name


def _wanted(node: Node, hardware: str) -> Wanted:
    devices = frozenset(device.address for device in node.machine.devices)
    return Wanted(
        hardware,
        dict(sorted(node.labels.items())),
        node.told_labels,
        devices or None,
        node.online_again,
    )


def _new_documents(
    known: list[Known],
    hardware: Mapping[str, dict[str, Any]],
    placed: list[tuple[Node, str]],
    facts: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """The documents of hardware, nodes and clusters that the inventory does not have yet."""
    fresh = [document("Hardware", name, hardware[name]) for name in sorted(hardware)]
    clusters = {existing.cluster for existing in known if existing.kind == "Nodes"}
    fresh += nodes_documents(pair for pair in placed if place_of(pair[0])[0] not in clusters)
    described = {existing.name for existing in known if existing.kind == "Cluster"}
    for name, spec in documents.described(facts):
        if name not in described:
            fresh.append(document("Cluster", name, spec))
    return fresh


def anew(kinds: Kinds, folder: Path, header: str = "") -> Update:
    """Files in `folder` that contain only the import."""
    files: Files = {}
    for name, text in texts_of(documents.documents_of(kinds), header, kinds).items():
        path = folder / name
        before = _text(path) if os.path.isfile(path) else None
        if before != text:
            files[path] = before, text
    nodes = [node for kind in kinds.values() for node in kind.nodes]
    return Update(files, tuple(derived_clusters(nodes)))


def _hardware(known: Collection[Known], changed: Mapping[str, dict[str, Any]]) -> Iterator[_Change]:
    """Changes of Hardware documents."""
    for existing in known:
        if existing.kind == "Hardware" and existing.name in changed:
            yield existing, changed[existing.name]


def _nodes(known: Iterable[Known], wanted: Mapping[Place, Wanted]) -> Iterator[_Change]:
    """Changes of Nodes documents. New nodes are added to the first document of their cluster."""
    own = [existing for existing in known if existing.kind == "Nodes"]
    placed = {(existing.cluster, name) for existing in own for name in existing.node_names}
    seen: set[str] = set()
    for existing in own:
        cluster = existing.cluster
        facts = {name: value for (where, name), value in wanted.items() if where == cluster}
        new = [name for name in facts if (cluster, name) not in placed]
        yield existing, merge_nodes(existing.spec, facts, [] if cluster in seen else new)
        seen.add(cluster)


def _clusters(known: Iterable[Known], facts: Mapping[str, Mapping[str, Any]]) -> Iterator[_Change]:
    """Changes of Cluster documents, whose other fields are not read and stay."""
    for existing in known:
        if existing.kind == "Cluster" and existing.name in facts:
            spec = {**existing.spec, **facts[existing.name]}
            yield existing, {key: value for key, value in spec.items() if value != []}


def _edited(changes: Iterable[_Change]) -> tuple[Files, list[str]]:
    """The files of changed documents, by path; those that stay as they are left out.

    And what says which comments went with the values that they stood with.
    """
    files: dict[Path, tuple[str, str]] = {}
    changed: dict[Path, dict[int, Any]] = {}
    for existing, spec in changes:
        if plain(spec) == existing.spec:
            continue
        path = existing.path
        if path not in files:
            files[path] = (_text(path),) * 2
        before, text = files[path]
        data = {**existing.data, "spec": spec}
        text = splice(text, existing.number, existing.data, data)
        sources, problems = yaml.parse(str(path), text)
        if problems or sources[existing.number].data != plain(data):
            raise RuntimeError(f"{path} was not edited correctly")
        files[path] = before, text
        changed.setdefault(path, {})[existing.number] = plain(data)
    removed: list[str] = []
    for path, (before, text) in files.items():
        for comment in _removed_comments(path, before, text, changed[path]):
            lost = f"the comment {comment.text!r} is removed with what it stood with"
            removed.append(f"{path}:{comment.line}: {lost}")
    return {path: files[path] for path in sorted(files)}, removed


def _removed_comments(
    path: Path, before: str, after: str, changed: Mapping[int, Any]
) -> list[Comment]:
    """The comments that a file loses. Raises CP114 unless ruamel.yaml reads what was to change."""
    if max(len(before), len(after)) > MAX_CHARACTERS:
        return _without(comments(before), comments(after))[0]
    try:
        old, new = read(before), read(after)
    except UnreadableError as error:
        raise _refused(path, f"ruamel.yaml does not read it: {error}") from error
    wanted = [changed.get(number, document) for number, document in enumerate(old.documents)]
    if not same(wanted, new.documents):
        raise _refused(path, "other values would change too, as ruamel.yaml reads them")
    removed, left = _without(old.comments, new.comments)
    if left:
        raise _refused(path, f"the comment {left[0].text!r} would stand with something else")
    return removed


def _without(old: Iterable[Comment], new: Iterable[Comment]) -> tuple[list[Comment], list[Comment]]:
    """The old comments that are not there anew, in order, and the new ones that are left then."""
    left = deque(new)
    removed = []
    for comment in old:
        if left and left[0].text == comment.text:
            left.popleft()
        else:
            removed.append(comment)
    return removed, list(left)


def _refused(path: Path, problem: str) -> CpuplanError:
    return CpuplanError([diagnose("CP114", path=path, problem=problem)])


def _text(path: Path) -> str:
    try:
        return read_regular(path).decode("utf-8-sig", errors="replace")
    except Unreadable as error:
        raise CpuplanError([refusal(str(path), error)]) from None
