"""An import into an inventory that is there: what changes in its files, and what is new."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.files import Unreadable, read_regular
from cpuplan.importers import documents
from cpuplan.source import Source
from cpuplan.write.matching import Known, Matches, Place, in_known_clusters, match, users
from cpuplan.write.merge import merge_hardware, plain, same_facts, tells_less
from cpuplan.write.merge_nodes import Wanted, groups_of, merge_nodes
from cpuplan.write.splice import splice

Kinds: TypeAlias = Mapping[str, documents.Kind]


class Update(NamedTuple):
    """What an import makes of an inventory: files before (None: new) and after, and sentences on
    what it left.
    """

    files: dict[Path, tuple[str | None, str]]
    notes: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def read(folder: Path) -> tuple[list[Known], list[Diagnostic]]:
    """The Hardware and Nodes documents in the YAML files below `folder`, by path, and what is wrong
    with them.
    """
    from cpuplan.read.files import yaml_files

    if not os.path.lexists(folder):
        return [], []
    paths, refused = yaml_files(folder)
    if not paths:
        return [], refused
    from cpuplan.read import yaml
    from cpuplan.read.documents import from_sources

    diagnostics: list[Diagnostic] = [*refused]
    found: list[tuple[Path, int, Source]] = []
    for path in paths:
        sources, problems = yaml.read(path, str(path))
        diagnostics += problems
        found += [(path, number, source) for number, source in enumerate(sources)]
    read_documents, problems = from_sources(source for _, _, source in found)
    taken = {id(document.source): document for document in read_documents.by_name.values()}
    known = []
    for path, number, source in found:
        document = taken.get(id(source))
        if document is not None and document.kind in ("Hardware", "Nodes"):
            data: Any = source.data
            known.append(Known(path, number, document.kind, document.name, data))
    return known, [*diagnostics, *problems]


def update(known: list[Known], kinds: Kinds, folder: Path, header: str = "") -> Update:
    """Put what was imported into the documents that are `known`; what is new goes into files in
    `folder`.
    """
    kinds = {
        name: kind._replace(nodes=in_known_clusters(kind.nodes, known))
        for name, kind in kinds.items()
    }
    nodes = sorted(
        (node for kind in kinds.values() for node in kind.nodes), key=lambda node: node.name
    )
    read_nodes = {(documents.cluster_of(node), node.name) for node in nodes}
    matches = match(known, kinds, read_nodes)
    of_node = {id(node): matches.names[name] for name, kind in kinds.items() for node in kind.nodes}
    wanted = {
        (documents.cluster_of(node), node.name): Wanted(
            of_node[id(node)], dict(sorted(node.labels.items()))
        )
        for node in nodes
    }
    changes = [*_hardware(known, kinds, matches, read_nodes), *_nodes(known, wanted)]
    clusters = {document.cluster for document in known if document.kind == "Nodes"}
    fresh = [
        documents.document("Hardware", matches.names[name], kinds[name].spec)
        for name in _unmatched(kinds, matches)
    ]
    fresh += documents.nodes_documents(
        (node, of_node[id(node)]) for node in nodes if documents.cluster_of(node) not in clusters
    )
    files = {path: (None, text) for path, text in _new_files(fresh, folder, header)}
    diagnostics = [diagnose("CP621", path=path, hint=_HINT) for path in files if path.exists()]
    notes = (*documents.derived_clusters(nodes), *_notes(known, kinds, matches, wanted))
    return Update({**files, **_edited(changes)}, notes, tuple(diagnostics))


def anew(kinds: Kinds, folder: Path, header: str = "") -> Update:
    """Files in `folder` with nothing but what was imported."""
    files: dict[Path, tuple[str | None, str]] = {}
    for path, text in _new_files(documents.documents_of(kinds), folder, header):
        before = _text(path) if os.path.isfile(path) else None
        if before != text:
            files[path] = before, text
    return Update(
        files,
        tuple(documents.derived_clusters(node for kind in kinds.values() for node in kind.nodes)),
    )


_HINT = "rename that file, or choose another folder with -o"

_Change = tuple[Known, dict[str, Any]]


def _unmatched(kinds: Kinds, matches: Matches) -> list[str]:
    return [name for name in sorted(kinds) if name not in matches.documents]


def _hardware(
    known: Collection[Known], kinds: Kinds, matches: Matches, read_nodes: Collection[Place]
) -> Iterator[_Change]:
    """The Hardware documents with new specs. One that other nodes have too has the same facts
    already: it stays.
    """
    of_hardware = users(known)
    for name, document in matches.documents.items():
        if of_hardware.get(document.name, set()) <= set(read_nodes):
            kind = kinds[name]
            yield (
                document,
                merge_hardware(document.spec, kind.spec, complete=kind.machine.kubelet is not None),
            )


def _nodes(known: Iterable[Known], wanted: Mapping[Place, Wanted]) -> Iterator[_Change]:
    """The Nodes documents with new specs; nodes that are in none come into the first of their
    cluster.
    """
    mine = [document for document in known if document.kind == "Nodes"]
    placed = {
        (each.cluster, name)
        for each in mine
        for group in groups_of(each.spec)
        for name in group.names
    }
    seen: set[str] = set()
    for document in mine:
        facts = {
            name: value for (cluster, name), value in wanted.items() if cluster == document.cluster
        }
        added = [
            name
            for name in facts
            if (document.cluster, name) not in placed and document.cluster not in seen
        ]
        seen.add(document.cluster)
        yield document, merge_nodes(document.spec, facts, added)


def _edited(changes: Iterable[_Change]) -> dict[Path, tuple[str | None, str]]:
    """The files of changed documents, before and after; those that stay as they are left out."""
    from cpuplan.read import yaml

    files: dict[Path, tuple[str, str]] = {}
    for document, spec in changes:
        if plain(spec) == document.spec:
            continue
        path = document.path
        before, text = files.get(path) or (_text(path),) * 2
        data = {**document.data, "spec": spec}
        text = splice(text, document.number, document.data, data)
        sources, problems = yaml.parse(str(path), text)
        if problems or sources[document.number].data != plain(data):
            raise RuntimeError(f"{path} was not edited as it should be")
        files[path] = before, text
    return {path: files[path] for path in sorted(files)}


def _text(path: Path) -> str:
    from cpuplan.read.files import refusal

    try:
        return read_regular(path).decode("utf-8-sig", errors="replace")
    except Unreadable as error:
        raise CpuplanError([refusal(str(path), error)]) from None


def _new_files(
    fresh: Iterable[Mapping[str, Any]], folder: Path, header: str
) -> Iterator[tuple[Path, str]]:
    for name, text in documents.texts_of(fresh, header).items():
        yield folder / name, text


def _notes(
    known: Collection[Known], kinds: Kinds, matches: Matches, wanted: Mapping[Place, Wanted]
) -> Iterator[str]:
    """What an import leaves as it is, and new names."""
    for name in _unmatched(kinds, matches):
        if matches.names[name] != name:
            shown = ", ".join(documents.fold_names(node.name for node in kinds[name].nodes))
            yield f"{shown}: not the Hardware {name} that other nodes have; it is called {matches.names[name]}"
    for name, document in matches.documents.items():
        kind = kinds[name]
        less = kind.machine.kubelet is None and tells_less(document.spec, kind.spec)
        if less and not same_facts(document.spec, kind.spec, complete=False):
            yield f"Hardware {document.name} tells more than what was read, and stays where the two differ"
    left: dict[str, list[str]] = {}
    for document in known:
        if document.kind == "Nodes" and document.cluster in {cluster for cluster, _ in wanted}:
            names = [name for group in groups_of(document.spec) for name in group.names]
            left.setdefault(document.cluster, []).extend(
                n for n in names if (document.cluster, n) not in wanted
            )
    for cluster, names in left.items():
        if names:
            shown = ", ".join(documents.fold_names(names))
            yield f"cluster {cluster} has nodes that were not read, and they stay as they are: {shown}"
    used = {facts.hardware for facts in wanted.values()}
    for name, places in users(known).items():
        if places and places <= wanted.keys() and name not in used:
            yield f"Hardware {name} is of no node any more: remove it if you do not need it"
